package appset

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// git reads a git generator: directories or files of this repository.
func (x *expansion) git(v *yamldoc.Value) ([]parameters, *repofs.InputError) {
	url := v.TextAt("repoURL")
	if url == "" {
		return nil, fail(v.Position, "add repoURL", "the git generator of the ApplicationSet %s names no repository, without which Argo CD refuses it", x.set)
	}
	if !x.repository.Own(Written(url)) {
		hint := "say in ladder.yaml that the address is this repository: repository.aliases"
		url = Written(url)
		if strings.Contains(url, "{{") || strings.Contains(url, "<no value>") {
			hint = "say in ladder.yaml what its clusters are, with their annotations: generators.clusters"
		}
		return x.someFolder(v, fail(v.Position, hint, "the git generator of the ApplicationSet %s reads another repository, %s", x.set, url))
	}
	if m := marked(v.With("values", nil).With("repoURL", nil).With("revision", nil)); m != nil {
		return x.someFolder(v, fail(m.Position, "", "the git generator of the ApplicationSet %s reads %s, which is not known", x.set, Written(m.Text)))
	}
	if list := v.At("directories"); list != nil && len(list.Items) > 0 {
		return x.directories(v, list)
	}
	if list := v.At("files"); list != nil && len(list.Items) > 0 {
		return x.files(v, list)
	}
	return nil, fail(v.Position, "add directories or files", "the git generator has neither directories nor files")
}

// someFolder stands for the folders or files that a git generator would find.
func (x *expansion) someFolder(v *yamldoc.Value, why *repofs.InputError) ([]parameters, *repofs.InputError) {
	name := "path"
	if prefix := v.TextAt("pathParamPrefix"); prefix != "" {
		name = prefix
		if !x.engine.goTemplate {
			name = prefix + ".path"
		}
	}
	list := v.At("files")
	return x.supposed(v, []string{name}, list != nil && len(list.Items) > 0, why)
}

// directories matches folders. An exclude wins over every include. Source: Argo
// CD, git generator, which matches with path.Match.
func (x *expansion) directories(v, list *yamldoc.Value) ([]parameters, *repofs.InputError) {
	var all []parameters
	for _, dir := range Folders(x.repository.Files()) {
		included, excluded := false, false
		for _, item := range list.Items {
			ok, err := path.Match(item.TextAt("path"), dir)
			if err != nil || !ok {
				continue
			}
			if isExclude(item) {
				excluded = true
			} else {
				included = true
			}
		}
		if !included || excluded {
			continue
		}
		p := map[string]any{}
		x.path(v, p, dir, "")
		if err := x.values(v, p); err != nil {
			return nil, err
		}
		all = append(all, parameters{values: p, at: v.Position})
	}
	return all, nil
}

func isExclude(item *yamldoc.Value) bool {
	v := item.At("exclude")
	if v == nil {
		return false
	}
	on, _ := v.Bool()
	return on
}

