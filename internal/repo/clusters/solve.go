package clusters

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/appset"
)

// Source is a source of the template of an ApplicationSet, as it is written.
type Source struct {
	Address, Path string
	// Helm is set where the source sets something of a chart, Keys the values that it
	// sets there.
	Helm bool
	Keys []string
	// Files are the value files that it takes of this or another source of the
	// template, from the top of the repository, with the address they are at.
	Files []ValueFile
}

// ValueFile is one, as it is written.
type ValueFile struct{ Address, Path string }

// Set is an ApplicationSet that selects a cluster.
type Set struct {
	Name    string
	Sources []Source
	// Values are those of its generator.
	Values map[string]string
}

// Tree is the repository that the templates name places of.
type Tree interface {
	// Folders and Files are the paths as Git sources see them, sorted.
	Folders() []string
	Files() []string
	Own(address string) bool
	// May reports whether an address may be that of the repository.
	May(address string) bool
	// Fits reports whether a folder is what a source takes: a chart that reads the
	// values which it sets, or manifests.
	Fits(folder string, s Source) bool
	// Hints are folders that what is in a folder names from a base that is not known.
	Hints(folder string) []string
}

// Solution is one way to fill in what is not known of a cluster.
type Solution struct {
	// Values are those of marks.
	Values map[string]string
	// Own are addresses that are taken to be this repository's.
	Own []string
	// Why says what each value is taken from.
	Why []string
}

// maxSolutions is how many clusters one may turn out to be.
const maxSolutions = 50

// Solve fills in what templates need of a cluster, from the tree: the places that decide
// what is applied first, then value files. There is always one solution; it may say
// nothing.
func Solve(c Cluster, sets []Set, tree Tree, known Known) []Solution {
	s := &solving{cluster: c, tree: tree, single: map[string]bool{}}
	all := []Solution{{Values: map[string]string{}}}
	for _, set := range sets {
		for _, source := range set.Sources {
			all = s.each(all, func(one Solution) []Solution { return s.place(one, set, source) })
		}
	}
	for _, set := range sets {
		for _, source := range set.Sources {
			for _, file := range source.Files {
				all = s.each(all, func(one Solution) []Solution { return s.file(one, set, file) })
			}
		}
	}
	return s.settle(all, known)
}

type solving struct {
	cluster Cluster
	tree    Tree
	single  map[string]bool
	folders []string
	files   []string
}

// each goes on from every solution so far; those that turn out the same are one.
func (s *solving) each(all []Solution, next func(Solution) []Solution) []Solution {
	var out []Solution
	seen := map[string]bool{}
	for _, one := range all {
		for _, n := range next(one) {
			if key := fmt.Sprint(n.Values); !seen[key] && len(out) < maxSolutions {
				seen[key] = true
				out = append(out, n)
			}
		}
	}
	return out
}

// with is a solution that has more values.
func (one Solution) with(values map[string]string, why string) Solution {
	one.Values = maps.Clone(one.Values)
	maps.Copy(one.Values, values)
	if why != "" {
		one.Why = append(slices.Clone(one.Why), why)
	}
	return one
}

// defaulted is a text with the defaults of its marks.
func (s *solving) defaulted(text string) string {
	return appset.Fill(text, func(name string) (string, bool) { v, ok := s.cluster.Defaults[name]; return v, ok })
}

// defaultsOf are the defaults of the marks of a text.
func (s *solving) defaultsOf(text string) map[string]string {
	all := map[string]string{}
	for _, name := range appset.Marks(text) {
		if v, ok := s.cluster.Defaults[name]; ok {
			all[name] = v
		}
	}
	return all
}

// address is one with what is known. here says that it may be this repository's: it is,
// or nobody knows.
func (s *solving) address(template string, set Set) (text string, here bool) {
	text, ok := filled(template, s.cluster, set.Values, s.single)
	if !ok {
		return "", false
	}
	return text, appset.IsMarked(text) || s.tree.May(text)
}

