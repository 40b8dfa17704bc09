package helmfile

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Options say what is read.
type Options struct {
	// Path is a state file, or a folder with state files, relative to the root.
	Path string
	// Environments are those to read; empty for all that the files name.
	Environments []string
	// Variables are variables of the environment that templates may read.
	Variables map[string]string
	// Values win over those of the environments, as Helmfile's --state-values-file.
	Values Values
	// Broken are files that ended an evaluation, by name. They are told, and not
	// evaluated again.
	Broken map[string]Broken
	// Note is called with what is evaluated next; it may be nil.
	Note func(finding.Position) `json:"-"`
}

// Broken is why a file is not evaluated.
type Broken struct {
	Position finding.Position
	Reason   string
}

// DefaultEnvironment is the environment of files that name none.
const DefaultEnvironment = "default"

// The limits on what there is.
const (
	maxEnvironments = 200
	// maxReleases is how many releases an environment may have.
	maxReleases = 20_000
	// maxText is how many bytes the templates of an environment may make.
	maxText = 32 << 20
)

// loader reads the state files in one environment after the other.
type loader struct {
	tree   *repofs.Asked
	engine *engine

	given       map[string]any
	environment string
	declared    map[string]bool
	seen        map[string]bool
	bases       map[string]bool
	problems    []Problem
	quiet       bool

	groups   []group
	byGroup  map[string]int
	releases []Release
}

// group is a state file with its place: the numbers of the entries that lead to
// it.
type group struct {
	Group
	at []int
}

// Load reads the state files of a path. Their templates may loop and grow: only a
// confined worker calls it.
func Load(tree *repofs.Asked, opts Options) (*Result, error) {
	l := &loader{
		tree: tree, declared: map[string]bool{}, seen: map[string]bool{}, bases: map[string]bool{}, byGroup: map[string]int{},
		given: opts.Values, engine: &engine{tree: tree, variables: opts.Variables, unknown: &unknowns{}, broken: opts.Broken, note: opts.Note},
	}
	starts, err := l.starts(opts.Path)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(opts.Environments)
	if len(names) == 0 {
		if names, err = l.discover(starts); err != nil {
			return nil, err
		}
	}
	if len(names) > maxEnvironments {
		return nil, &repofs.InputError{Message: fmt.Sprintf("there are more than %d environments", maxEnvironments), Hint: "choose some with --environment"}
	}
	result := &Result{}
	for _, name := range names {
		env, err := l.load(starts, name)
		if err != nil {
			return nil, err
		}
		if len(opts.Environments) > 0 && !l.declared[name] && name != DefaultEnvironment {
			hint := "the environments are " + strings.Join(slices.Sorted(maps.Keys(l.declared)), ", ")
			if len(l.declared) == 0 {
				hint = "none has an environment: leave it out"
			}
			return nil, &repofs.InputError{Message: fmt.Sprintf("no state file has the environment %q", name), Hint: hint}
		}
		result.Environments = append(result.Environments, env)
	}
	slices.SortFunc(result.Environments, func(a, b Environment) int { return strings.Compare(a.Name, b.Name) })
	result.Groups = l.ranked()
	result.Files = slices.Sorted(maps.Keys(l.seen))
	for _, name := range slices.Sorted(maps.Keys(l.declared)) {
		if !slices.Contains(names, name) {
			result.Unread = append(result.Unread, name)
		}
	}
	result.Problems = l.problems
	return result, nil
}

// discover finds the environments: every one that a state file names.
func (l *loader) discover(starts []start) ([]string, error) {
	l.quiet = true
	defer func() { l.quiet = false }()
	if _, err := l.load(starts, DefaultEnvironment); err != nil {
		return nil, err
	}
	// What includes what may differ from one environment to the next.
	for range 3 {
		known := slices.Sorted(maps.Keys(l.declared))
		for _, name := range known[:min(len(known), maxEnvironments)] {
			if _, err := l.load(starts, name); err != nil {
				return nil, err
			}
		}
		if len(known) == len(l.declared) {
			break
		}
	}
	names := slices.Sorted(maps.Keys(l.declared))
	if len(names) == 0 {
		names = []string{DefaultEnvironment}
	}
	l.groups, l.byGroup = nil, map[string]int{}
	return names, nil
}

// load reads everything in one environment.
func (l *loader) load(starts []start, name string) (Environment, error) {
	l.environment, l.releases, l.engine.made = name, nil, 0
	for _, s := range starts {
		if err := l.include(s.file, s.at, nil, selection{}, nil, finding.Position{}); err != nil {
			return Environment{}, err
		}
	}
	l.resolve()
	return Environment{Name: name, Releases: l.releases}, nil
}

// start is a state file that is read first, with its place.
type start struct {
	file string
	at   []int
}

