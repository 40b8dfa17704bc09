package importer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis/roles"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// HelmfileOptions say what is imported.
type HelmfileOptions struct {
	helmfile.Options
	// Domains are the domains of state files, by name: "22-control-plane".
	Domains map[string]string
	// Target is where the platform will lie.
	Target *Target
	// Time is how much CPU time the state files may take; 0 for DefaultTime.
	Time time.Duration
}

// DefaultTime is how much CPU time all state files together may take.
const DefaultTime = 30 * time.Second

// FromHelmfile makes a platform of Helmfile's releases. It is not placed yet.
func FromHelmfile(ctx context.Context, tree *repofs.Tree, opts HelmfileOptions) (*Platform, error) {
	result, err := evaluate.Helmfile(ctx, tree, opts.Options, cmp.Or(opts.Time, DefaultTime))
	if err != nil {
		return nil, err
	}
	h := &helmfiles{result: result, opts: opts, p: &Platform{Found: map[string]int{}}, sources: newSources(ctx, tree, opts.Target)}
	if err := h.convert(); err != nil {
		return nil, err
	}
	h.p.Files = append(h.p.Files, h.sources.files...)
	return h.p, nil
}

// helmfiles turns releases into components.
type helmfiles struct {
	result  *helmfile.Result
	opts    HelmfileOptions
	p       *Platform
	sources *sources
	// names are the components of releases, by environment and index.
	names map[string][]string
}

func (h *helmfiles) convert() error {
	for _, env := range h.result.Environments {
		h.p.Environments = append(h.p.Environments, env.Name)
		h.p.Found["releases"] = max(h.p.Found["releases"], len(env.Releases))
	}
	h.p.Found["state files"] = len(h.result.Files)
	for _, problem := range h.result.Problems {
		level := Lost
		if problem.Mild {
			level = Told
		}
		h.p.note(Note{
			Level: level, What: string(problem.Kind), Environment: problem.Environment, Component: problem.Release,
			Message: problem.Message, Hint: problem.Hint, Position: problem.Position,
		})
	}
	h.groups()
	h.name()
	for _, env := range h.result.Environments {
		for i := range env.Releases {
			if err := h.release(env, i); err != nil {
				return err
			}
		}
	}
	h.p.StateFiles = h.stateFiles()
	h.p.validate()
	return nil
}

// groups makes one group of the state files of one rank.
func (h *helmfiles) groups() {
	ranks := 0
	for _, g := range h.result.Groups {
		ranks = max(ranks, g.Rank+1)
	}
	h.p.Groups = make([]Group, ranks)
	taken := map[string]bool{}
	for rank := range ranks {
		var names []string
		g := Group{}
		for _, file := range h.result.Groups {
			if file.Rank == rank {
				names = append(names, file.Name)
				g.Position = file.Position
			}
		}
		g.Name = "together"
		if len(names) == 1 {
			g.Name = names[0]
		}
		base := domainName(g.Name)
		g.Name = base
		for n := 2; taken[g.Name]; n++ {
			g.Name = base + "-" + strconv.Itoa(n)
		}
		taken[g.Name] = true
		h.p.Groups[rank] = g
	}
}

// domainName makes a name that can be a folder and a label.
func domainName(name string) string {
	name = strings.Join(roles.Words(name), "-")
	if len(name) > 50 {
		name = strings.Trim(name[:50], "-")
	}
	return cmp.Or(name, "platform")
}

// name gives every release the name of a component: its own, with the namespace,
// the context and a number before it where others have it too, in any environment.
func (h *helmfiles) name() {
	owners := map[string]map[string]bool{}
	for _, env := range h.result.Environments {
		for i := range env.Releases {
			r := &env.Releases[i]
			if owners[r.Name] == nil {
				owners[r.Name] = map[string]bool{}
			}
			owners[r.Name][r.ID()] = true
		}
	}
	h.names = map[string][]string{}
	for _, env := range h.result.Environments {
		taken := map[string]bool{}
		for i := range env.Releases {
			r := &env.Releases[i]
			name := r.Name
			if len(owners[r.Name]) > 1 {
				name = strings.Join([]string{r.KubeContext, r.Namespace, r.Name}, "-")
			}
			name = componentName(name)
			unique := name
			for n := 2; taken[unique]; n++ {
				unique = name + "-" + strconv.Itoa(n)
			}
			taken[unique] = true
			if unique != name {
				h.p.note(Note{Level: Changed, What: "name", Environment: env.Name, Component: unique, Position: r.Position, Message: fmt.Sprintf("two releases are %s; this one becomes %s", r.ID(), unique)})
			}
			h.names[env.Name] = append(h.names[env.Name], unique)
		}
	}
}

