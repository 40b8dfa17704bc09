package byhand

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

var (
	// segment parts the commands of a line.
	segment = lazyregexp.New(`[|;&]+|\$\(|[()]`)
	// start is the folder of the repository or of the script, of a variable of a shell or of what
	// task and just fill in.
	start = lazyregexp.New(`^(?:\$(?:\w+|\{\w+\})|\{\{[^{}]*\}\})/`)
	// ownFolder is a variable that has the folder of the script.
	ownFolder = lazyregexp.New(`(?i)^\$(?:\{(script_?dir|script_?path|here|dir|base_?dir)\}|(script_?dir|script_?path|here|dir|base_?dir))/?$`)
	// builds is a command that prints what a kustomization makes, with its arguments.
	builds = lazyregexp.New(`\b(?:kustomize\s+build|(?:kubectl|oc)\s+kustomize)\s+(.+)`)
	// hands is a command that applies what another one prints.
	hands = lazyregexp.New("\\s(?:-f\\s*|--filename[\\s=]\\s*)-(?:[\\s\"'`]|$)")
)

// argument is a file or folder that a command is given.
type argument struct {
	written              string
	kustomize, recursive bool
	// charts is set where the charts of kustomizations are inflated.
	charts bool
}

// built are the folders that a command which prints what a kustomization makes may mean:
// its arguments that are no flags. The value of a flag is no folder with a kustomization.
func built(part string) []argument {
	m := builds.FindStringSubmatch(part)
	if m == nil {
		return nil
	}
	var all []argument
	words := strings.Fields(unquoted.Replace(m[1]))
	charts := slices.Contains(words, "--enable-helm") || slices.Contains(words, "--enable-helm=true")
	for _, word := range words {
		if !strings.HasPrefix(word, "-") {
			all = append(all, argument{written: word, kustomize: true, charts: charts})
		}
	}
	return all
}

// unquoted takes the quotes of words away.
var unquoted = strings.NewReplacer(`"`, "", `'`, "", "`", "")

// given are the files and folders that the commands of a line apply. Source: kubectl
// apply --help; its lists may be written with commas.
func given(line string) []argument {
	var all []argument
	var printed []argument
	for _, part := range segment.Split(line, -1) {
		if folders := built(part); len(folders) > 0 {
			printed = folders
		}
		if !applies.MatchString(part+" ") || strings.Contains(part, "--dry-run") {
			continue
		}
		if hands.MatchString(part) {
			all = append(all, printed...)
		}
		recursive := false
		first := len(all)
		words := strings.Fields(strings.ReplaceAll(unquoted.Replace(part), "=", " = "))
		for i := 0; i < len(words); i++ {
			name := words[i]
			switch name {
			case "-R", "--recursive":
				recursive = true
				continue
			case "-f", "-Rf", "--filename", "-k", "--kustomize":
			default:
				continue
			}
			recursive = recursive || name == "-Rf"
			if i++; i < len(words) && words[i] == "=" {
				i++
			}
			if i < len(words) {
				for written := range strings.SplitSeq(words[i], ",") {
					all = append(all, argument{written: written, kustomize: name == "-k" || name == "--kustomize"})
				}
			}
		}
		for i := range all[first:] {
			all[first+i].recursive = recursive
		}
	}
	return all
}

const (
	// maxApplied bounds the files that the commands of a repository apply: each may name
	// all of them again.
	maxApplied = 20_000
	// maxSteps bounds the files and folders that are looked at for it, of which there may
	// be nothing to apply.
	maxSteps = 200_000
)

// applying finds what commands apply of the repository.
type applying struct {
	ctx  context.Context
	tree *repofs.Tree
	// known is what is behind the arguments that were met before.
	known map[argument]made
	// listed are the kustomizations by their folders.
	listed map[string]kustomization
	// named are the Namespaces of files that were read for them.
	named map[string]namespaced
	// kept is what commands fetch or render into files that are not in the repository.
	kept         map[string]made
	count, steps int
}

// made is what an argument of a command stands for: files of the repository, and the
// addresses and charts that kustomizations name.
type made struct {
	files, addresses []string
	// shown is how the addresses are written, of those that commands fetch.
	shown    []string
	releases []Release
}

// applied is what the commands of a file apply.
type applied struct {
	files, addresses []Instruction
	releases         []Release
}

// read finds what the commands of a file apply, in their order: files, those of folders,
// and what kustomizations are made of. A file whose name a variable makes is not known.
func (x *applying) read(file string, content []byte) applied {
	var all applied
	for _, c := range commands(file, content) {
		at := finding.Position{File: file, Line: c.line}
		for _, a := range given(c.text) {
			p := find(a.written, func(p string) bool { return x.tree.IsFile(p) || x.tree.IsDir(p) }, ".", path.Dir(file))
			if p == "" {
				kept := x.kept[ending(a.written)]
				if x.count += len(kept.addresses) + len(kept.releases); x.count > maxApplied {
					return all
				}
				all.addKept(kept, at)
				continue
			}
			behind := x.behind(argument{p, a.kustomize, a.recursive, a.charts})
			if x.count += len(behind.files) + len(behind.addresses) + len(behind.releases); x.count > maxApplied {
				return all
			}
			for _, one := range behind.files {
				all.files = append(all.files, Instruction{Address: one, Through: p, Position: at})
			}
			for _, one := range behind.addresses {
				all.addresses = append(all.addresses, Instruction{Address: one, Position: at})
			}
			for _, one := range behind.releases {
				one.Position = at
				all.releases = append(all.releases, one)
			}
		}
	}
	return all
}

