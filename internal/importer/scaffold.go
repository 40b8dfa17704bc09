package importer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/schema"
)

// Scaffold says what component is to be made.
type Scaffold struct {
	Name, Domain, Namespace, Project string
	Type                             model.Type
	// Phase is the place; NoPhase to choose a free one.
	Phase    model.Phase
	Requires []string
	// One of the sources; without any a chart is made.
	ChartPath, RepoURL, ChartName, Version string
	Kustomize, Manifests                   string
	// Environments are those that get the component; empty for all.
	Environments []string
	// NoSmoke leaves the smoke out.
	NoSmoke bool
}

// Scaffolded is a component that was made: its files are not written yet.
type Scaffolded struct {
	// Root is the folder that the files are relative to.
	Root  string
	Files []File
	Phase model.Phase
	// Smoke is the name of its smoke; empty for none.
	Smoke      string
	SmokePhase model.Phase
}

// Make makes the files of a new component of a platform of descriptors.
func (s Scaffold) Make(ctx context.Context, dir string) (*Scaffolded, error) {
	platforms, err := repo.OpenAll(ctx, dir, repo.Options{})
	if err != nil {
		return nil, err
	}
	m := &making{Scaffold: s, out: &Scaffolded{Root: platforms[0].Root}}
	for _, p := range platforms {
		if len(s.Environments) == 0 || slices.Contains(s.Environments, p.Environment) {
			m.platforms = append(m.platforms, p)
		}
	}
	if err := m.check(platforms); err != nil {
		return nil, err
	}
	if err := m.place(); err != nil {
		return nil, err
	}
	if err := m.write(); err != nil {
		return nil, err
	}
	slices.SortFunc(m.out.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return m.out, nil
}

// making is one run of Make.
type making struct {
	Scaffold
	platforms []*repo.Platform
	out       *Scaffolded
}

func (m *making) fail(hint, format string, args ...any) error {
	return &repo.InputError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// check refuses what cannot be made.
func (m *making) check(all []*repo.Platform) error {
	var names []string
	for _, p := range all {
		names = append(names, p.Environment)
	}
	for _, env := range m.Environments {
		if !slices.Contains(names, env) {
			return m.fail("the environments are "+strings.Join(names, ", "), "there is no environment %q", env)
		}
	}
	if m.Name != componentName(m.Name) || len(m.Name) > 200 {
		return m.fail("use lower-case letters, digits, '-' and '.'", "%q is not a valid name of a component", m.Name)
	}
	if !slices.Contains(model.Types(), m.Type) {
		var types []string
		for _, t := range model.Types() {
			types = append(types, string(t))
		}
		return m.fail("choose one of "+strings.Join(types, ", "), "there is no type %q", m.Type)
	}
	for _, p := range all {
		if p.Ladder.Layout == plan.AppOfApps && !slices.ContainsFunc(p.Components, func(c model.Component) bool { return c.Phase >= 0 }) {
			return m.fail("ladder import argocd makes descriptors of Applications", "the platform has no ladder of phases")
		}
		for _, c := range p.Components {
			if c.Name == m.Name || (!m.NoSmoke && m.Type != model.Smoke && c.Name == m.smokeName()) {
				return m.fail("choose another name", "the environment %s has a component %s already, at %s", p.Environment, c.Name, c.Position)
			}
		}
	}
	return nil
}

func (m *making) smokeName() string { return m.Name + "-smoke" }

// band is the band of the domain.
func (m *making) band() (plan.Band, error) {
	var names []string
	for _, b := range m.platforms[0].Ladder.Bands {
		if b.Name == m.Domain {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return plan.Band{}, m.fail("the bands are "+strings.Join(names, ", "), "no band has the domain %q", m.Domain)
}

// place chooses the phases of the component and its smoke.
func (m *making) place() error {
	b, err := m.band()
	if err != nil {
		return err
	}
	least, err := m.afterRequired()
	if err != nil {
		return err
	}
	m.out.Phase = m.Phase
	if m.Phase == model.NoPhase {
		if m.out.Phase, err = m.free(b, m.Type, least); err != nil {
			return err
		}
	} else if m.Phase < b.From || m.Phase > b.To {
		return m.fail(fmt.Sprintf("choose one from %s to %s", b.From, b.To), "the phase %s lies outside the band %s", m.Phase, b.Name)
	}
	if m.NoSmoke || m.Type == model.Smoke {
		return nil
	}
	m.out.Smoke = m.smokeName()
	if m.out.SmokePhase, err = m.free(b, model.Smoke, m.out.Phase+1); err != nil {
		return fmt.Errorf("place the smoke: %w", err)
	}
	return nil
}

// afterRequired is the first phase after everything that is required.
func (m *making) afterRequired() (model.Phase, error) {
	least := model.Phase(0)
	for _, p := range m.platforms {
		for _, name := range m.Requires {
			i := slices.IndexFunc(p.Components, func(c model.Component) bool { return c.Name == name })
			switch {
			case strings.Contains(name, "/"):
			case i < 0:
				return 0, m.fail("ladder inventory lists the components", "the environment %s has no component %q to require", p.Environment, name)
			default:
				least = max(least, p.Components[i].Phase+1)
			}
		}
	}
	return least, nil
}

// free is the best phase of a band for a type, from a least one on: in its slot, or
// the nearest place behind; one that a step matches where the steps are written;
// and, unless it is that of the slot, one that no other type uses.
func (m *making) free(b plan.Band, t model.Type, least model.Phase) (model.Phase, error) {
	used := map[model.Phase]map[model.Type]bool{}
	last := model.NoPhase
	stepped, written := map[model.Phase]bool{}, false
	for _, p := range m.platforms {
		for _, c := range p.Components {
			if c.Phase < b.From || c.Phase > b.To {
				continue
			}
			if used[c.Phase] == nil {
				used[c.Phase] = map[model.Type]bool{}
			}
			used[c.Phase][c.Type] = true
			if c.Type != model.Smoke {
				last = max(last, c.Phase)
			}
		}
		for _, s := range p.Ladder.Steps {
			written = written || s.Position.File != ""
			for _, phase := range s.Phases {
				stepped[phase] = true
			}
		}
	}
	slotted := b.From%100 == 0 && b.To-b.From >= 99
	lowest, highest := bounds(t)
	best, cost := model.NoPhase, 1<<30
	for phase := max(b.From, least); phase <= b.To; phase++ {
		offset := int(phase - b.From)
		this := 0
		switch {
		case written && !stepped[phase]:
			continue
		case t == model.Smoke && (len(used[phase]) > 1 || len(used[phase]) == 1 && !used[phase][t]):
			continue
		case t != model.Smoke && used[phase][model.Smoke]:
			continue
		case t == model.Smoke && phase < last:
			this += 1 << 16
		}
		if slotted {
			if offset%100 < lowest || offset%100 > highest {
				this += 1 << 14
			}
			this += 4 * abs(offset%100-slotOf(t))
		} else {
			this += m.nearest(used, t, phase, b)
		}
		if this < cost {
			best, cost = phase, this
		}
	}
	if best == model.NoPhase || cost >= 1<<14 {
		return best, m.fail("widen the band or add a step to ladder.yaml, or name a phase with --phase", "the band %s has no phase for the type %s from %s on", b.Name, t, max(b.From, least))
	}
	return best, nil
}

func abs(n int) int { return max(n, -n) }

// nearest is how far a phase of a band without slots is from those of its type; for
// a type that the band does not have yet, from where its slot would be.
func (m *making) nearest(used map[model.Phase]map[model.Type]bool, t model.Type, phase model.Phase, b plan.Band) int {
	best := 1 << 12
	for other, types := range used {
		if types[t] {
			best = min(best, abs(int(other-phase)))
		}
	}
	if best < 1<<12 {
		return best
	}
	width := int(b.To-b.From) + 1
	return abs(int(phase-b.From) - slotOf(t)*width/100)
}

// namespace is the one that was named, else that of most of the domain.
func (m *making) namespace() string {
	if m.Namespace != "" {
		return m.Namespace
	}
	count := map[string]int{}
	for _, c := range m.platforms[0].Components {
		if c.Domain == m.Domain && c.Namespace != "" {
			count[c.Namespace]++
		}
	}
	best := m.Name
	for _, name := range sortedKeys(count) {
		if best == m.Name || count[name] > count[best] {
			best = name
		}
	}
	return best
}

// write makes the files.
func (m *making) write() error {
	content, err := schema.Get("component")
	if err != nil {
		return err
	}
	m.add(componentSchema, string(content))
	d := m.descriptor()
	smoke := &Descriptor{Project: m.Project, Namespace: d.Namespace, Enabled: true, Validates: []string{m.Name}}
	for _, p := range m.platforms {
		folder := path.Join("environments", p.Environment, "components")
		if !m.lies(p, folder) {
			continue // it has the components of another environment
		}
		dir := path.Join(folder, m.Domain, m.Name)
		if err := m.one(path.Join(dir, descriptor.FileName), &Component{Name: m.Name, Domain: m.Domain, Type: m.Type, Phase: m.out.Phase}, d, ""); err != nil {
			return err
		}
		if m.out.Smoke != "" {
			dir = path.Join(folder, m.Domain, m.out.Smoke)
			if err := m.one(path.Join(dir, descriptor.FileName), &Component{Name: m.out.Smoke, Domain: m.Domain, Type: model.Smoke, Phase: m.out.SmokePhase}, smoke, m.checks(d)); err != nil {
				return err
			}
		}
	}
	return nil
}

// lies reports whether an environment has a folder of descriptors of its own.
func (m *making) lies(p *repo.Platform, folder string) bool {
	return slices.ContainsFunc(p.Components, func(c model.Component) bool { return strings.HasPrefix(c.Position.File, folder+"/") })
}

func (m *making) add(file, content string) {
	m.out.Files = append(m.out.Files, File{Path: file, Content: []byte(content)})
}

// one writes a descriptor; extra is appended to it.
func (m *making) one(file string, c *Component, d *Descriptor, extra string) error {
	text, err := encode(c.tree(d, c.Phase))
	if err != nil {
		return fmt.Errorf("write the descriptor of %s: %w", c.Name, err)
	}
	m.add(file, schemaLine(file, componentSchema)+fmt.Sprintf("# %s: %s of the band %s.\n", c.Phase, c.Type, m.Domain)+string(text)+extra)
	return nil
}

// descriptor is that of the component.
func (m *making) descriptor() *Descriptor {
	d := &Descriptor{Project: m.Project, Namespace: m.namespace(), Enabled: true, Requires: m.Requires, SyncOptions: []string{"CreateNamespace=true"}}
	switch {
	case m.Kustomize != "":
		d.Kustomize = m.Kustomize
	case m.Manifests != "":
		d.Manifests = m.Manifests
	case m.ChartPath != "":
		d.Chart = &Chart{Path: m.ChartPath}
	case m.ChartName != "":
		d.Chart = &Chart{RepoURL: m.RepoURL, Name: m.ChartName, Version: m.Version}
	case m.Type == model.Smoke:
	default:
		d.Chart = &Chart{Path: path.Join("sources/charts", m.Name)}
		m.stub()
	}
	if d.Chart != nil {
		m.values(d.Chart)
	}
	return d
}

// values writes a file of values for each environment, where the layers of the
// platform look for it.
func (m *making) values(chart *Chart) {
	layered := true
	for _, p := range m.platforms {
		layer := ""
		for _, v := range p.Target().Values {
			if strings.Contains(v.Path, "{{name}}") && strings.Contains(v.Path, "{{environment}}") {
				layer = v.Path
			}
		}
		if layer == "" {
			layered = false
			layer = "sources/values/{{environment}}/{{name}}.yaml"
		}
		file := strings.NewReplacer("{{environment}}", p.Environment, "{{name}}", m.Name, "{{domain}}", m.Domain, "{{namespace}}", m.namespace()).Replace(strings.TrimPrefix(layer, "$values/"))
		m.add(path.Clean(file), fmt.Sprintf("# Values of %s in %s.\n{}\n", m.Name, p.Environment))
	}
	if !layered {
		chart.ValueFiles = []ValueFile{{Path: "sources/values/{{environment}}/" + m.Name + ".yaml", Optional: true}}
	}
}

// stub writes a chart that renders something of the type.
func (m *making) stub() {
	dir := path.Join("sources/charts", m.Name)
	m.add(path.Join(dir, "Chart.yaml"), fmt.Sprintf("apiVersion: v2\nname: %s\nversion: 0.1.0\ndescription: %s of the domain %s.\n", m.Name, m.Type, m.Domain))
	template, values := stubOf(m.Type)
	m.add(path.Join(dir, "values.yaml"), values)
	m.add(path.Join(dir, "templates", cmp.Or(stubName(m.Type), "configmap")+".yaml"), template)
}

func stubName(t model.Type) string {
	switch t {
	case model.Namespaces:
		return "namespaces"
	case model.Operator, model.Runtime:
		return "deployment"
	case model.Bootstrap:
		return "job"
	default:
		return ""
	}
}

// stubOf is a small template of a type, and its values.
func stubOf(t model.Type) (template, values string) {
	switch t {
	case model.Namespaces:
		return "{{- range .Values.namespaces }}\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ . }}\n{{- end }}\n", "namespaces: []\n"
	case model.Operator, model.Runtime:
		return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app.kubernetes.io/name: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app.kubernetes.io/name: {{ .Release.Name }}}
    spec:
      containers:
        - name: main
          image: {{ .Values.image | quote }}
`, "image: registry.example.com/app:0.1.0\nreplicas: 1\n"
	case model.Bootstrap:
		return `apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      containers:
        - name: main
          image: {{ .Values.image | quote }}
`, "image: registry.example.com/job:0.1.0\n"
	default:
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata: {{ .Values.data | toJson }}\n", "data: {}\n"
	}
}

// checks are those of the smoke: of what the stub renders, or of every Deployment
// in the namespace where the source is another.
func (m *making) checks(d *Descriptor) string {
	own := d.Chart != nil && d.Chart.Path == path.Join("sources/charts", m.Name) && m.ChartPath == ""
	switch {
	case own && m.Type == model.Bootstrap:
		return fmt.Sprintf("smoke:\n  - job: {name: %s}\n", m.Name)
	case own && (m.Type == model.Operator || m.Type == model.Runtime):
		return fmt.Sprintf("smoke:\n  - condition: {apiVersion: apps/v1, kind: Deployment, name: %s, conditions: {Available: \"True\"}}\n", m.Name)
	case own && m.Type != model.Namespaces:
		return fmt.Sprintf("smoke:\n  - cel: {apiVersion: v1, kind: ConfigMap, name: %s, expression: \"has(object.metadata)\"}\n", m.Name)
	default:
		return "smoke:\n  - cel: {apiVersion: apps/v1, kind: Deployment, expression: \"objects.all(o, o.status.?readyReplicas.orValue(0) >= o.spec.replicas)\"}\n"
	}
}
