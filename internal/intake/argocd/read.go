package argocd

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argo"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/descriptor"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
)

// MaxDepth is how deep an app-of-apps may be nested.
const MaxDepth = 10

// Reading is one environment, read.
type Reading struct {
	// Components include the disabled ones.
	Components []component.Component
	Setup      argo.Setup
	// Findings say what is wrong or was left out.
	Findings []finding.Finding
}

// place is where something stands below the roots.
type place struct {
	// waves is the path of sync waves, parents the names of those that apply each
	// step of it.
	waves   []int
	parents []string
}

func (p place) below(parent string, wave int) place {
	return place{waves: append(slices.Clone(p.waves), wave), parents: append(slices.Clone(p.parents), parent)}
}

// trail are the names of the Applications and ApplicationSets from the root.
type trail struct{ applications, sets []string }

func (t trail) application(name string) trail {
	return trail{append(slices.Clone(t.applications), name), t.sets}
}

func (t trail) set(name string) trail {
	return trail{t.applications, append(slices.Clone(t.sets), name)}
}

// met is a component with the Application it stands for.
type met struct {
	component   component.Component
	destination string
	// application is the index in the setup, -1 for none.
	application int
	// alone is set for an Application that nothing in the repository applies,
	// assumed for one that a set is only supposed to generate.
	alone, assumed bool
}

// walk collects the components of one environment.
type walk struct {
	repository  *Repository
	environment Environment
	met         []met
	setup       argo.Setup
	// applied are the names of all Applications that were met, parents too.
	applied map[string]bool
	// folders are those that Applications come from, with the place of the
	// parent that applies them: disabled ones are looked for there.
	folders map[string]place
	// owners name these parents.
	owners map[string]string
	// generated are the Applications that sets generate.
	generated []document
	// objects are the components of what lies beside the Applications of overlays.
	objects []component.Component
}

func (r *Repository) walk(e Environment) *walk {
	return &walk{repository: r, environment: e, applied: map[string]bool{}, folders: map[string]place{}, owners: map[string]string{}}
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
	if len(e.unapplied) > 0 {
		r.findings = append(r.findings, unapplied(e.unapplied))
	}
	r.findings = append(r.findings, e.idle...)
	w.disabled()
	for _, c := range w.objects {
		for w.applied[c.Name] {
			c.Name += "-objects"
		}
		w.add(c, inCluster, -1)
	}
	components := w.finish()
	found := slices.Concat(folded(distinct(r.findings)), waiting(components))
	return Reading{Components: components, Setup: w.setup, Findings: found}, ctx.Err()
}

// roots reads everything that nothing in the repository applies. Applications
// that lie together in a folder and have sync waves are taken for the children of
// a parent that is elsewhere: without one their waves would mean nothing.
func (w *walk) roots(ctx context.Context) error {
	waves := map[string]bool{}
	for _, root := range w.environment.roots {
		if d := root.document; d.value != nil && d.chart == nil && writtenWave(d).Written != "" {
			waves[path.Dir(d.position().File)] = true
		}
	}
	for _, root := range w.environment.roots {
		at := place{}
		if d := root.document; d.value != nil && d.chart == nil {
			if dir := path.Dir(d.position().File); waves[dir] {
				at = at.below(path.Clean(dir)+"/", w.repository.wave(d))
			}
		}
		if err := w.root(ctx, root, at); err != nil {
			return err
		}
	}
	return nil
}

