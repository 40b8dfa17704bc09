package importer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// ArgoCDOptions say what is imported.
type ArgoCDOptions struct {
	// Path is a folder of the repository.
	Path string
	// Environments are those to import; empty for all.
	Environments []string
	Load         analysis.Options
	// Target is where the platform will lie.
	Target *Target
}

// FromArgoCD makes a platform of a repository of Argo CD Applications. Every step
// of the order that Argo CD keeps becomes one phase, so that the platform is placed
// already.
func FromArgoCD(ctx context.Context, o ArgoCDOptions) (*Platform, error) {
	repository, err := analysis.Look(ctx, o.Path, o.Load)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	names := repository.Environments()
	for _, env := range o.Environments {
		if !slices.Contains(names, env) {
			return nil, yamldoc.Unknown("environment", env, names)
		}
	}
	a := &applications{ctx: ctx, options: o, p: &Platform{Placed: true, Found: map[string]int{}}, names: map[string]string{}, taken: map[string]bool{}}
	for _, env := range names {
		if len(o.Environments) > 0 && !slices.Contains(o.Environments, env) {
			continue
		}
		options := o.Load
		options.Environment = env
		read, err := analysis.Open(ctx, o.Path, options)
		if err != nil {
			return nil, err
		}
		a.platforms = append(a.platforms, read)
		a.p.Environments = append(a.p.Environments, env)
	}
	if err := a.convert(); err != nil {
		return nil, err
	}
	a.p.Files = append(a.p.Files, a.sources.files...)
	return a.p, nil
}

// applications turns Applications into components.
type applications struct {
	ctx       context.Context //nolint:containedctx // it lives as long as one import
	options   ArgoCDOptions
	p         *Platform
	platforms []*repo.Platform
	sources   *sources
	// names are the new names of components, taken those in use.
	names map[string]string
	taken map[string]bool
	// places are the steps of each platform, by component.
	places []map[string]string
}

func (a *applications) convert() error {
	first := a.platforms[0]
	a.sources = newSources(a.ctx, &repofs.Tree{Root: first.Root, Repository: first.Repository}, a.options.Target)
	phases, err := a.steps()
	if err != nil {
		return err
	}
	found := map[[2]string]bool{} // what environments share counts once
	count := func(what, name string) {
		if !found[[2]string{what, name}] {
			found[[2]string{what, name}] = true
			a.p.Found[what]++
		}
	}
	for i, read := range a.platforms {
		for _, app := range read.Argo.Applications {
			count("Applications", app.Name)
		}
		for _, c := range read.Components {
			count("components", c.Name)
		}
		for k := range read.Components {
			c := &read.Components[k]
			phase, ok := phases[a.places[i][c.Name]]
			if !ok && !c.PreArgo {
				phase = model.MaxPhase
				a.p.note(Note{Level: Lost, What: "step", Environment: read.Environment, Component: c.Name, Position: c.Position, Message: "no step matches it, so that Argo CD never syncs it; it is written as disabled, at the end"})
			}
			if err := a.component(read, c, phase, ok || c.PreArgo); err != nil {
				return err
			}
		}
	}
	// A single band without slots: the places are Argo CD's, not ours.
	a.p.Bands = []plan.Band{{Name: "ladder", From: 1, To: model.MaxPhase}}
	return nil
}