// place fills in the path of a source.
func (s *solving) place(one Solution, set Set, source Source) []Solution {
	keep := []Solution{one}
	if source.Path == "" {
		return keep
	}
	address, here := s.address(source.Address, set)
	written, ok := filled(source.Path, s.cluster.With(one.Values), set.Values, s.single)
	if !ok || !here || !asks(written) {
		return keep
	}
	own := func(n Solution) Solution {
		if text := s.defaulted(address); !appset.IsMarked(text) && !s.tree.Own(text) {
			n.Own = append(slices.Clone(n.Own), text)
		}
		return n
	}
	if text := s.defaulted(written); !appset.IsMarked(text) {
		if clean := path.Clean(text); slices.Contains(s.allFolders(), clean) && s.tree.Fits(clean, source) {
			return []Solution{own(one.with(s.defaultsOf(written), ""))}
		}
	}
	p, ok := compile(written, s.single)
	if !ok || !p.says && len(source.Keys) == 0 {
		return keep
	}
	places := slices.DeleteFunc(p.find(s.allFolders()), func(f found) bool { return !s.tree.Fits(f.place, source) })
	// Several folders are several clusters where the folder is called after the cluster.
	if len(places) == 0 || len(places) > 1 && !s.onlySingle(p) {
		return keep
	}
	var all []Solution
	for _, f := range places {
		values, ok := s.assigned(p, f, set)
		if !ok {
			return keep
		}
		why := "the only folder here that is what the ApplicationSet " + set.Name + " takes"
		if len(places) > 1 {
			why = fmt.Sprintf("one of %d such folders here", len(places))
		}
		why = supposed(written, f.place, values) + ", " + why
		all = append(all, own(one.with(values, why)))
	}
	return all
}

// asks reports whether a text needs something of a cluster that is not known.
func asks(text string) bool {
	return slices.ContainsFunc(appset.Marks(text), func(m string) bool { return !strings.HasPrefix(m, anything) })
}

// onlySingle reports whether all groups of a pattern are single folders.
func (s *solving) onlySingle(p pattern) bool {
	return !slices.ContainsFunc(p.groups, func(g group) bool {
		return len(g) != 1 || !s.single[g[0]] && !strings.HasPrefix(g[0], anything)
	})
}

// assigned are the values of the marks of a match; ok is false where it is not known
// which mark has which part of it.
func (s *solving) assigned(p pattern, f found, set Set) (map[string]string, bool) {
	values := map[string]string{}
	for i, g := range p.groups {
		parts := []string{f.values[i]}
		if len(g) > 1 {
			if parts = s.split(f.values[i], g, f.place, set); parts == nil {
				return nil, false
			}
		}
		for n, mark := range g {
			if known, ok := values[mark]; ok && known != parts[n] {
				return nil, false
			}
			values[mark] = parts[n]
		}
	}
	maps.DeleteFunc(values, func(mark, _ string) bool { return strings.HasPrefix(mark, anything) })
	return values, true
}

// split parts a path of two parameters: what the first is, a base, the value files of the
// same template tell, and what the folder names from it.
func (s *solving) split(text string, g group, folder string, set Set) []string {
	if len(g) != 2 {
		return nil
	}
	bases := []string{""}
	for i, c := range text {
		if c == '/' {
			bases = append(bases, text[:i+1])
		}
	}
	best, most, tie := "", 0, false
	for _, base := range bases {
		n := 0
		for _, source := range set.Sources {
			for _, f := range source.Files {
				if base != "" && strings.HasPrefix(f.Path, base) {
					n++
				}
			}
		}
		for _, hint := range s.tree.Hints(folder) {
			if slices.Contains(s.allFolders(), path.Clean(base+hint)) {
				n++
			}
		}
		switch {
		case n > most:
			best, most, tie = base, n, false
		case n == most:
			tie = true
		}
	}
	if most == 0 || tie {
		return nil
	}
	return []string{best, strings.TrimPrefix(text, best)}
}

// file fills in the path of a value file.
func (s *solving) file(one Solution, set Set, file ValueFile) []Solution {
	keep := []Solution{one}
	_, here := s.address(file.Address, set)
	written, ok := filled(file.Path, s.cluster.With(one.Values), set.Values, s.single)
	if !ok || !here {
		return keep
	}
	if written = s.defaulted(written); !asks(written) {
		return keep
	}
	p, ok := compile(written, s.single)
	if !ok || !p.says || !s.onlySingle(p) {
		return keep
	}
	if s.files == nil {
		s.files = s.tree.Files()
	}
	var all []Solution
	places := p.find(s.files)
	for _, f := range places {
		if values, ok := s.assigned(p, f, set); ok {
			all = append(all, one.with(values, supposed(written, f.place, values)+", "+among(len(places))))
		}
	}
	if len(all) == 0 {
		return keep
	}
	return all
}