// starts finds the state files of a path. Source: Helmfile, findDesiredStateFiles.
func (l *loader) starts(p string) ([]start, error) {
	p = path.Clean(p)
	if err := l.tree.Check(p, finding.Position{}); err != nil {
		return nil, err
	}
	if l.tree.IsFile(p) {
		return []start{{p, []int{0}}}, nil
	}
	if !l.tree.IsDir(p) {
		return nil, &repofs.InputError{Message: p + " does not exist", Hint: "give a state file of Helmfile or the folder of one"}
	}
	for _, name := range []string{"helmfile.yaml.gotmpl", "helmfile.yaml"} {
		if l.tree.IsFile(path.Join(p, name)) {
			return []start{{path.Join(p, name), []int{0}}}, nil
		}
	}
	dir := p
	if l.tree.IsDir(path.Join(p, "helmfile.d")) {
		dir = path.Join(p, "helmfile.d")
	}
	names, err := l.tree.List(dir)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if isState(name) && l.tree.IsFile(path.Join(dir, name)) {
			found = append(found, path.Join(dir, name))
		}
	}
	// A folder of other YAML than state files is searched for state files below.
	if len(found) > 0 && (path.Base(dir) == "helmfile.d" || slices.ContainsFunc(found, l.hasReleases)) {
		return inOrder(slices.DeleteFunc(found, func(f string) bool { return !l.isStateFile(f) }), nil), nil
	}
	return l.search(p)
}

// search finds the state files below a folder that no other one includes.
func (l *loader) search(p string) ([]start, error) {
	found, err := l.tree.Find(p, "helmfile.yaml", "helmfile.yaml.gotmpl")
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, &repofs.InputError{
			Message: p + " holds no state file of Helmfile",
			Hint:    "a state file is helmfile.yaml, helmfile.yaml.gotmpl or a file of helmfile.d",
		}
	}
	included := map[string]bool{}
	l.quiet = true
	l.environment = DefaultEnvironment
	for _, file := range found {
		st, err := l.read(file, nil, 0)
		if err != nil {
			continue
		}
		for _, item := range st.helmfiles {
			for _, f := range l.included(st, item) {
				included[f] = true
			}
		}
	}
	l.quiet = false
	l.seen = map[string]bool{}
	found = slices.DeleteFunc(found, func(f string) bool { return included[f] })
	all := make([]start, len(found))
	for i, file := range found {
		all[i] = start{file, []int{0}} // nothing says which comes first
	}
	return all, nil
}

func isState(name string) bool {
	name = strings.TrimSuffix(name, ".gotmpl")
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// stateWords are keys of which a state file has at least one.
func stateWords() []string { return []string{"releases:", "helmfiles:", "bases:", "environments:"} }

func (l *loader) isStateFile(file string) bool { return l.hasKey(file, stateWords()...) }

func (l *loader) hasReleases(file string) bool { return l.hasKey(file, "releases:", "helmfiles:") }

func (l *loader) hasKey(file string, keys ...string) bool {
	data, err := l.tree.Read(file)
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(line, key) }) {
			return true
		}
	}
	return false
}

// inOrder gives numbered files their number as place; those without a number come
// after them, together. Files of one number are together.
func inOrder(found []string, prefix []int) []start {
	all := make([]start, len(found))
	for i, file := range found {
		all[i] = start{file, append(slices.Clone(prefix), placeOf(file))}
	}
	slices.SortStableFunc(all, func(a, b start) int { return slices.Compare(a.at, b.at) })
	return all
}

// unnumbered is the place of files without a number.
const unnumbered = 1 << 20

// placeOf is the number that the name of a file, or else of its folder, begins
// with.
func placeOf(file string) int {
	name := path.Base(file)
	if stem(name) == "helmfile" {
		name = path.Base(path.Dir(file))
	}
	n, digits := 0, 0
	for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' && digits < 6 {
		n = n*10 + int(name[digits]-'0')
		digits++
	}
	if digits == 0 {
		return unnumbered
	}
	return n
}

// stem is the name of a file without its endings.
func stem(name string) string {
	name = strings.TrimSuffix(path.Base(name), ".gotmpl")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".yaml"), ".yml")
}

// groupName is what a state file is called: by its folder if it is helmfile.yaml.
func groupName(file string) string {
	name := stem(file)
	if dir := path.Base(path.Dir(file)); name == "helmfile" && dir != "." && dir != "/" {
		return dir
	}
	return name
}