// steps gives each step of the order, over all environments, a phase.
func (a *applications) steps() (map[string]model.Phase, error) {
	number := map[string]int{}
	var keys []string
	limits := map[string]string{}
	var edges []dag.Edge
	for _, read := range a.platforms {
		made, err := plan.Build(plan.Input{Environment: read.Environment, Components: read.Components, Ladder: read.Ladder, Policy: rollout.Phases})
		if err != nil {
			return nil, fmt.Errorf("plan environment %s: %w", read.Environment, err)
		}
		places := map[string]string{}
		count := map[string]int{}
		last := -1
		for _, s := range made.Steps {
			if s.Label == "pre" || len(s.Components)+len(s.Disabled) == 0 {
				continue
			}
			label := s.Set + " " + s.Label
			count[label]++
			key := label + "#" + strconv.Itoa(count[label])
			if _, ok := number[key]; !ok {
				number[key] = len(keys)
				keys = append(keys, key)
				limits[key] = s.MaxUpdate
			}
			if last >= 0 {
				edges = append(edges, dag.Edge{From: number[key], To: last})
			}
			last = number[key]
			for _, name := range slices.Concat(s.Components, s.Disabled) {
				places[name] = key
			}
		}
		a.places = append(a.places, places)
	}
	order, ok := dag.New(len(keys), edges).Order()
	if !ok {
		return nil, &repofs.InputError{Message: "the environments contradict each other in their order", Hint: "import them one by one with --environment"}
	}
	spacing := min(10, (int(model.MaxPhase)-1)/max(1, len(order)))
	if spacing == 0 {
		return nil, &repofs.InputError{Message: fmt.Sprintf("there are %d steps, and %d phases", len(order), int(model.MaxPhase))}
	}
	phases := map[string]model.Phase{}
	for k, i := range order {
		phase := model.Phase((k + 1) * spacing)
		phases[keys[i]] = phase
		label := strings.TrimSpace(keys[i][:strings.LastIndexByte(keys[i], '#')])
		a.p.Steps = append(a.p.Steps, Step{Phase: phase, MaxUpdate: cmp.Or(limits[keys[i]], "100%"), Was: label})
		a.p.Groups = append(a.p.Groups, Group{Name: label})
	}
	return phases, nil
}

// name is the new name of a component.
func (a *applications) name(old string) string {
	if name, ok := a.names[old]; ok {
		return name
	}
	name := componentName(old)
	unique := name
	for n := 2; a.taken[unique]; n++ {
		unique = name + "-" + strconv.Itoa(n)
	}
	a.names[old], a.taken[unique] = unique, true
	return unique
}

// component adds a component of an environment.
func (a *applications) component(read *repo.Platform, c *model.Component, phase model.Phase, synced bool) error {
	env := read.Environment
	out := a.add(a.name(c.Name), c, phase)
	d := &Descriptor{
		Project: c.Project, Namespace: c.Namespace, Enabled: c.Enabled && synced, SyncOptions: c.SyncOptions, IgnoreDifferences: c.IgnoreDifferences,
		Retry: c.Retry, Timeout: c.Timeout, Labels: c.Labels, Position: c.Position, Comment: []string{fmt.Sprintf("Application %s of %s, at %s.", c.Name, c.Position.File, c.Order())},
	}
	if phase != out.Phase && !c.PreArgo {
		d.Phase = &phase
	}
	out.In[env] = d
	for _, r := range c.Requires {
		d.Requires = append(d.Requires, a.required(read, r.Text))
	}
	for _, r := range c.Validates {
		d.Validates = append(d.Validates, a.required(read, r.Text))
	}
	if c.AppOfApps {
		return a.objects(read, c, out.Name, d)
	}
	for i := range c.Sources {
		if err := a.source(env, out, c, &c.Sources[i], d, phase); err != nil {
			return err
		}
	}
	if !d.HasSource() && d.Enabled {
		a.note(env, out.Name, c, Lost, "source", "nothing of it can be rendered from this repository, so that it is written as disabled and keeps its place", "add a source and rename the file to component.yaml")
	}
	return nil
}

// add returns the component of a name, made where it is new.
func (a *applications) add(name string, c *model.Component, phase model.Phase) *Component {
	out := a.p.component(name)
	if out == nil {
		group := slices.IndexFunc(a.p.Steps, func(s Step) bool { return s.Phase == phase })
		out = &Component{Name: name, Type: c.Type, Domain: domainName(cmp.Or(c.Domain, c.Labels[domainField], c.Labels[tierField], c.Project)), Group: group, Phase: phase, PreArgo: c.PreArgo, In: map[string]*Descriptor{}}
		a.p.Components = append(a.p.Components, out)
	}
	return out
}