// componentName makes a valid name of a component. Source: RFC 1123.
func componentName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' {
			r = '-'
		}
		b.WriteRune(r)
	}
	var parts []string
	for part := range strings.SplitSeq(b.String(), ".") {
		if part = strings.Trim(part, "-"); part != "" {
			parts = append(parts, part)
		}
	}
	name = strings.Join(parts, ".")
	if len(name) > 200 {
		name = strings.Trim(name[:200], "-.")
	}
	return cmp.Or(name, "unnamed")
}

// role is what names tell of a release: in a state file of CRDs, such as 12-crds or one in
// a folder of this name, it is CRDs unless it runs something.
func (h *helmfiles) role(name string, r *helmfile.Release) roles.Role {
	role := roles.Named(name, cmp.Or(r.ChartName, r.Dir))
	isCRDs := func(name string) bool {
		of := roles.Words(name)
		return len(of) > 0 && roles.TypeOfWords(of[len(of)-1:]) == model.CRDs
	}
	ofCRDs := isCRDs(h.result.Groups[r.Group].Name) || isCRDs(path.Base(path.Dir(r.Position.File)))
	if ofCRDs && role.Type != model.Smoke && role.Type != model.Namespaces && !h.runs(r) {
		role.Type = model.CRDs
	}
	return role
}

// mostLooked is how many files of a chart are looked into for a workload.
const mostLooked = 500

