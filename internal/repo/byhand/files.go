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
	// start is the folder of the repository or of the script, of a variable of a shell or of what
	// task and just fill in.
	start = lazyregexp.New(`^(?:\$(?:\w+|\{\w+\})|\{\{[^{}]*\}\})/`)
	// segmentVariable is a variable that makes a segment of a path.
	segmentVariable = lazyregexp.New(`(^|/)(?:\$(?:\w+|\{\w+\})|\{\{[^{}]*\}\})(/|$)`)
	// ownFolder is a variable that has the folder of the script.
	ownFolder = lazyregexp.New(`(?i)^\$(?:\{(script_?dir|script_?path|here|dir|base_?dir)\}|(script_?dir|script_?path|here|dir|base_?dir))/?$`)
)

const (
	// maxApplied bounds the files that the commands of a repository apply: each may name
	// all of them again.
	maxApplied = 20_000
	// maxSteps bounds the files and folders that are looked at for it, of which there may
	// be nothing to apply.
	maxSteps = 200_000
	// maxCompared bounds how often a path that begins with a variable is compared with one of the
	// repository.
	maxCompared = 5_000_000
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
	kept map[string]made
	// cut are the files of which commands were not followed, since a bound was met.
	cut []string
	// ends is what ending found before, by the path.
	ends                   map[string][]string
	count, steps, compared int
	// all are the manifests of the repository, folders those that hold some; read when they are
	// first asked for.
	all, folders []string
}

// isFull reports whether a bound was met: what further commands apply is not known.
func (x *applying) isFull() bool {
	return x.count > maxApplied || x.steps >= maxSteps || x.compared > maxCompared
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
	// chosen are the files of a folder of which one is applied at a time.
	chosen   []Instruction
	releases []Release
}

// read finds what the commands of a file apply, in their order: files, those of folders,
// and what kustomizations are made of. Of files whose name a variable makes, it may be any.
func (x *applying) read(t text) applied {
	var all applied
	there := func(p string) bool { return x.tree.IsFile(p) || x.tree.IsDir(p) }
	var sh shell
	for _, c := range t.commands {
		at, open := t.at(c), sh
		given := sh.given(c.text)
		if len(given) > 0 && x.isFull() {
			x.cut = append(x.cut, t.file)
			return all
		}
		all.chosen = append(all.chosen, x.chosen(open, c.open, path.Dir(t.file), at)...)
		for _, a := range given {
			folders := []string{".", path.Dir(t.file)}
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
					x.cut = append(x.cut, t.file)
					return all
				}
				all.addKept(kept, at)
				continue
			}
			for _, p := range places {
				behind := x.behind(argument{p, a.kustomize, a.recursive, a.charts, a.names, ""})
				if x.count += len(behind.files) + len(behind.addresses) + len(behind.releases); x.count > maxApplied {
					x.cut = append(x.cut, t.file)
					return all
				}
				all.add(behind, p, at)
			}
		}
	}
	return all
}

// chosenFile is the name of a manifest with a variable in it.
var chosenFile = lazyregexp.New(`^([\w./-]*/)?([\w.-]*)\$(?:\w+|\{\w+\})([\w.-]*\.(?:ya?ml|json))$`)

// chosen are the manifests of which a command applies one, named by a variable: those of the folder
// whose names may be meant.
func (x *applying) chosen(sh shell, text, dir string, at finding.Position) []Instruction {
	if !strings.Contains(text, "$") {
		return nil
	}
	var all []Instruction
	for _, a := range sh.given(text) {
		m := chosenFile.FindStringSubmatch(start.ReplaceAllString(a.written, ""))
		if m == nil || a.kustomize {
			continue
		}
		folders := []string{".", dir}
		if dir := find(a.folder, x.tree.IsDir, folders...); dir != "" {
			folders = append([]string{dir}, folders...)
		}
		for _, p := range x.globbed(m[1]+m[2]+"*"+m[3], folders) {
			all = append(all, Instruction{Address: p, Through: p, Position: at})
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

const (
	// maxPlaces is how many places a path behind a variable may stand for, maxEach how many one does
	// that has a variable inside, as that of a cluster.
	maxPlaces, maxEach = 4, 20
	// anyone stands for a segment that a variable makes.
	anyone = "\x00"
)

// ending are the files and folders that a path may be which begins with a variable: those that
// end as it does, with any name where a segment is a variable. Of one segment, or where there are many, it may be any.
func (x *applying) ending(written string) []string {
	rest := start.ReplaceAllString(written, "")
	if rest == written {
		return nil
	}
	rest = segmentVariable.ReplaceAllString(rest, "${1}"+anyone+"${2}")
	if strings.ContainsAny(rest, "$*{<") || strings.Contains(rest, "..") {
		return nil
	}
	rest = path.Clean(rest)
	segments := strings.Split(rest, "/")
	most, fixed := maxPlaces, 0
	for _, s := range segments {
		if s == anyone {
			most = maxEach
			continue
		}
		fixed++
	}
	if fixed < 2 || segments[0] == anyone {
		return nil
	}
	matches := func(p string) bool {
		own := strings.Split(p, "/")
		if len(own) < len(segments) {
			return false
		}
		own = own[len(own)-len(segments):]
		for i, s := range segments {
			if s != anyone && s != own[i] {
				return false
			}
		}
		return true
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
	if known, ok := x.ends[rest]; ok {
		return known
	}
	if x.compared += len(x.all) + len(x.folders); x.compared > maxCompared {
		return nil
	}
	var found []string
	for _, all := range [][]string{x.all, x.folders} {
		for _, p := range all {
			if matches(p) && !repofs.IsUnused(p+"/") {
				found = append(found, p)
			}
		}
	}
	if len(found) > most {
		found = nil
	}
	x.ends[rest] = found
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