func (a *applications) note(env, name string, c *model.Component, level Level, what, message, hint string) {
	a.p.note(Note{Level: level, What: what, Environment: env, Component: name, Position: c.Position, Message: message, Hint: hint})
}

// required is a requirement with the new name of its component.
func (a *applications) required(read *repo.Platform, text string) string {
	if slices.ContainsFunc(read.Components, func(c model.Component) bool { return c.Name == text }) {
		return a.name(text)
	}
	return text
}

// objects writes what a parent applies beside its Applications.
func (a *applications) objects(read *repo.Platform, c *model.Component, name string, d *Descriptor) error {
	options := a.options.Load
	options.Environment = read.Environment
	_, objects, err := analysis.One(a.ctx, a.options.Path, c.Name, options)
	if err != nil {
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		a.note(read.Environment, name, c, Lost, "app-of-apps", "what it applies beside Applications cannot be rendered: "+oneLine(err.Error()), "add the objects by hand")
		return nil
	}
	content, err := stream(name, objects)
	if err != nil {
		return err
	}
	d.Manifests = path.Join("sources/manifests", read.Environment, name+".yaml")
	a.p.Files = append(a.p.Files, File{Path: d.Manifests, Content: content})
	a.note(read.Environment, name, c, Changed, "app-of-apps", fmt.Sprintf("the %d objects that it applies beside Applications are written as plain manifests", len(objects)), "")
	return nil
}

// source carries one source over. A descriptor has one of each kind: further ones
// become components of their own, at the same place.
func (a *applications) source(env string, out *Component, c *model.Component, s *model.Source, d *Descriptor, phase model.Phase) error {
	name := out.Name
	tell := func(level Level, what, hint, format string, args ...any) {
		a.note(env, name, c, level, what, fmt.Sprintf(format, args...), hint)
	}
	switch {
	case s.Kind == model.Git:
		tell(Lost, "source", "vendor it into the repository", "its source %s of %s is in another repository", s.Name, finding.WithoutCredentials(s.RepoURL))
		return nil
	case s.Kind == model.Plugin || s.Refused != "":
		tell(Lost, "source", "", "its source %s is not carried over: %s", s.Path, cmp.Or(s.Refused, "a plugin renders it"))
		return nil
	}
	if s.Incomplete != "" {
		tell(Lost, "values", "write them into a layer of values", "some values are not known: %s", s.Incomplete)
	}
	if s.Kind == model.Chart && d.Chart != nil || s.Kind == model.Kustomize && d.Kustomize != "" || s.Kind == model.Manifests && d.Manifests != "" {
		further := a.add(a.further(out, env), c, phase)
		tell(Changed, "source", "", "it has several sources of one kind; one becomes %s, at the same place", further.Name)
		copied := *d
		copied.Chart, copied.Kustomize, copied.Manifests, copied.Recurse, copied.Requires, copied.Validates = nil, "", "", false, d.Requires, nil
		further.In[env] = &copied
		name, d = further.Name, &copied
	}
	switch s.Kind {
	case model.Chart:
		return a.chart(name, c, s, d, tell)
	case model.Kustomize:
		return a.kustomize(env, name, s, d, tell)
	default:
		return a.manifests(s, d, tell)
	}
}

// further is a free name for another source of a component.
func (a *applications) further(out *Component, env string) string {
	for n := 2; ; n++ {
		name := out.Name + "-" + strconv.Itoa(n)
		other := a.p.component(name)
		if other == nil || other.In[env] == nil && a.names[name] == "" {
			a.taken[name] = true
			return name
		}
	}
}

type reporter func(level Level, what, hint, format string, args ...any)