// runs reports whether the chart of a release has a workload, as far as its files or
// its name tell.
func (h *helmfiles) runs(r *helmfile.Release) bool {
	if r.Dir == "" {
		return slices.Contains(roles.OperatorCharts(), r.ChartName[strings.LastIndexByte(r.ChartName, '/')+1:])
	}
	files, err := h.sources.tree.Find(h.sources.ctx, r.Dir, func(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" })
	if err != nil {
		return false
	}
	for _, file := range files[:min(len(files), mostLooked)] {
		if text, err := h.sources.tree.Read(file); err == nil && workload.Match(text) {
			return true
		}
	}
	return false
}

var workload = lazyregexp.New(`(?m)^kind: *["']?(Deployment|DaemonSet|StatefulSet)\b`)

// release adds one release to the platform.
func (h *helmfiles) release(env helmfile.Environment, i int) error {
	r := &env.Releases[i]
	name := h.names[env.Name][i]
	c := h.p.component(name)
	if c == nil {
		role := h.role(name, r)
		rank := h.result.Groups[r.Group].Rank
		c = &Component{Name: name, Type: role.Type, Domain: h.domain(role, name, r, rank), Group: rank, Phase: model.NoPhase, In: map[string]*Descriptor{}}
		h.p.Components = append(h.p.Components, c)
	}
	d := &Descriptor{Project: "", Namespace: r.Namespace, Enabled: r.Installed, Timeout: r.Timeout, Position: r.Position}
	if d.Namespace == "" {
		d.Namespace = "default"
		h.p.note(Note{Level: Told, What: "namespace", Environment: env.Name, Component: name, Position: r.Position, Message: "the release names no namespace and lands in the current one of whoever runs Helmfile; default is written"})
	}
	d.Comment = []string{fmt.Sprintf("Release %s of %s.", r.Name, r.Position.File)}
	if r.CreateNamespace {
		d.SyncOptions = []string{"CreateNamespace=true"}
	}
	d.Labels = h.labels(env.Name, name, r)
	for _, need := range r.Needs {
		if need.Release < 0 || need.Release == i {
			continue
		}
		if other := h.names[env.Name][need.Release]; !slices.Contains(d.Requires, other) {
			d.Requires = append(d.Requires, other)
		}
	}
	slices.Sort(d.Requires)
	if err := h.chart(env.Name, name, r, d); err != nil {
		return err
	}
	if !d.HasSource() && d.Enabled {
		h.p.note(Note{Level: Lost, What: "chart", Environment: env.Name, Component: name, Position: r.Position, Message: "its chart is not known, so that it is written as disabled and keeps its place", Hint: "add the chart and rename the file to component.yaml"})
	}
	c.In[env.Name] = d
	return nil
}

// domain is that of the state file or of the release, whichever comes later. A
// database is data, whoever uses it; CRDs of which the release says no domain stand before
// all that may have objects of theirs.
func (h *helmfiles) domain(role roles.Role, name string, r *helmfile.Release, rank int) string {
	if domain, ok := h.opts.Domains[h.p.Groups[rank].Name]; ok {
		return domain
	}
	own := cmp.Or(roles.DomainOf(name, path.Base(cmp.Or(r.ChartName, r.Dir))), "")
	if role.Type == model.Namespaces {
		return "prerequisites"
	}
	if own == "" && role.Type == model.CRDs {
		return "foundation" // nothing says whose they are: before all who may need them
	}
	if own == "data" && role.Type == model.Runtime {
		return own
	}
	file := roles.DomainOf(h.p.Groups[rank].Name)
	if slices.Contains(roles.Words(h.p.Groups[rank].Name), "qa") {
		file = "apps"
	}
	if own == "" {
		return cmp.Or(file, role.Domain)
	}
	bands := ladderfile.DefaultBands()
	at := func(domain string) int {
		return slices.IndexFunc(bands, func(b plan.Band) bool { return b.Name == domain })
	}
	if at(file) > at(own) {
		return file
	}
	return own
}

// labels are those that an Application can have. Source: Kubernetes, "Labels and
// Selectors".
func (h *helmfiles) labels(env, name string, r *helmfile.Release) map[string]string {
	labels := map[string]string{}
	for _, key := range sortedKeys(r.Labels) {
		value := r.Labels[key]
		if validLabelKey(key) && validLabelValue(value) {
			labels[key] = value
			continue
		}
		h.p.note(Note{Level: Lost, What: "label", Environment: env, Component: name, Position: r.Position, Message: fmt.Sprintf("the label %q is not one of Kubernetes", key)})
	}
	return labels
}

func validLabelValue(v string) bool {
	if len(v) > 63 {
		return false
	}
	for i := range len(v) {
		if b := v[i]; !alphanumeric(b) && (i == 0 || i == len(v)-1 || b != '-' && b != '_' && b != '.') {
			return false
		}
	}
	return true
}

func validLabelKey(k string) bool {
	prefix, name, ok := strings.Cut(k, "/")
	if !ok {
		name = prefix
	}
	return name != "" && validLabelValue(name) && !strings.Contains(name, "/") && len(prefix) <= 253
}

func alphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// chart writes the chart of a release with its layers of values.
func (h *helmfiles) chart(env, name string, r *helmfile.Release, d *Descriptor) error {
	if r.Dir != "" {
		kind, err := h.sources.place(r.Dir, d, r.Position)
		if err != nil {
			h.p.note(Note{Level: Lost, What: "chart", Environment: env, Component: name, Position: r.Position, Message: "the chart " + r.Dir + " cannot be carried over: " + oneLine(err.Error())})
			return nil
		}
		if kind != model.Chart {
			if len(r.Values) > 0 || len(r.Set) > 0 {
				h.p.note(Note{Level: Lost, What: "values", Environment: env, Component: name, Position: r.Position, Message: fmt.Sprintf("%s is no chart (%s), so that its values are not carried over", r.Dir, kind)})
			}
			return nil
		}
	} else if r.ChartName != "" {
		d.Chart = &Chart{RepoURL: r.Repository, Name: r.ChartName, Version: r.Version}
		if r.Version == "" {
			h.p.note(Note{Level: Told, What: "version", Environment: env, Component: name, Position: r.Position, Message: "the release names no version of the chart; the newest one is taken each time"})
		}
	}
	if d.Chart == nil {
		return nil
	}
	d.Chart.SkipCRDs = r.SkipCRDs
	if r.Name != name {
		d.Chart.ReleaseName = r.Name
	}
	d.Chart.Parameters = r.Set
	h.strings(env, name, r, d.Chart)
	return h.layers(env, name, r, d.Chart)
}

// strings turns setString into values of the type string.
func (h *helmfiles) strings(env, name string, r *helmfile.Release, chart *Chart) {
	for _, key := range chart.setStrings(r.SetString) {
		h.p.note(Note{Level: Lost, What: "option", Environment: env, Component: name, Position: r.Position, Message: "setString of " + key + " is not carried over", Hint: "write it into the values as text"})
	}
}

// setStrings writes Helm's --set-string pairs as values. It returns the keys that
// are more than names with dots between them.
func (ch *Chart) setStrings(pairs map[string]string) (refused []string) {
	for _, key := range sortedKeys(pairs) {
		if strings.ContainsAny(key, `[]\{},`) {
			refused = append(refused, key)
			continue
		}
		ch.Values = overlay(nil, ch.Values)
		at := ch.Values
		parts := strings.Split(key, ".")
		for _, part := range parts[:len(parts)-1] {
			below, _ := at[part].(map[string]any)
			below = overlay(nil, below)
			at[part] = below
			at = below
		}
		at[parts[len(parts)-1]] = pairs[key]
	}
	return refused
}

// at is where a component is defined, in the first environment that has it.
func (p *Platform) at(c *Component) finding.Position {
	for _, env := range p.Environments {
		if d := c.In[env]; d != nil {
			return d.Position
		}
	}
	return finding.Position{}
}