// include reads a state file: what it includes first, then its own releases.
// Source: Helmfile, processNestedHelmfiles.
func (l *loader) include(file string, at []int, given map[string]any, selected selection, trail []string, named finding.Position) error {
	if slices.Contains(trail, file) {
		return &repofs.InputError{Position: finding.Position{File: file}, Message: "the state file includes itself: " + strings.Join(append(trail, file), " -> ")}
	}
	trail = append(slices.Clip(trail), file)
	st, err := l.read(file, given, 0)
	if err != nil {
		return err
	}
	// A file without the environment is left out. Source: Helmfile,
	// UndefinedEnvError.
	if len(st.declared) > 0 && !st.declared[l.environment] && l.environment != DefaultEnvironment {
		return nil
	}
	for i, item := range st.helmfiles {
		if err := l.nested(st, item, append(slices.Clone(at), i), selected, trail); err != nil {
			return err
		}
	}
	l.fileOptions(st)
	index := l.group(file, append(slices.Clone(at), len(st.helmfiles)))
	g := &l.groups[index]
	if len(trail) > 1 {
		g.Parent, g.Named = trail[len(trail)-2], named
	}
	for _, v := range st.releases {
		if len(l.releases) == maxReleases {
			return &repofs.InputError{Position: v.Position, Message: fmt.Sprintf("there are more than %d releases", maxReleases), Hint: "import a part of the state files"}
		}
		before := len(l.releases)
		l.release(st, v, index, selected)
		g.Withheld = g.Withheld || len(l.releases) == before
		if l.engine.made > maxText {
			return &repofs.InputError{Position: v.Position, Message: fmt.Sprintf("the templates of the environment %s make more than %d MiB", l.environment, maxText>>20), Hint: "import a part of the state files"}
		}
	}
	return nil
}

// nested reads the files of one entry of helmfiles.
func (l *loader) nested(st *state, item *yamldoc.Value, at []int, selected selection, trail []string) error {
	found := l.included(st, item)
	values := map[string]any{}
	if list := item.At("values"); list != nil {
		values = l.environmentValues(st, list.Items, l.handler(st, nil), false, st.merged())
	}
	if list := item.At("selectors"); list != nil {
		var problem string
		if selected, problem = selectors(texts(list)); problem != "" {
			l.problem(Problem{Kind: Invalid, Position: list.Position, Message: problem})
		}
	}
	if texts(item.At("inherits")) != nil {
		l.problem(Problem{Kind: Option, Position: item.Position, Message: "inherits: is not carried over; what the files inherit is read from the files themselves"})
	}
	// Files that one pattern finds run one after the other by their names, which
	// mean an order only where they are numbered.
	numbered := !slices.ContainsFunc(found, func(f string) bool { return placeOf(f) == unnumbered })
	for _, file := range found {
		place := at
		if numbered && len(found) > 1 {
			place = append(slices.Clone(at), placeOf(file))
		}
		if err := l.include(file, place, values, selected, trail, item.Position); err != nil {
			var input *repofs.InputError
			if !errors.As(err, &input) || strings.Contains(input.Message, "includes itself") {
				return err
			}
			l.problem(Problem{Kind: Missing, Position: item.Position, Message: oneLine(err)})
		}
	}
	return nil
}

// included finds the files of an entry of helmfiles.
func (l *loader) included(st *state, item *yamldoc.Value) []string {
	written := item
	if item.Kind == yamldoc.Map {
		written = item.At("path")
	}
	if written == nil || written.Kind != yamldoc.Scalar {
		l.problem(Problem{Kind: Invalid, Position: item.Position, Message: "an entry of helmfiles has no path"})
		return nil
	}
	name, ok := l.text(st, "", written, l.data(st, st.merged()))
	if !ok {
		return nil
	}
	if isRemote(name) {
		l.problem(Problem{Kind: Remote, Position: written.Position, Message: "the state file " + finding.Redact(name) + " would have to be fetched", Hint: "copy it into the repository"})
		return nil
	}
	found, err := l.expand(st.base, name)
	if err != nil {
		l.problem(Problem{Kind: Missing, Position: written.Position, Message: oneLine(err)})
		return nil
	}
	var all []string
	for _, f := range found {
		if l.tree.IsFile(f) {
			all = append(all, f)
			continue
		}
		below, err := l.starts(f)
		if err != nil {
			l.problem(Problem{Kind: Missing, Position: written.Position, Message: oneLine(err)})
		}
		for _, s := range below {
			all = append(all, s.file)
		}
	}
	if len(all) == 0 {
		l.problem(Problem{Kind: Missing, Position: written.Position, Message: "no state file matches " + path.Join(st.base, name)})
	}
	return all
}

// group is the index of a state file at a place.
func (l *loader) group(file string, at []int) int {
	key := fmt.Sprint(file, at)
	if i, ok := l.byGroup[key]; ok {
		return i
	}
	l.byGroup[key] = len(l.groups)
	l.groups = append(l.groups, group{Group{Name: groupName(file), Position: finding.Position{File: file, Line: 1}}, at})
	return len(l.groups) - 1
}

// ranked gives the groups their ranks: those of one place have one rank.
func (l *loader) ranked() []Group {
	order := slices.Clone(l.groups)
	slices.SortStableFunc(order, func(a, b group) int { return slices.Compare(a.at, b.at) })
	rank := map[string]int{}
	for _, g := range order {
		key := fmt.Sprint(g.at)
		if _, ok := rank[key]; !ok {
			rank[key] = len(rank)
		}
	}
	all := make([]Group, len(l.groups))
	for i, g := range l.groups {
		all[i] = g.Group
		all[i].Rank = rank[fmt.Sprint(g.at)]
		all[i].Base = l.bases[g.Position.File]
	}
	return all
}
