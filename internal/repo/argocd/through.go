package argocd

import (
	"context"
	"fmt"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// leading are the keys of those generated Applications that are another environment's and
// apply ApplicationSets which generate for this one too: one cluster has the Argo CD of
// several. A set that an Application of this environment applies is its own; of those of
// others, the first that applies a set counts.
func (w *walk) leading(ctx context.Context, generated []document, t trail) map[string]bool {
	all := map[string]bool{}
	for _, app := range generated {
		if w.environment.takes(app) {
			t = t.with(w.setsOf(ctx, app, t))
		}
	}
	for _, app := range generated {
		if !w.environment.takes(app) && w.leads(ctx, app, t, map[string]bool{}) {
			all[app.key()] = true
			t = t.with(w.setsOf(ctx, app, t))
		}
	}
	return all
}

// with goes through sets as well.
func (t trail) with(sets []document) trail {
	for _, d := range sets {
		t = t.set(d.name())
	}
	return t
}

// setsOf are the ApplicationSets that an Application applies, or an Application that it
// applies.
func (w *walk) setsOf(ctx context.Context, app document, t trail) []document {
	var all []document
	for _, d := range w.belowOf(ctx, app, t) {
		if d.argo("ApplicationSet") {
			all = append(all, d)
		} else {
			all = append(all, w.setsOf(ctx, d, t.application(app))...)
		}
	}
	return all
}

// belowOf are the Applications and ApplicationSets that an Application applies. What is wrong
// with it is told when it is read.
func (w *walk) belowOf(ctx context.Context, app document, t trail) []document {
	if slices.Contains(t.applications, app.name()) || len(t.applications) >= MaxDepth {
		return nil
	}
	r := w.repository
	before := len(r.findings)
	y, err := r.yieldApplication(ctx, app)
	r.findings = r.findings[:before]
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(y.documents), func(d document) bool { return !d.applies() })
}

// leads reports whether the sets below an Application generate for the environment, other
// than those that seen has. What is wrong with them is told when they are read.
func (w *walk) leads(ctx context.Context, app document, t trail, seen map[string]bool) bool {
	if seen[app.key()] {
		return false
	}
	seen[app.key()] = true
	r := w.repository
	before := len(r.findings)
	defer func() { r.findings = r.findings[:before] }()
	return slices.ContainsFunc(w.belowOf(ctx, app, t), func(d document) bool {
		switch {
		case d.isApplication():
			return w.leads(ctx, d, t.application(app), seen)
		case slices.Contains(t.sets, d.name()):
			return false
		}
		return slices.ContainsFunc(r.expand(ctx, d), func(below document) bool {
			return w.environment.takes(below) || w.leads(ctx, below, t.application(app).set(d.name()), seen)
		})
	})
}

// through reads the sets that an Application of another environment applies, and the
// projects beside them, also behind Applications that lead to such; the rest is that
// environment's.
func (w *walk) through(ctx context.Context, parent string, d document, at place, t trail) error {
	if len(t.applications) >= MaxDepth {
		return &repofs.InputError{Position: d.position(), Message: fmt.Sprintf("the app-of-apps is nested more than %d levels deep", MaxDepth)}
	}
	below, err := w.repository.yieldApplication(ctx, d)
	if err != nil {
		return err // there is none: it leads to what the environment has
	}
	w.applied[d.name()] = true
	w.reached[d.key()] = true
	w.recordApplication(parent, d)
	sets := slices.DeleteFunc(slices.Clone(below.documents), func(o document) bool { return !o.argo("ApplicationSet") && !o.argo("AppProject") })
	if d.generated != nil && d.generated.step > 0 {
		at = at.below(model.AtSteps(d.generated.set.name()), d.generated.step)
	}
	t = t.application(d)
	if err := w.children(ctx, d, contents{documents: sets}, at, t); err != nil {
		return err
	}
	for _, o := range below.documents {
		if !o.isApplication() || !w.leads(ctx, o, t, map[string]bool{}) {
			continue
		}
		if err := w.through(ctx, d.name(), o, at.below(d.name(), w.repository.wave(o)), t); err != nil {
			return err
		}
	}
	return nil
}
