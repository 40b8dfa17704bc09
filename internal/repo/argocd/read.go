package argocd

import (
	"context"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// MaxDepth is how deep an app-of-apps may be nested.
const MaxDepth = 10

// Reading is one environment, read.
type Reading struct {
	// Components include the disabled ones.
	Components []model.Component
	Setup      argo.Setup
	// Findings say what is wrong or was left out.
	Findings []finding.Finding
	// created are the Namespaces that parents make.
	created []string
}

// walk collects the components of one environment.
type walk struct {
	repository  *Repository
	environment Environment
	met         []candidate
	setup       argo.Setup
	// applied are the names of all Applications that were met, parents too.
	applied map[string]bool
	// reached are their keys.
	reached map[string]bool
	// folders are those that Applications come from, with the place of the
	// parent that applies them: disabled ones are looked for there.
	folders map[string]place
	// owners name these parents.
	owners map[string]string
	// parents are the Applications that apply others.
	parents []document
	// told are the sources in whose subfolders Applications are left out.
	told map[finding.Position]bool
	// generated are the Applications that sets generate.
	generated []document
	// solved counts the Applications on the way to the one at hand that are for a
	// cluster of which something is assumed.
	solved int
	// objects are the components of what lies beside the Applications of overlays.
	objects []model.Component
}

func (r *Repository) walk(e Environment) *walk {
	return &walk{repository: r, environment: e, applied: map[string]bool{}, reached: map[string]bool{}, folders: map[string]place{}, owners: map[string]string{}, told: map[finding.Position]bool{}}
}

// Read returns the components of an environment.
func (r *Repository) Read(ctx context.Context, e Environment) (Reading, error) {
	w := r.walk(e)
	before := slices.Clone(r.findings)
	defer func() { r.findings = before }()
	if e.Overlay != "" {
		if err := w.overlay(ctx, e.Overlay); err != nil {
			return Reading{}, err
		}
	}
	if err := w.roots(ctx); err != nil {
		return Reading{}, err
	}
	// What a chart makes that somebody installs applies some of them.
	left := slices.DeleteFunc(slices.Clone(e.unapplied), func(d document) bool { return w.reached[d.key()] || d.isPatch() })
	below, left := w.leftBelow(ctx, left)
	r.findings = append(r.findings, below...)
	if left = slices.Concat(left, r.skeletons); len(left) > 0 {
		r.findings = append(r.findings, r.unapplied(left)...)
	}
	r.findings = append(r.findings, e.idle...)
	r.findings = append(r.findings, r.assumptions(e, w.generated)...)
	r.findings = append(r.findings, r.moved...)
	w.disabled()
	for _, c := range w.objects {
		for w.applied[c.Name] {
			c.Name += "-objects"
		}
		w.add(c, inCluster, -1)
	}
	components := w.finish(ctx)
	for i := range components {
		components[i].IgnoreDifferences = append(components[i].IgnoreDifferences, r.installation.Ignored()...)
	}
	found := slices.Concat(folded(distinct(r.findings)), waiting(components))
	return Reading{Components: components, Setup: w.setup, Findings: found, created: w.madeByParents(components)}, ctx.Err()
}

// roots reads everything that nothing in the repository applies.
func (w *walk) roots(ctx context.Context) error {
	elsewhere := parentsElsewhere(w.environment.roots)
	w.withoutParents(ctx, elsewhere)
	for _, root := range w.environment.roots {
		at := place{}
		if d := root.document; d.value != nil && d.chart == nil && !root.byHand {
			if parent, ok := elsewhere[path.Dir(d.position().File)]; ok {
				at = at.below(path.Clean(parent)+"/", w.repository.wave(d))
			}
		}
		if err := w.root(ctx, root, at); err != nil {
			return err
		}
	}
	return nil
}

// root reads one thing that somebody applies by hand. What a chart makes with values that nobody says
// are its own rests on that.
func (w *walk) root(ctx context.Context, root entry, at place) error {
	if root.chart.givenElsewhere() && root.document.chart != nil {
		w.solved++
		defer func() { w.solved-- }()
	}
	switch {
	case root.folder != "":
		err := w.overlay(ctx, root.folder)
		if len(w.environment.roots) == 1 || len(repofs.InputErrors(err)) == 0 {
			return err
		}
		// One broken overlay among several is not the end of the others.
		w.repository.tell("", err)
		return nil
	case root.document.argo("ApplicationSet"):
		return w.set(ctx, "", root.document, at, trail{})
	default:
		return w.application(ctx, "", root.document, at, trail{})
	}
}
