package argocd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// overlay reads a folder that yields Applications. Parents that the folder
// itself applies are roots: nothing orders them among each other.
func (w *walk) overlay(ctx context.Context, dir string) error {
	r := w.repository
	if file := kustomizationFile(r.tree, dir); file != "" {
		data, err := r.tree.Read(file)
		if err != nil {
			return err
		}
		if _, err := yamldoc.ParseKustomization(file, data); err != nil {
			return err
		}
	}
	y, err := r.yieldFolder(ctx, dir, nil, nil)
	if err != nil {
		return err
	}
	y.overlay = dir
	if !y.applies() {
		return r.yieldsNothing(dir)
	}
	for _, d := range y.documents {
		parent := !d.isArgo() || d.argo("AppProject")
		if d.isApplication() {
			below, err := r.yieldApplication(ctx, d)
			if err != nil {
				return err
			}
			parent = below.applies()
		}
		if d.argo("ApplicationSet") || !parent {
			return w.children(ctx, document{}, y, place{}, trail{})
		}
	}
	for _, d := range y.documents {
		if d.argo("AppProject") {
			w.project(ctx, "", d)
		}
		if !d.isApplication() {
			continue
		}
		if err := w.application(ctx, "", d, place{}, trail{}); err != nil {
			return err
		}
	}
	w.beside(y, nil)
	return nil
}

// children reads what a parent applies. own is the place of the parent and t the
// trail from the root to it.
func (w *walk) children(ctx context.Context, parent document, y contents, own place, t trail) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read the app-of-apps: %w", err)
	}
	r := w.repository
	name, by := "", ""
	switch {
	case parent.value != nil:
		name, by = parent.name(), parent.name()
	case y.overlay != "" && len(w.environment.roots) > 1:
		by = model.AtRoot(y.overlay)
	case y.overlay != "" && y.overlay == w.environment.Overlay:
		by = model.AtOverlay
	}
	for _, folder := range y.folders {
		if _, ok := w.folders[folder]; !ok {
			w.folders[folder], w.owners[folder] = own, name
		}
	}
	for _, d := range y.documents {
		var err error
		switch {
		case d.argo("ApplicationSet"):
			err = w.set(ctx, name, d, own.below(by, r.wave(d)), t)
		case d.isApplication():
			err = w.application(ctx, name, d, own.below(by, r.wave(d)), t)
		case d.argo("AppProject"):
			w.project(ctx, name, d)
		}
		if err != nil {
			return err
		}
	}
	w.others(parent, y, own)
	return nil
}

