package catalogue

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

//go:embed data
var data embed.FS

// Catalogue answers what charts provide. It is safe for concurrent use.
type Catalogue struct {
	extra []Entry

	// Entries and sets are read when they are first asked for.
	mu      sync.Mutex
	entries map[string][]Entry // by the name of their file
	sets    map[string][]CRD
	// all lists every entry, manifests those of the embedded ones that can answer for
	// manifests; both decode when they are first asked.
	all, manifests func() []Entry
}

// New returns the embedded catalogue with entries of the user, which come first.
func New(extra ...Entry) *Catalogue {
	c := &Catalogue{extra: slices.Clone(extra), entries: map[string][]Entry{}, sets: map[string][]CRD{}}
	c.all, c.manifests = sync.OnceValue(c.list), sync.OnceValue(c.ofManifests)
	return c
}

// Asked is what is asked of a catalogue: one source of a component.
type Asked struct {
	Source model.Source
	// Release and Namespace are those of the component.
	Release, Namespace string
	Values             map[string]any
	// Partial says that not all values are known; Withheld are the dotted paths of those that
	// are not, empty where they may be any.
	Partial  bool
	Withheld []string
}

// Answer is what a source provides.
type Answer struct {
	// Entry is where the answer is from.
	Entry Entry
	Known infer.Known
	// CRDs are those of Known.Kinds with their scope and versions.
	CRDs []CRD
}

// Find answers what a source provides; ok is false where nothing is known of it.
func (c *Catalogue) Find(asked Asked) (Answer, bool) {
	q := ask(asked.Source)
	for i := range c.extra {
		if c.extra[i].matches(q, true) {
			return c.fill(c.extra[i], asked), true
		}
	}
	var candidates []Entry
	if q.chart != "" {
		candidates = c.named(q.chart)
	} else {
		candidates = c.manifests()
	}
	published := 0 // entries of charts, not of manifests
	for i := range candidates {
		if len(candidates[i].Repositories) > 0 {
			published++
		}
	}
	for i := range candidates {
		if candidates[i].matches(q, published == 1) {
			return c.fill(candidates[i], asked), true
		}
	}
	for _, a := range q.addresses {
		if answer, ok := c.ofProject(a, asked); ok {
			return answer, true
		}
		if answer, ok := c.ofFile(a); ok {
			return answer, true
		}
	}
	return Answer{}, false
}

// Entries lists all entries by chart, those of the user first among their name.
func (c *Catalogue) Entries() []Entry { return c.all() }

func (c *Catalogue) list() []Entry {
	all := slices.Clone(c.extra)
	for _, name := range entryFiles() {
		all = append(all, c.named(name)...)
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return strings.Compare(a.Chart, b.Chart) })
	return all
}

// ofManifests lists the embedded entries of the files that name manifests. Most do
// not, and need not be decoded to answer for a remote base.
func (c *Catalogue) ofManifests() []Entry {
	var all []Entry
	for _, name := range entryFiles() {
		if namesManifests(name) {
			all = append(all, c.named(name)...)
		}
	}
	return all
}

func namesManifests(chart string) bool {
	for _, folder := range entryFolders {
		raw, err := data.ReadFile(path.Join(folder, chart+".yaml"))
		if err == nil && bytes.Contains(raw, []byte("manifests:")) {
			return true
		}
	}
	return slices.ContainsFunc(Operators(), func(o Operator) bool { return o.Name == chart })
}

// entryFolders hold one file for each chart.
var entryFolders = []string{"data/generated/charts", "data/added/charts"}