// Folders are the folders that hold files, at any depth, without hidden ones,
// sorted.
func Folders(list []string) []string {
	seen := map[string]bool{}
	for _, file := range list {
		for dir := path.Dir(file); dir != "." && dir != "/" && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	all := slices.Sorted(maps.Keys(seen))
	return slices.DeleteFunc(all, func(dir string) bool {
		return strings.HasPrefix(dir, ".") || strings.Contains(dir, "/.")
	})
}

// path adds the parameters of a folder, or of a file in it. Source: Argo CD, git
// generator.
func (x *expansion) path(v *yamldoc.Value, p map[string]any, dir, file string) {
	prefix := v.TextAt("pathParamPrefix")
	base := path.Base(dir)
	segments := strings.Split(dir, "/")
	if x.engine.goTemplate {
		list := make([]any, len(segments))
		for i, s := range segments {
			list[i] = s
		}
		about := map[string]any{"path": dir, "basename": base, "basenameNormalized": normalize(base), "segments": list}
		if file != "" {
			about["filename"], about["filenameNormalized"] = file, normalize(file)
		}
		if prefix != "" {
			p[prefix] = map[string]any{"path": about}
		} else {
			p["path"] = about
		}
		return
	}
	name := "path"
	if prefix != "" {
		name = prefix + ".path"
	}
	p[name], p[name+".basename"], p[name+".basenameNormalized"] = dir, base, normalize(base)
	if file != "" {
		p[name+".filename"], p[name+".filenameNormalized"] = file, normalize(file)
	}
	for i, s := range segments {
		if s != "" {
			p[fmt.Sprintf("%s[%d]", name, i)] = s
		}
	}
}

// files reads the parameters that files hold: a map, or a list of maps.
func (x *expansion) files(v, list *yamldoc.Value) ([]parameters, *repofs.InputError) {
	taken := map[string]bool{}
	for _, exclude := range []bool{false, true} {
		for _, item := range list.Items {
			if isExclude(item) != exclude {
				continue
			}
			matches, err := x.filePattern(item.TextAt("path"))
			if err != nil {
				return nil, fail(item.Position, "", "%s is not a valid pattern", item.TextAt("path"))
			}
			for _, file := range x.repository.Files() {
				if matches(file) {
					taken[file] = !exclude
				}
			}
		}
	}
	var all []parameters
	for _, file := range slices.Sorted(maps.Keys(taken)) {
		if !taken[file] {
			continue
		}
		made, err := x.file(v, file)
		if err != nil {
			// One unreadable file must not hide the others.
			x.unread(err)
			continue
		}
		all = append(all, made...)
	}
	return all, nil
}

// filePattern is the path of a Git generator's files as the installation reads it.
func (x *expansion) filePattern(written string) (func(file string) bool, error) {
	if !x.data.NewGlobbing {
		re, err := GitPattern(written)
		if err != nil {
			return nil, err
		}
		return re.MatchString, nil
	}
	pattern := path.Clean(strings.TrimPrefix(written, "/"))
	if !doublestar.ValidatePattern(pattern) {
		return nil, doublestar.ErrBadPattern
	}
	return func(file string) bool { return doublestar.MatchUnvalidated(pattern, file) }, nil
}

// GitPattern is a path of Git as git ls-files matches it: a star also matches
// slashes, and a folder stands for what is in it. Source: Argo CD, git generator
// with its default of the older globbing; gitglossary, "pathspec".
func GitPattern(written string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString(`^`)
	written = strings.TrimPrefix(strings.TrimPrefix(written, "./"), "/")
	for i := 0; i < len(written); i++ {
		switch c := written[i]; c {
		case '*':
			b.WriteString(`.*`)
		case '?':
			b.WriteString(`.`)
		case '[':
			end := strings.IndexByte(written[i+1:], ']')
			if end <= 0 {
				b.WriteString(`\[`)
				continue
			}
			class := written[i+1 : i+1+end]
			if negated, ok := strings.CutPrefix(class, "!"); ok {
				class = "^" + negated
			}
			b.WriteString("[" + strings.ReplaceAll(class, `[`, `\[`) + "]")
			i += end + 1
		case '\\':
			if i+1 < len(written) {
				i++
			}
			b.WriteString(regexp.QuoteMeta(string(written[i])))
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if !strings.ContainsAny(written, "*?[") {
		b.WriteString(`(/.*)?`)
	}
	b.WriteString(`$`)
	return regexp.Compile(b.String())
}

// file reads a file that a git generator takes: its first document. Source: argo-cd,
// applicationset/generators/git.go, generateParamsFromGitFile.
func (x *expansion) file(v *yamldoc.Value, file string) ([]parameters, *repofs.InputError) {
	at := finding.Position{File: file, Line: 1}
	data, readErr := x.repository.Read(file)
	if readErr != nil {
		return nil, fail(at, "", "the file that the ApplicationSet %s generates from cannot be read", x.set)
	}
	if manifest.IsPointer(data) {
		return nil, fail(at, "", "the ApplicationSet %s generates from %s, which is a pointer of Git LFS, not the file; run git lfs pull", x.set, file)
	}
	parsed, parseErr := yamldoc.ParseFirst(file, data)
	if parseErr != nil {
		if input := repofs.InputErrors(parseErr); len(input) > 0 && input[0].Position.Line > 0 {
			at = input[0].Position
		}
		return nil, fail(at, "", "the ApplicationSet %s generates from the file, which is no YAML or JSON document", x.set)
	}
	items := []*yamldoc.Value{parsed}
	if parsed.Kind == yamldoc.List {
		items = parsed.Items
	}
	var all []parameters
	for _, item := range items {
		content, ok := plain(item).(map[string]any)
		if !ok {
			return nil, fail(item.Position, "", "the ApplicationSet %s generates from the file, which holds no map", x.set)
		}
		p := content
		if !x.engine.goTemplate {
			p = model.AnyMap(flatten(content))
		}
		x.path(v, p, path.Dir(file), path.Base(file))
		if err := x.values(v, p); err != nil {
			return nil, err
		}
		all = append(all, parameters{values: p, at: item.Position})
	}
	return all, nil
}