// ofNamespace matches a file that may have a Namespace in it.
var ofNamespace = lazyregexp.New(`kind["']?:\s*["']?Namespace\b`)

// namespaces are the Namespaces in files that commands apply. A file that is no YAML, as a
// template is none, says nothing. A document that shows how to apply a folder may show how
// to try out what Argo CD applies: there a folder counts only if it is one of Namespaces.
func (x *applying) namespaces(files []Instruction, shown bool) []Namespace {
	var all []Namespace
	more := map[string]bool{} // what has other objects too
	for _, one := range files {
		if _, ok := x.named[one.Address]; !ok {
			x.named[one.Address] = namespacesOf(x.tree, one.Address)
		}
		more[one.Through] = more[one.Through] || x.named[one.Address].others
	}
	for _, one := range files {
		if shown && one.Through != one.Address && more[one.Through] {
			continue
		}
		for _, name := range x.named[one.Address].names {
			all = append(all, Namespace{Name: name, File: one.Address, Position: one.Position})
		}
	}
	return all
}

// namespaced are the Namespaces of a file; others says that it has other objects too.
type namespaced struct {
	names  []string
	others bool
}

// namespacesOf reads the Namespaces in a file.
func namespacesOf(tree *repofs.Tree, file string) (all namespaced) {
	data, err := tree.Read(file)
	if err != nil || !ofNamespace.Match(data) {
		return namespaced{others: true}
	}
	documents, err := yamldoc.Parse(file, data)
	if err != nil {
		return namespaced{others: true}
	}
	for _, d := range documents {
		if d.TextAt("kind") == "Namespace" && d.TextAt("apiVersion") == "v1" {
			all.names = append(all.names, d.TextAt("metadata", "name"))
		} else {
			all.others = true
		}
	}
	return all
}

// find is the path of what a command names, as it is seen from the first of several folders
// where it is there, the last of them that of the script; empty where it is not known, or not
// there.
func find(written string, there func(p string) bool, folders ...string) string {
	if ownFolder.MatchString(written) {
		written, folders = ".", folders[len(folders)-1:]
	}
	written = start.ReplaceAllString(written, "")
	if strings.ContainsAny(written, "$*{<") || path.IsAbs(written) || written == "" || strings.Contains(written, "://") {
		return ""
	}
	for _, dir := range folders {
		if p := path.Join(dir, written); p != ".." && !strings.HasPrefix(p, "../") && there(p) {
			return p
		}
	}
	return ""
}

// behind is what an argument stands for. Of a folder kubectl takes the files of
// manifests in it, and those below only where it is told to.
func (x *applying) behind(a argument) made {
	if known, ok := x.known[a]; ok {
		return known
	}
	var all made
	switch p := a.written; {
	case a.kustomize:
		x.kustomized(p, a.charts, map[string]bool{}, &all)
	case x.tree.IsFile(p):
		all.files = []string{p}
	default:
		all.files = x.manifests(a)
	}
	x.known[a] = all
	return all
}

func isManifest(name string) bool {
	ext := path.Ext(name)
	return ext == ".yaml" || ext == ".yml" || ext == ".json"
}

// manifests are those in a folder, and below it where all are asked for.
func (x *applying) manifests(a argument) []string {
	if x.steps >= maxSteps {
		return nil
	}
	if a.recursive {
		found, _ := x.tree.Find(x.ctx, a.written, func(name string) bool { x.steps++; return isManifest(name) })
		return found
	}
	names, _ := x.tree.List(a.written)
	x.steps += len(names)
	var all []string
	for _, name := range names {
		if p := path.Join(a.written, name); isManifest(name) && x.tree.IsFile(p) {
			all = append(all, p)
		}
	}
	return all
}

// appliedReleases are the charts that the HelmReleases of a file have Flux install. They
// count only where the file holds their HelmRepository too.
func appliedReleases(tree *repofs.Tree, one Instruction) []Release {
	data, err := tree.Read(one.Address)
	if err != nil {
		return nil
	}
	documents, err := yamldoc.Parse(one.Address, data)
	if err != nil {
		return nil
	}
	repositories := map[string]string{}
	for _, d := range documents {
		if d.TextAt("kind") == "HelmRepository" {
			repositories[d.TextAt("metadata", "name")] = d.TextAt("spec", "url")
		}
	}
	var all []Release
	for _, d := range documents {
		chart := d.At("spec", "chart", "spec")
		if d.TextAt("kind") != "HelmRelease" || chart == nil {
			continue
		}
		if url := repositories[chart.TextAt("sourceRef", "name")]; url != "" {
			all = append(all, Release{
				Repository: url, Chart: chart.TextAt("chart"), Version: chart.TextAt("version"),
				Partial: d.At("spec", "values") != nil || d.At("spec", "valuesFrom") != nil, Position: one.Position,
			})
		}
	}
	return all
}