// entryFiles are the names of the files of entries, without their ending.
func entryFiles() []string {
	var names []string
	for _, folder := range entryFolders {
		files, err := fs.ReadDir(data, folder)
		if err != nil {
			continue // an embedded folder that is not there is empty
		}
		for _, f := range files {
			names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
		}
	}
	for _, o := range Operators() {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// named returns the embedded entries of a chart.
func (c *Catalogue) named(chart string) []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.entries[chart]; ok {
		return have
	}
	entries, err := embedded(chart)
	if err != nil {
		entries = nil // a test decodes every file
	}
	c.entries[chart] = entries
	return entries
}

// embedded reads the two files of a chart and merges them.
func embedded(chart string) ([]Entry, error) {
	if chart == "" || strings.ContainsAny(chart, "/\\") {
		return nil, nil
	}
	generated, err := entriesOf("data/generated/charts", chart)
	if err != nil {
		return nil, err
	}
	added, err := entriesOf("data/added/charts", chart)
	if err != nil {
		return nil, err
	}
	all := merge(generated, added)
	for _, o := range Operators() {
		if e := o.entry(); o.Name == chart && len(e.Manifests) > 0 {
			all = append(all, e)
		}
	}
	return all, nil
}

func entriesOf(folder, chart string) ([]Entry, error) {
	raw, err := data.ReadFile(path.Join(folder, chart+".yaml"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s/%s.yaml: %w", folder, chart, err)
	}
	return entries, nil
}

// merge puts added entries into generated ones: an added entry replaces the
// fields it has of the generated entry that shares a repository or a pattern
// with it; repositories and sources are those of both.
func merge(generated, added []Entry) []Entry {
	out := slices.Clone(generated)
	for _, a := range added {
		i := slices.IndexFunc(out, func(g Entry) bool {
			return g.Chart == a.Chart && (share(g.Repositories, a.Repositories) || share(g.Manifests, a.Manifests))
		})
		if i < 0 {
			out = append(out, a)
			continue
		}
		out[i] = replace(out[i], a)
	}
	return out
}

func share(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool {
		return slices.ContainsFunc(b, func(t string) bool { return address(s) == address(t) })
	})
}

func replace(g, a Entry) Entry {
	g.Repositories = union(a.Repositories, g.Repositories)
	g.Common = g.Common || a.Common
	g.Open = g.Open || a.Open
	g.SameGroups = g.SameGroups || a.SameGroups
	g.Manifests = orElse(a.Manifests, g.Manifests)
	g.Version = cmp.Or(a.Version, g.Version)
	g.Source = union(a.Source, g.Source)
	g.CRDs = orElse(a.CRDs, g.CRDs)
	g.Controllers = orElse(a.Controllers, g.Controllers)
	g.Webhooks = orElse(a.Webhooks, g.Webhooks)
	g.Objects = orElse(a.Objects, g.Objects)
	g.Children = orElse(a.Children, g.Children)
	g.APIGroups = orElse(a.APIGroups, g.APIGroups)
	g.Requires = orElse(a.Requires, g.Requires)
	g.Notes = cmp.Or(a.Notes, g.Notes)
	return g
}

// union keeps the order of a, and adds what only b has.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func orElse[T any](a, b []T) []T {
	if len(a) > 0 {
		return a
	}
	return b
}

// set returns the CRDs of a set.
func (c *Catalogue) set(name string) []CRD {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.sets[name]; ok {
		return have
	}
	crds, err := embeddedSet(name)
	if err != nil {
		crds = nil // a test decodes every file
	}
	c.sets[name] = crds
	return crds
}

// setFolders hold one file for each set of CRDs.
var setFolders = []string{"data/added/crds", "data/generated/crds"}

// embeddedSet reads a set; an added one replaces a generated one.
func embeddedSet(name string) ([]CRD, error) {
	for _, folder := range setFolders {
		raw, err := data.ReadFile(path.Join(folder, name+".yaml"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s, err := decodeSet(raw)
		if err != nil {
			return nil, fmt.Errorf("%s/%s.yaml: %w", folder, name, err)
		}
		return s.CRDs, nil
	}
	return nil, fmt.Errorf("there is no set of CRDs %q", name)
}

// Whole returns an entry with the CRDs of its sets written out, for people.
func (c *Catalogue) Whole(e Entry) Entry {
	e.CRDs = slices.Clone(e.CRDs)
	for i, part := range e.CRDs {
		if part.Set != "" {
			e.CRDs[i] = CRDs{List: c.crds(part), Folder: part.Folder, When: part.When}
		}
	}
	return e
}