// supposed says what a text is taken to be. Where other generators fill in parts of it,
// which are no concern of the cluster, it says what that means for the cluster.
func supposed(written, place string, values map[string]string) string {
	others := slices.ContainsFunc(appset.Marks(written), func(m string) bool { return strings.HasPrefix(m, anything) })
	if !others || len(values) == 0 {
		return appset.Written(written) + " is taken to be " + place
	}
	var all []string
	for _, mark := range slices.Sorted(maps.Keys(values)) {
		all = append(all, called(mark)+" is taken to be "+values[mark])
	}
	return strings.Join(all, " and ") + ", as in " + place
}

// called is what people call a parameter of a cluster.
func called(mark string) string {
	for prefix, what := range map[string]string{"metadata.labels.": "the label ", "metadata.annotations.": "the annotation "} {
		if key, ok := strings.CutPrefix(mark, prefix); ok {
			return what + key
		}
	}
	if mark == "name" || mark == "nameNormalized" {
		return "its name"
	}
	return "{{" + mark + "}}"
}

func among(n int) string {
	if n == 1 {
		return "the only such file here"
	}
	return fmt.Sprintf("one of %d such files here", n)
}

func (s *solving) allFolders() []string {
	if s.folders == nil {
		s.folders = s.tree.Folders()
	}
	return s.folders
}

// settle chooses among solutions. A cluster has one name: of several that it may have,
// those count that something goes to, and none that another cluster has. Clusters of one
// name are one, of which is known what they have in common: first that which all other
// clusters are.
func (s *solving) settle(all []Solution, known Known) []Solution {
	if len(all) == 1 {
		return all
	}
	name := func(one Solution) string { return s.cluster.With(one.Values).Settled().Called().Name }
	prefer := func(good func(Solution) bool) (chosen bool) {
		kept := slices.DeleteFunc(slices.Clone(all), func(one Solution) bool { return !good(one) })
		if len(kept) == 0 {
			return false
		}
		chosen = len(kept) == 1 && len(all) > 1
		all = kept
		return chosen
	}
	because := func(format string, args ...any) {
		all[0].Why = append(slices.Clone(all[0].Why), fmt.Sprintf(format, args...))
	}
	if prefer(func(one Solution) bool { return !known.Taken[name(one)] }) {
		because("it is taken to be %s, since the others are clusters that are known", name(all[0]))
	}
	if s.cluster.Origin != "" && prefer(func(one Solution) bool { return known.Goes[name(one)] }) {
		because("it is taken to be called %s, which Applications go to", name(all[0]))
	}
	slices.SortStableFunc(all, func(a, b Solution) int { return cmp.Compare(name(a), name(b)) })
	if first := name(all[0]); len(all) > 1 && first == name(all[len(all)-1]) && !appset.IsMarked(first) {
		if prefer(func(one Solution) bool { return like(one, known) }) {
			because("its labels are taken to be as those of the clusters that are known")
		}
	}
	var out []Solution
	for _, one := range all {
		if n := len(out); n > 0 && name(out[n-1]) == name(one) && !appset.IsMarked(name(one)) {
			out[n-1] = common(out[n-1], one)
			continue
		}
		out = append(out, one)
	}
	return out
}

// like reports whether a solution has the labels that all other clusters have.
func like(one Solution, known Known) bool {
	for name, v := range one.Values {
		if key, ok := strings.CutPrefix(name, "metadata.labels."); ok && known.Labels[key] != "" && known.Labels[key] != v && key != "cluster_name" {
			return false
		}
	}
	return true
}

// common is what two solutions have in common.
func common(a, b Solution) Solution {
	values := map[string]string{}
	for k, v := range a.Values {
		if b.Values[k] == v {
			values[k] = v
		}
	}
	a.Values = values
	a.Why = slices.DeleteFunc(slices.Clone(a.Why), func(w string) bool { return !slices.Contains(b.Why, w) })
	return a
}