// set reads the Applications that an ApplicationSet generates. Their place is
// that of the set: the wave that its template stamps on them counts for nothing.
func (w *walk) set(ctx context.Context, parent string, d document, at place, t trail) error {
	if slices.Contains(t.sets, d.name()) {
		return nil // it is among what it generates: Argo CD manages itself
	}
	r := w.repository
	before := len(r.findings)
	generated := r.expand(ctx, d)
	w.generated = append(w.generated, generated...)
	leads := w.leading(ctx, generated, t.set(d.name()))
	if len(generated) > 0 && len(leads) == 0 && !slices.ContainsFunc(generated, w.environment.takes) {
		r.findings = r.findings[:before] // it is told where one of its Applications is
		return ctx.Err()
	}
	i := w.recordSet(parent, d)
	patchWave(&w.setup.ApplicationSets[i], d, generated)
	r.templateWave(d)
	r.complete(d, d.value.At("spec", "template", "spec"), "spec.template.spec")
	r.misplacedPolicy(d, "spec", "template", "spec")
	r.findings = append(r.findings, noList(d)...)
	for _, app := range generated {
		read := w.application
		if !w.environment.takes(app) {
			if !leads[app.key()] {
				continue
			}
			read = w.through
		}
		w.setup.ApplicationSets[i].Applications = append(w.setup.ApplicationSets[i].Applications, app.name())
		if err := read(ctx, parent, app, at, t.set(d.name())); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// yieldsNothing is the error of a folder that no Application comes from; it tells of folders
// below that hold some.
func (r *Repository) yieldsNothing(dir string) error {
	message := "the folder holds no Application or ApplicationSet"
	if kustomizationFile(r.tree, dir) != "" {
		message = "the kustomization makes no Application or ApplicationSet"
	}
	var folders []string
	for _, d := range slices.Concat(r.applications, r.sets) {
		if _, ok := below(dir, d.position().File); ok {
			folders = append(folders, path.Dir(d.position().File))
		}
	}
	slices.Sort(folders)
	hint := "name a kustomization, or a folder of YAML, with Applications in it"
	switch folders = slices.Compact(folders); {
	case len(folders) == 1:
		hint = fmt.Sprintf("name %s, which does", folders[0])
	case len(folders) > 1:
		hint = fmt.Sprintf("name one of the folders below that do: %s", strings.Join(folders[:min(3, len(folders))], ", "))
	}
	return &repofs.InputError{Position: finding.Position{File: dir}, Message: message, Hint: hint}
}

// samePlaces reports whether two readings of an Application take the same folders.
func samePlaces(a, b document) bool {
	return slices.EqualFunc(a.sources(), b.sources(), func(s, o source) bool { return s.path() == o.path() })
}

// application reads an Application: a parent, or one that becomes a component.
func (w *walk) application(ctx context.Context, parent string, d document, at place, t trail) error {
	r := w.repository
	if i := slices.Index(t.applications, d.name()); i >= 0 {
		circular := t.applications[i:]
		if d.generated != nil && len(circular) == 1 || slices.Contains(t.generated[i:], true) {
			return nil // a set generates what applies the set: Argo CD manages itself, and a set is healthy whatever its Applications are
		}
		r.findings = append(r.findings, circle(append(slices.Clone(circular), d.name()), d.position()))
		return nil
	}
	if d.generated == nil { // else it is told where the template is
		r.misplacedPolicy(d, "spec")
	}
	if d.generated != nil && d.generated.assumed && d.generated.cluster > 0 {
		w.solved++
		defer func() { w.solved-- }()
	}
	before := len(r.findings)
	below, err := r.yieldApplication(ctx, d)
	switch {
	case len(repofs.InputErrors(err)) > 0:
		// What it applies is not known; that is not the end of the others.
		r.tell(d.name(), err)
	case err != nil:
		return err
	}
	r.excuse(d, r.findings[before:])
	if self := below.self; parent == "" && d.generated == nil && d.chart == nil && self.value != nil && samePlaces(d, self) {
		d = self // once it was applied, this is who it is
	}
	w.applied[d.name()] = true
	w.reached[d.key()] = true
	index := w.recordApplication(parent, d)
	w.setup.Applications[index].Self = below.self.value != nil
	if !below.applies() {
		w.leaf(d, at, index)
		last := &w.met[len(w.met)-1]
		last.alone = parent == "" && d.generated == nil
		if last.alone && len(at.waves) == 0 {
			_, last.component.ByHand = r.appliedAt(ctx, d.position().File)
		}
		last.assumed = d.assumed || d.generated != nil && d.generated.assumed
		last.component.Assumed = last.assumed
		for _, p := range below.documents {
			// The Argo CD of another cluster has the projects there.
			if p.argo("AppProject") && destination(d) == inCluster {
				w.project(ctx, d.name(), p)
			}
		}
		return nil
	}
	if d.chart == nil {
		r.refused(d)
		w.parents = append(w.parents, d)
	}
	if len(t.applications) >= MaxDepth {
		return &repofs.InputError{Position: d.position(), Message: fmt.Sprintf("the app-of-apps is nested more than %d levels deep", MaxDepth)}
	}
	if d.generated != nil && d.generated.step > 0 {
		at = at.below(model.AtSteps(d.generated.set.name()), d.generated.step)
	}
	return w.children(ctx, d, below, at, t.application(d))
}