// root reads one thing that somebody applies by hand.
func (w *walk) root(ctx context.Context, root entry, at place) error {
	switch {
	case root.folder != "":
		err := w.overlay(ctx, root.folder)
		if len(w.environment.roots) == 1 || len(files.InputErrors(err)) == 0 {
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

// tell reports unreadable input as findings.
func (r *Repository) tell(component string, err error) {
	for _, problem := range files.InputErrors(err) {
		f := newFinding(RuleNotRead, finding.Error, problem.Position, component, "%s", problem.Message)
		f.Fix.Summary = problem.Hint
		r.findings = append(r.findings, f)
	}
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
	y, err := r.yieldFolder(ctx, dir, nil, nil)
	if err != nil {
		return err
	}
	y.overlay = dir
	if !y.applies() {
		return &files.InputError{Position: finding.Position{File: dir}, Message: "the overlay yields no Application", Hint: "path names a kustomization, or a folder of YAML, with Applications in it"}
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
func (w *walk) children(ctx context.Context, parent document, y yield, own place, t trail) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read the app-of-apps: %w", err)
	}
	r := w.repository
	name := ""
	if parent.value != nil {
		name = parent.name()
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
			err = w.set(ctx, name, d, own.below(name, r.wave(d)), t)
		case d.isApplication():
			err = w.application(ctx, name, d, own.below(name, r.wave(d)), t)
		case d.argo("AppProject"):
			w.project(d)
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
	if len(generated) > 0 && !slices.ContainsFunc(generated, w.environment.takes) {
		r.findings = r.findings[:before] // it is told where one of its Applications is
		return ctx.Err()
	}
	i := w.recordSet(parent, d)
	r.templateWave(d)
	for _, app := range generated {
		if !w.environment.takes(app) {
			continue
		}
		w.setup.ApplicationSets[i].Applications = append(w.setup.ApplicationSets[i].Applications, app.name())
		if err := w.application(ctx, parent, app, at, t.set(d.name())); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// application reads an Application: a parent, or one that becomes a component.
func (w *walk) application(ctx context.Context, parent string, d document, at place, t trail) error {
	r := w.repository
	if i := slices.Index(t.applications, d.name()); i >= 0 {
		if d.generated != nil && i == len(t.applications)-1 {
			return nil // a set generates what applies the set: Argo CD manages itself
		}
		r.findings = append(r.findings, circle(append(slices.Clone(t.applications[i:]), d.name()), d.position()))
		return nil
	}
	below, err := r.yieldApplication(ctx, d)
	switch {
	case len(files.InputErrors(err)) > 0:
		// What it applies is not known; that is not the end of the others.
		r.tell(d.name(), err)
	case err != nil:
		return err
	}
	w.applied[d.name()] = true
	index := w.recordApplication(parent, d)
	if !below.applies() {
		w.leaf(d, at, index)
		last := &w.met[len(w.met)-1]
		last.alone = parent == "" && d.generated == nil
		last.assumed = d.generated != nil && d.generated.assumed
		last.component.Assumed = last.assumed
		return nil
	}
	if len(t.applications) >= MaxDepth {
		return &files.InputError{Position: d.position(), Message: fmt.Sprintf("the app-of-apps is nested more than %d levels deep", MaxDepth)}
	}
	return w.children(ctx, d, below, at, t.application(d.name()))
}

// others adds the component of what a parent applies next to its Applications.
// Its place is that of the first of these objects.
func (w *walk) others(parent document, y yield, own place) {
	r := w.repository
	first, count := 0, 0
	for _, d := range y.documents {
		// A kustomization and its like are no objects of a cluster.
		if d.name() == "" || d.isArgo() {
			continue
		}
		if wave := r.wave(d); count == 0 || wave < first {
			first = wave
		}
		count++
	}
	switch {
	case count == 0 && !y.more:
		return
	case parent.value == nil:
		w.beside(y, &first)
		return
	}
	at := own.below(parent.name(), first)
	c := w.component(parent, at)
	c.AppOfApps = true
	index := slices.IndexFunc(w.setup.Applications, func(a argo.Application) bool {
		return a.Name == parent.name() && a.Position == parent.position()
	})
	w.add(c, destination(parent), index)
}

// beside adds the component of what an overlay that nothing in the repository
// applies holds next to its Applications: it has the name of the folder. first is
// its sync wave, nil where nothing orders what the overlay holds.
func (w *walk) beside(y yield, first *int) {
	r := w.repository
	if !y.more && !slices.ContainsFunc(y.documents, func(d document) bool { return d.name() != "" && !d.isArgo() }) {
		return
	}
	at := finding.Position{File: kustomizationFile(r.tree, y.overlay), Line: 1}
	src := component.Source{Kind: component.Kustomize, Path: y.overlay}
	if at.File == "" {
		src.Kind = component.Manifests
		for _, d := range slices.Backward(y.documents) {
			at = finding.Position{File: d.position().File, Line: 1}
		}
	}
	src.Position = at
	name := path.Base(y.overlay)
	if y.overlay == "." {
		name = w.environment.Name
	}
	c := component.Component{
		Name: name, Environment: w.environment.Name, Project: "default", Namespace: "default", Phase: component.NoPhase,
		Type: component.Runtime, Enabled: true, AppOfApps: true, Sources: []component.Source{src}, Position: at, Fields: map[string]finding.Position{},
	}
	if first != nil {
		p := place{}.below("", *first)
		c.Waves, c.Parents = p.waves, p.parents
	}
	w.objects = append(w.objects, c)
}

// component is that of an Application at a place.
func (w *walk) component(d document, at place) component.Component {
	if d.chart != nil {
		c := *d.chart
		c.Environment, c.Waves, c.Parents = w.environment.Name, at.waves, at.parents
		return c
	}
	c := w.repository.component(d, w.environment.Name, at.waves)
	c.Parents = at.parents
	if d.generated != nil {
		c.Set, c.Step, c.Phase = d.generated.set.name(), d.generated.step, phaseOf(d)
	}
	return c
}

// leaf adds the component of an Application that applies no Applications.
func (w *walk) leaf(d document, at place, index int) {
	w.add(w.component(d, at), destination(d), index)
}

func (w *walk) add(c component.Component, destination string, index int) {
	w.applied[c.Name] = true
	w.met = append(w.met, met{component: c, destination: destination, application: index})
}

// disabled adds the Applications that are switched off by the name of their
// file and lie next to those of the environment: they keep their place.
func (w *walk) disabled() {
	for _, d := range w.repository.disabled {
		folder := path.Dir(d.position().File)
		own, ok := w.folders[folder]
		if !ok || w.applied[d.name()] {
			continue
		}
		c := w.component(d, own.below(w.owners[folder], w.repository.wave(d)))
		c.Enabled = false
		w.add(c, destination(d), -1)
	}
}

// finish names the components: Applications of one name with several
// destinations take these into their names, others are left out.
func (w *walk) finish() []component.Component {
	places := map[string]map[string]bool{}
	for _, m := range w.met {
		if places[m.component.Name] == nil {
			places[m.component.Name] = map[string]bool{}
		}
		places[m.component.Name][m.destination] = true
	}
	first := map[string]component.Component{}
	var all []component.Component
	twice := sharing{}
	var left []component.Component
	alone := map[string]bool{}
	for _, m := range w.met {
		c := m.component
		if len(places[c.Name]) > 1 {
			c.Name += "@" + m.destination
		}
		if other, ok := first[c.Name]; ok {
			if other.Position == c.Position && reflect.DeepEqual(other.Sources, c.Sources) {
				twice.add(other, c)
				continue
			}
			if m.assumed {
				left = append(left, c)
				continue
			}
			f := descriptor.Duplicate(other, c)
			if m.alone || alone[c.Name] {
				// Whether somebody applies both is not known.
				f.Severity = finding.Warning
			}
			w.repository.findings = append(w.repository.findings, f)
			continue
		}
		first[c.Name], alone[c.Name] = c, m.alone
		all = append(all, c)
		if m.application >= 0 {
			w.setup.Applications[m.application].Component = c.Name
		}
	}
	w.repository.findings = append(w.repository.findings, twice.findings()...)
	if len(left) > 0 {
		w.repository.findings = append(w.repository.findings, namesakes(left))
	}
	w.finishSetup(all)
	return all
}

// destination names the cluster of an Application.
func destination(d document) string {
	if name := d.value.TextAt("spec", "destination", "name"); name != "" {
		return name
	}
	server := d.value.TextAt("spec", "destination", "server")
	if server == "" || strings.TrimSuffix(server, "/") == inClusterServer {
		return inCluster
	}
	_, host, ok := strings.Cut(server, "://")
	return cmp.Or(strings.TrimSuffix(host, "/"), map[bool]string{false: server}[ok])
}

// clusterOf is the cluster of a component.
func clusterOf(d document) string {
	to := destination(d)
	if to == inCluster || hasPlaceholder(to) {
		return ""
	}
	return to
}

// The cluster that Argo CD runs in.
const (
	inCluster       = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)
