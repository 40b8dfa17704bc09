package argocd

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/descriptor"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// MaxDepth is how deep an app-of-apps may be nested.
const MaxDepth = 10

// walk collects the components of one environment.
type walk struct {
	repository  *Repository
	environment string
	components  []component.Component
	first       map[string]component.Component
	// applied are the names of all Applications that were met, parents too.
	applied map[string]bool
	// folders are those that Applications come from, with the waves of the
	// parent that applies them: disabled ones are looked for there.
	folders map[string][]int
}

// Read returns the components of an environment, disabled ones included, and
// what is wrong or was left out.
func (r *Repository) Read(ctx context.Context, e Environment) ([]component.Component, []finding.Finding, error) {
	w := &walk{repository: r, environment: e.Name, first: map[string]component.Component{}, applied: map[string]bool{}, folders: map[string][]int{}}
	before := slices.Clone(r.findings)
	defer func() { r.findings = before }()
	switch {
	case e.Overlay != "":
		if err := w.overlay(ctx, e.Overlay); err != nil {
			return nil, nil, err
		}
	default:
		for _, root := range e.roots {
			y, err := r.yieldApplication(root)
			if err != nil {
				return nil, nil, err
			}
			w.applied[root.name()] = true
			if err := w.children(ctx, root, y, nil, []string{root.name()}); err != nil {
				return nil, nil, err
			}
		}
		for _, app := range e.single {
			w.leaf(app, nil)
		}
		for _, app := range e.unapplied {
			r.findings = append(r.findings, newFinding(RuleNotRead, finding.Info, app.position(), app.name(),
				"the Application %s is not read: no other Application applies it", app.name()))
		}
	}
	w.disabled()
	return w.components, distinct(r.findings), nil
}

// distinct drops findings that were made twice: a source that is looked at
// again says the same again.
func distinct(findings []finding.Finding) []finding.Finding {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(findings), func(f finding.Finding) bool {
		key := f.Rule + "|" + f.Position.String() + "|" + f.Component + "|" + f.Message
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// overlay reads a folder that yields Applications. Parents that the folder
// itself applies are roots: nothing orders them among each other.
func (w *walk) overlay(ctx context.Context, dir string) error {
	r := w.repository
	if file := kustomizationFile(r.tree, dir); file != "" {
		data, err := r.tree.Read(file)
		if err != nil {
			return err
		}
		if _, err := yamlpos.ParseOne(file, data); err != nil {
			return err
		}
	}
	y, err := r.yieldFolder(dir, nil)
	if err != nil {
		return err
	}
	applications := y.applications()
	if len(applications) == 0 {
		return &files.InputError{Position: finding.Position{File: dir}, Message: "the overlay yields no Application", Hint: "path names a kustomization, or a folder of YAML, with Applications in it"}
	}
	yields := make([]yield, len(applications))
	parents := 0
	for i, app := range applications {
		if yields[i], err = r.yieldApplication(app); err != nil {
			return err
		}
		if len(yields[i].applications()) > 0 {
			parents++
		}
	}
	if parents < len(applications) {
		return w.children(ctx, document{}, y, nil, nil)
	}
	for i, root := range applications {
		w.applied[root.name()] = true
		if err := w.children(ctx, root, yields[i], nil, []string{root.name()}); err != nil {
			return err
		}
	}
	return nil
}

// children reads what a parent applies. waves is the place of the parent and
// trail the names from the root to it.
func (w *walk) children(ctx context.Context, parent document, y yield, waves []int, trail []string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read the app-of-apps: %w", err)
	}
	r := w.repository
	for _, folder := range y.folders {
		if _, ok := w.folders[folder]; !ok {
			w.folders[folder] = waves
		}
	}
	var others []document
	for _, d := range y.documents {
		switch {
		case d.argo("ApplicationSet"):
			r.notRead(d.position(), "", "the ApplicationSet %s is not read", d.name())
			continue
		case !d.isApplication():
			// A kustomization and its like are no objects of a cluster.
			if d.name() != "" && !d.isArgo() {
				others = append(others, d)
			}
			continue
		}
		if i := slices.Index(trail, d.name()); i >= 0 {
			return &CycleError{Applications: append(slices.Clone(trail[i:]), d.name()), Position: d.position()}
		}
		place := append(slices.Clone(waves), r.wave(d))
		below, err := r.yieldApplication(d)
		if err != nil {
			return err
		}
		if len(below.documents) == 0 || !slices.ContainsFunc(below.documents, func(d document) bool { return d.isApplication() || d.argo("ApplicationSet") }) {
			w.leaf(d, place)
			continue
		}
		if len(trail) >= MaxDepth {
			return &files.InputError{Position: d.position(), Message: fmt.Sprintf("the app-of-apps is nested more than %d levels deep", MaxDepth)}
		}
		w.applied[d.name()] = true
		if err := w.children(ctx, d, below, place, append(slices.Clone(trail), d.name())); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		w.others(parent, others, waves)
	}
	return nil
}

// others adds the component of what a parent applies next to its Applications.
// Its place is that of the first of these objects.
func (w *walk) others(parent document, others []document, waves []int) {
	r := w.repository
	if parent.value == nil {
		r.notRead(others[0].position(), "", "objects that are no Applications are not rolled out: the overlay applies %d, the first is %s %s",
			len(others), others[0].kind(), others[0].name())
		return
	}
	first := r.wave(others[0])
	for _, d := range others[1:] {
		first = min(first, r.wave(d))
	}
	c := r.component(parent, w.environment, append(slices.Clone(waves), first))
	c.AppOfApps = true
	w.add(c)
}

// leaf adds the component of an Application that applies no Applications.
func (w *walk) leaf(d document, waves []int) {
	c := w.repository.component(d, w.environment, waves)
	w.add(c)
}

func (w *walk) add(c component.Component) {
	w.applied[c.Name] = true
	if other, ok := w.first[c.Name]; ok {
		w.repository.findings = append(w.repository.findings, descriptor.Duplicate(other, c))
		return
	}
	w.first[c.Name] = c
	w.components = append(w.components, c)
}

// disabled adds the Applications that are switched off by the name of their
// file and lie next to those of the environment: they keep their place.
func (w *walk) disabled() {
	for _, d := range w.repository.disabled {
		waves, ok := w.folders[path.Dir(d.position().File)]
		if !ok || w.applied[d.name()] {
			continue
		}
		c := w.repository.component(d, w.environment, append(slices.Clone(waves), w.repository.wave(d)))
		c.Enabled = false
		w.add(c)
	}
}