func (a *applications) chart(name string, c *model.Component, s *model.Source, d *Descriptor, tell reporter) error {
	chart := &Chart{RepoURL: finding.WithoutCredentials(s.RepoURL), Name: s.Name, Version: s.Version, SkipCRDs: s.SkipCRDs, Values: s.Values, Parameters: s.Parameters}
	if s.Path != "" {
		to, err := a.sources.bring(s.Path, "sources/charts", model.Chart)
		if err != nil {
			tell(Lost, "source", "", "its chart %s cannot be carried over: %s", s.Path, oneLine(err.Error()))
			return nil
		}
		chart = &Chart{Path: to, SkipCRDs: s.SkipCRDs, Values: s.Values, Parameters: s.Parameters}
	}
	if s.ReleaseName != name {
		chart.ReleaseName = s.ReleaseName
	}
	for _, v := range s.ValueFiles {
		to, err := a.valueFile(v.Path)
		switch {
		case err == nil:
			chart.ValueFiles = append(chart.ValueFiles, ValueFile{Path: to, Optional: v.Optional})
		case !v.Optional:
			tell(Lost, "file-missing", "", "its values %s are not carried over: %s", v.Path, oneLine(err.Error()))
		}
	}
	for _, key := range chart.setStrings(s.StringParameters) {
		tell(Lost, "option", "write it into the values as text", "the parameter %s is not carried over", key)
	}
	if s.SkipTests {
		tell(Lost, "option", "leave the tests out by a value of the chart", "its chart has test hooks left out, which is not carried over")
	}
	if s.SkipSchema {
		tell(Lost, "option", "mend the values, or the schema of the chart", "its values are not judged by the schema of the chart, which is not carried over")
	}
	if len(s.FileParameters) > 0 {
		tell(Lost, "option", "write the content into the values", "parameters from files are not carried over")
	}
	if s.Namespace != "" && s.Namespace != c.Namespace {
		tell(Lost, "option", "", "the namespace %s of its release differs from its destination", s.Namespace)
	}
	if s.KubeVersion != "" || len(s.APIVersions) > 0 {
		tell(Lost, "option", "say kubeVersion and apiVersions of the environment in ladder.yaml", "the versions that its chart is told are not carried over")
	}
	d.Chart = chart
	return nil
}

// valueFile is the path of a file of values in the platform.
func (a *applications) valueFile(file string) (string, error) {
	if a.sources.inside {
		return a.sources.reference(file)
	}
	return a.sources.copyFile(file)
}

func (a *applications) kustomize(env, name string, s *model.Source, d *Descriptor, tell reporter) error {
	to, err := a.sources.bring(s.Path, "sources/kustomize", model.Kustomize)
	if err != nil {
		tell(Lost, "source", "", "its kustomization %s cannot be carried over: %s", s.Path, oneLine(err.Error()))
		return nil
	}
	d.Kustomize = to
	if s.Kustomize == nil {
		return nil
	}
	// What the Application sets over the kustomization becomes one of its own.
	d.Kustomize = path.Join("sources/kustomize/overlays", env, name)
	up := strings.Repeat("../", strings.Count(d.Kustomize, "/")+1)
	content := map[string]any{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": []any{up + to}}
	options := *s.Kustomize
	options.Components = nil
	for _, below := range s.Kustomize.Components {
		options.Components = append(options.Components, up+path.Join(to, below))
	}
	options.Apply(content)
	text, err := yamlText(content)
	if err != nil {
		return fmt.Errorf("write the kustomization of %s: %w", name, err)
	}
	a.p.Files = append(a.p.Files, File{Path: path.Join(d.Kustomize, "kustomization.yaml"), Content: text})
	return nil
}

func (a *applications) manifests(s *model.Source, d *Descriptor, tell reporter) error {
	to, err := a.sources.bring(s.Path, "sources/manifests", model.Manifests)
	if err != nil {
		tell(Lost, "source", "", "its manifests %s cannot be carried over: %s", s.Path, oneLine(err.Error()))
		return nil
	}
	d.Manifests, d.Recurse = to, s.Recurse
	if s.Jsonnet != nil {
		tell(Lost, "option", "render the manifests beforehand", "what its Jsonnet is given is not carried over")
	}
	if s.Include != "" || s.Exclude != "" {
		tell(Lost, "option", "move the files into a folder of their own", "include and exclude of %s are not carried over", s.Path)
	}
	return nil
}
