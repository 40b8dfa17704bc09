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
	// names are the patterns of the files of a folder, each with a blank behind it; empty
	// for all manifests.
	names string
	// folder is where the command runs, as a command of the file before it said; empty where
	// none did.
	folder string
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

// escaped takes away what find is given for itself.
var escaped = strings.NewReplacer(`\(`, " ", `\)`, " ", `\;`, " ")

// unquoted takes the quotes of words away.
var unquoted = strings.NewReplacer(`"`, "", `'`, "", "`", "")

// shell is what the commands of a file leave to the next ones.
type shell struct {
	// folder is where they run: what is written behind cd.
	folder string
}

// moves is a command that goes to a folder, or the beginning of a step of a workflow, which
// is run where the repository is.
var moves = lazyregexp.New(`^(?:-\s+)?(?:(?:run:\s*)?(cd|pushd)(?:\s+(\S+))?|(?:run|name|uses):.*|popd)\s*$`)

// move follows a command that goes to a folder.
func (s *shell) move(part string) {
	m := moves.FindStringSubmatch(unquoted.Replace(strings.TrimSpace(part)))
	switch {
	case m == nil:
	case m[2] == "" || strings.HasPrefix(m[2], "-") || strings.HasPrefix(path.Clean(m[2]), ".."):
		s.folder = ""
	default:
		s.folder = m[2]
	}
}

// given are the files and folders that the commands of a line apply. Source: kubectl
// apply --help; its lists may be written with commas.
func (s *shell) given(line string) []argument {
	var all []argument
	var printed, found []argument
	for _, part := range segment.Split(escaped.Replace(line), -1) {
		s.move(part)
		if folders := built(part); len(folders) > 0 {
			printed = folders
		}
		if files := looked(part); files != nil {
			found = files
		}
		if !applies.MatchString(part+" ") || strings.Contains(part, "--dry-run") {
			continue
		}
		if hands.MatchString(part) {
			all = append(all, printed...)
		}
		first := len(all)
		all = append(all, filesOf(part, found)...)
		for i := range all[first:] {
			all[first+i].folder = s.folder
		}
	}
	return all
}

// filesOf are the arguments of a command that applies: found are the files that one before it
// in the line finds.
func filesOf(part string, found []argument) []argument {
	var all []argument
	recursive := false
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
		if i >= len(words) || words[i] == "{}" {
			all = append(all, found...) // xargs, or find, adds them
			continue
		}
		for written := range strings.SplitSeq(words[i], ",") {
			all = append(all, argument{written: written, kustomize: name == "-k" || name == "--kustomize"})
		}
	}
	for i := range all {
		all[i].recursive = all[i].recursive || recursive
	}
	return all
}

// looked is what a command of find finds: manifests below a folder, by the patterns of their
// names. It is nil for other commands, and for one that chooses otherwise.
func looked(part string) []argument {
	words := strings.Fields(unquoted.Replace(part))
	i := slices.Index(words, "find")
	if i < 0 || i+1 >= len(words) || strings.HasPrefix(words[i+1], "-") {
		return nil
	}
	a := argument{written: words[i+1], recursive: true}
	for rest := words[i+2:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case word == "-exec", word == "-print", word == "-print0":
			return []argument{a}
		case word == "-o", word == "-or", word == "+", word == `\`:
		case len(rest) < 2:
			return nil
		case word == "-name", word == "-iname":
			a.names += rest[1] + " "
			rest = rest[1:]
		case word == "-type" && rest[1] == "f":
			rest = rest[1:]
		case word == "-maxdepth" && rest[1] == "1":
			a.recursive = false
			rest = rest[1:]
		default:
			return nil
		}
	}
	return []argument{a}
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
	// all are the manifests of the repository, folders those that hold some; read when they are
	// first asked for.
	all, folders []string
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
	there := func(p string) bool { return x.tree.IsFile(p) || x.tree.IsDir(p) }
	var sh shell
	for _, c := range commands(file, content) {
		at := finding.Position{File: file, Line: c.line}
		for _, a := range sh.given(c.text) {
			folders := []string{".", path.Dir(file)}
			if dir := find(a.folder, x.tree.IsDir, folders...); dir != "" {
				folders = append([]string{dir}, folders...)
			}
			if strings.Contains(a.written, "*") {
				for _, p := range x.globbed(a.written, folders) {
					all.files = append(all.files, Instruction{Address: p, Through: p, Position: at})
				}
				continue
			}
			p := find(a.written, there, folders...)
			places := []string{p}
			if p == "" {
				places = x.ending(a.written)
			}
			if len(places) == 0 {
				kept := x.kept[ending(a.written)]
				if x.count += len(kept.addresses) + len(kept.releases); x.count > maxApplied {
					return all
				}
				all.addKept(kept, at)
				continue
			}
			for _, p := range places {
				behind := x.behind(argument{p, a.kustomize, a.recursive, a.charts, a.names, ""})
				if x.count += len(behind.files) + len(behind.addresses) + len(behind.releases); x.count > maxApplied {
					return all
				}
				all.add(behind, p, at)
			}
		}
	}
	return all
}

// add adds what an argument of a command stands for.
func (all *applied) add(behind made, p string, at finding.Position) {
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

// maxPlaces is how many places a path behind a variable may stand for.
const maxPlaces = 4

// ending are the files and folders that a path may be which begins with a variable: those that
// end as it does. Of one segment, or where there are many, it may be any.
func (x *applying) ending(written string) []string {
	rest := start.ReplaceAllString(written, "")
	if rest == written || strings.ContainsAny(rest, "$*{<") || strings.Contains(rest, "..") {
		return nil
	}
	if rest = path.Clean(rest); !strings.Contains(rest, "/") {
		return nil
	}
	if x.all == nil {
		x.all, _ = x.tree.Find(x.ctx, ".", isManifest)
		seen := map[string]bool{}
		for _, file := range x.all {
			for dir := path.Dir(file); dir != "." && !seen[dir]; dir = path.Dir(dir) {
				seen[dir] = true
				x.folders = append(x.folders, dir)
			}
		}
		slices.Sort(x.folders)
	}
	var found []string
	for _, all := range [][]string{x.all, x.folders} {
		for _, p := range all {
			if strings.HasSuffix(p, "/"+rest) && !repofs.IsUnused(p+"/") {
				found = append(found, p)
			}
		}
	}
	if len(found) > maxPlaces {
		return nil
	}
	return found
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
		all.files = a.chosen(x.manifests(a))
	}
	x.known[a] = all
	return all
}

// globbed are the manifests that a pattern of a shell matches, as it is seen from the first of
// several folders where it matches any.
func (x *applying) globbed(written string, folders []string) []string {
	written = start.ReplaceAllString(written, "")
	if strings.ContainsAny(written, "${<") || path.IsAbs(written) || strings.Contains(written, "..") {
		return nil
	}
	for _, dir := range folders {
		found := []string{dir}
		for segment := range strings.SplitSeq(path.Clean(written), "/") {
			var below []string
			for _, parent := range found {
				names, _ := x.tree.List(parent)
				if x.steps += len(names); x.steps > maxSteps {
					return nil
				}
				for _, name := range names {
					if ok, err := path.Match(segment, name); err == nil && ok && !strings.HasPrefix(name, ".") {
						below = append(below, path.Join(parent, name))
					}
				}
			}
			found = below
		}
		found = slices.DeleteFunc(found, func(p string) bool { return !isManifest(p) || !x.tree.IsFile(p) })
		if x.count += len(found); x.count > maxApplied {
			return nil
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// chosen are the files that have a name of one of the patterns.
func (a argument) chosen(files []string) []string {
	patterns := strings.Fields(a.names)
	if len(patterns) == 0 {
		return files
	}
	return slices.DeleteFunc(files, func(file string) bool {
		return !slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, path.Base(file))
			return err == nil && ok
		})
	})
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
