package flux

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Reading is one cluster as a platform.
type Reading struct {
	Components []model.Component
	Setup      *fluxcd.Setup
	Findings   []finding.Finding
	// Namespaces are there before the first component: those that Flux runs in, and those that it
	// makes at the start.
	Namespaces []string
}

// Reading makes components of a cluster: one for each Kustomization and each
// HelmRelease. ok is false where there is no such cluster.
func (r *Result) Reading(cluster string) (out Reading, ok bool) {
	at := slices.IndexFunc(r.Clusters, func(c Cluster) bool { return c.Name == cluster })
	if at < 0 {
		return Reading{}, false
	}
	p := &platform{result: r, cluster: &r.Clusters[at], names: newNames(r.Clusters)}
	p.setup = p.units()
	for i := range p.cluster.Kustomizations {
		p.kustomization(i)
	}
	for i := range p.cluster.Releases {
		p.release(i)
	}
	p.edges()
	p.tell()
	return Reading{Components: p.components, Setup: p.setup, Findings: p.findings, Namespaces: p.cluster.existing()}, true
}

// existing are the namespaces that are there before anything is rolled out: that of the root, those
// that hold the Kustomizations which the root applies, and those of ResourceSets.
func (c *Cluster) existing() []string {
	all := slices.Clone(c.namespaces)
	for i := range c.Kustomizations {
		if k := &c.Kustomizations[i]; (i == 0 || k.Parent == 0) && !slices.Contains(all, k.Namespace) {
			all = append(all, k.Namespace)
		}
	}
	return all
}

type platform struct {
	result     *Result
	cluster    *Cluster
	names      *names
	setup      *fluxcd.Setup
	components []model.Component
	findings   []finding.Finding
}

// workloads are the kinds that take time to be Ready.
var workloads = [...]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "Pod"}

// units are the Kustomizations of the cluster, then its HelmReleases.
func (p *platform) units() *fluxcd.Setup {
	c := p.cluster
	index := map[string]int{}
	for i := range c.Kustomizations {
		index[key("Kustomization", c.Kustomizations[i].Namespace, c.Kustomizations[i].Name)] = i
	}
	for i := range c.Releases {
		index[c.Releases[i].key()] = len(c.Kustomizations) + i
	}
	references := func(kind, remote string, all []Reference) []fluxcd.Reference {
		var out []fluxcd.Reference
		for _, r := range all {
			id := key(kind, r.Namespace, r.Name)
			if kind == "HelmRelease" {
				id = releaseKey(remote, r.Namespace, r.Name)
			}
			unit, known := index[id]
			if !known {
				unit = -1
			}
			out = append(out, fluxcd.Reference{Namespace: r.Namespace, Name: r.Name, Unit: unit, Expression: r.Expression, Position: r.Position})
		}
		return out
	}
	setup := &fluxcd.Setup{Poll: p.result.Poll}
	for i := range c.Kustomizations {
		k := &c.Kustomizations[i]
		u := fluxcd.Unit{
			Kind: fluxcd.Kustomization, Namespace: k.Namespace, Name: k.Name, Parent: k.Parent, DependsOn: references("Kustomization", "", k.DependsOn),
			Wait: k.WaitAll, Checked: len(k.HealthChecks) > 0, Suspended: c.Suspended(i), Retries: true, RetryInterval: k.RetryInterval, Sources: k.Sources, Position: k.Position, Elsewhere: k.KubeConfig != "", Unawaited: c.unawaited[key("Kustomization", k.Namespace, k.Name)],
			Workloads: slices.ContainsFunc(k.Objects, func(o manifest.Object) bool { return slices.Contains(workloads[:], o.GetKind()) }),
		}
		u.Supposed = k.Made && c.gathers
		if p.stands(k) {
			u.Component = p.names.kustomization(k)
		}
		for _, check := range k.HealthChecks {
			if check.Kind == "CustomResourceDefinition" {
				u.CRDs = append(u.CRDs, check.Name)
			}
			id := key(check.Kind, check.Namespace, check.Name)
			if check.Kind == "HelmRelease" {
				id = releaseKey(c.remote(i), check.Namespace, check.Name)
			}
			if unit, ok := index[id]; ok {
				u.Checks = append(u.Checks, unit)
			}
			for _, r := range c.makers(i, check) {
				u.Checks = append(u.Checks, len(c.Kustomizations)+r)
			}
		}
		setup.Units = append(setup.Units, u)
	}
	for i := range c.Releases {
		r := &c.Releases[i]
		setup.Units = append(setup.Units, fluxcd.Unit{
			Kind: fluxcd.HelmRelease, Namespace: r.Namespace, Name: r.Name, Component: p.names.release(r), Parent: r.Kustomization, Also: r.Also,
			DependsOn: references("HelmRelease", r.Remote, r.DependsOn), Wait: r.Waits, Workloads: true,
			Suspended: r.Suspend || c.Suspended(r.Kustomization), Retries: r.Retries, RetryInterval: r.RetryInterval, Position: r.Position,
			Sources: r.Sources, Before: p.before(r), Unawaited: c.unawaited[key("HelmRelease", r.Namespace, r.Name)],
		})
	}
	return setup
}

// makers are the releases of a Kustomization of which one makes the object that a health
// check names, as that does not apply it itself: those that install into its namespace.
func (c *Cluster) makers(k int, check Check) []int {
	if slices.ContainsFunc(c.Kustomizations[k].Objects, func(o manifest.Object) bool {
		return o.GetKind() == check.Kind && o.GetName() == check.Name
	}) {
		return nil
	}
	var all []int
	for i := range c.Releases {
		r := &c.Releases[i]
		if r.Kustomization == k && check.Kind != "HelmRelease" && check.Kind != "Kustomization" && cmp.Or(r.TargetNamespace, r.Namespace) == check.Namespace {
			all = append(all, i)
		}
	}
	return all
}

// before is where a release is installed before Flux runs; the zero value for nowhere.
func (p *platform) before(r *Release) finding.Position {
	for _, b := range p.result.Before {
		if b.Name == r.Name && (b.Namespace == "" || b.Namespace == r.Namespace || r.Chart != "" && b.Chart == r.Chart) {
			return b.Position
		}
	}
	return finding.Position{}
}

// stands reports whether a component stands for a Kustomization: not for one that is
// written nowhere and has nothing but Kustomizations.
func (p *platform) stands(k *Kustomization) bool { return !k.Made || len(k.Objects) > 0 }

// Suspended reports whether a Kustomization, or one above it, is suspended.
func (c *Cluster) Suspended(k int) bool {
	for ; k >= 0; k = c.Kustomizations[k].Parent {
		if c.Kustomizations[k].Suspend {
			return true
		}
	}
	return false
}

// parents are the Kustomizations that apply a unit, from the root.
func (p *platform) parents(unit int) []string {
	var all []string
	for k := p.setup.Units[unit].Parent; k >= 0; k = p.cluster.Kustomizations[k].Parent {
		all = append(all, p.names.kustomization(&p.cluster.Kustomizations[k]))
	}
	slices.Reverse(all)
	return all
}

// remote is the cluster that a Kustomization applies to; empty for that of Flux.
func (c *Cluster) remote(k int) string {
	for ; k >= 0; k = c.Kustomizations[k].Parent {
		if name := c.Kustomizations[k].KubeConfig; name != "" {
			return name
		}
	}
	return ""
}

func (p *platform) component(unit int, namespace string, at finding.Position) model.Component {
	u := &p.setup.Units[unit]
	return model.Component{
		Name: u.Component, Environment: p.cluster.Name, Namespace: namespace, Phase: model.NoPhase, Enabled: !u.Suspended,
		Parents: p.parents(unit), Position: at, Object: true,
	}
}

func (p *platform) kustomization(i int) {
	k := &p.cluster.Kustomizations[i]
	if !p.stands(k) {
		return
	}
	namespace, _ := k.Options["namespace"].(string)
	c := p.component(i, namespace, k.Position)
	c.Cluster, c.Timeout, c.Type = p.cluster.remote(i), k.Timeout, model.Config
	if p.setup.Units[i].Workloads {
		c.Type = model.Runtime
	}
	c.Health = p.health(k)
	switch {
	case k.WaitAll:
		c.Gate = "everything that the Kustomization applies is Ready"
	case len(k.HealthChecks) > 0:
		c.Gate = "the health checks of the Kustomization pass"
	default:
		c.Gate = "the Kustomization is applied"
	}
	src := k.source()
	if k.Path == "" {
		e := k.Elsewhere
		src.Kind, src.As = model.Git, model.Kustomize
		src.RepoURL, src.Name, src.Version = e.URL, e.Path, e.Revision
		if e.Kind != "GitRepository" || e.URL == "" {
			src.Refused = fmt.Sprintf("what it applies is in the %s %s, not in this repository; vendor it, or run Ladder there", e.Kind, e.Name)
		}
		if e.Unwritten {
			src.Refused = fmt.Sprintf("nothing in the repository makes its %s %s, so that what it applies is not known; write that down, or vendor what it holds", e.Kind, e.Name)
		}
		if e.Kind == "" && e.Name == "" {
			src.Refused = sourceless
		}
		if strings.Contains(e.Path, "$") {
			src.Refused = "its path " + e.Path + " has a variable that is not known"
		}
	}
	c.Sources = []model.Source{src}
	p.components = append(p.components, c)
}

// health are the kinds that a Kustomization does not wait for as Argo CD would: all of
// them where it does not wait; else those that Flux takes for Ready without an address.
// Source: github.com/fluxcd/cli-utils, kstatus.
func (p *platform) health(k *Kustomization) []model.HealthCheck {
	if k.WaitAll {
		return []model.HealthCheck{atOnce("", "Service", k.Position), atOnce("networking.k8s.io", "Ingress", k.Position)}
	}
	awaited := map[string]bool{}
	for _, check := range k.HealthChecks {
		awaited[check.Kind] = true
	}
	seen := map[schema.GroupKind]bool{}
	var all []model.HealthCheck
	for _, o := range k.Objects {
		gk := o.GroupVersionKind().GroupKind()
		if !seen[gk] && !awaited[gk.Kind] {
			seen[gk] = true
			all = append(all, atOnce(gk.Group, gk.Kind, k.Position))
		}
	}
	slices.SortFunc(all, func(a, b model.HealthCheck) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
	return all
}

// atOnce says that objects of a kind are Ready as soon as they are applied.
func atOnce(group, kind string, at finding.Position) model.HealthCheck {
	return model.HealthCheck{Group: group, Kind: kind, Lua: `return {status = "Healthy", message = "Flux does not wait for it"}`, Position: at}
}

func (p *platform) release(i int) {
	r := &p.cluster.Releases[i]
	c := p.component(len(p.cluster.Kustomizations)+i, cmp.Or(r.TargetNamespace, r.Namespace), r.Position)
	c.Cluster, c.Timeout, c.Gate = cmp.Or(r.KubeConfig, r.Remote), r.Timeout, "the workloads of the chart are Ready"
	if !r.Waits {
		c.Gate = "the chart is installed"
	}
	c.Health = []model.HealthCheck{atOnce("networking.k8s.io", "Ingress", r.Position)}
	if r.CreateNamespace {
		c.SyncOptions = []string{"CreateNamespace=true"}
	}
	src := model.Source{
		Kind: model.Chart, Path: r.Path, RepoURL: r.Repository, Name: r.Chart, Version: r.Version, ReleaseName: r.ReleaseName,
		Values: r.merged(), SkipCRDs: r.SkipCRDs, Refused: r.Unknown, Position: r.Position,
	}
	if r.Elsewhere {
		src.Kind = model.Git // not here, as opposed to wrong
	}
	incomplete := slices.Clone(r.Incomplete)
	for _, file := range r.ValuesFiles {
		if r.Path == "" {
			incomplete = append(incomplete, "the values of "+file+" in the chart are not read")
			continue
		}
		src.ValueFiles = append(src.ValueFiles, model.ValueFile{Path: file, Position: r.Position})
	}
	whole := len(incomplete) == 0
	for _, w := range r.Withheld {
		if whole {
			src.Withheld = append(src.Withheld, w.Path)
		}
		if !slices.Contains(incomplete, w.Why) {
			incomplete = append(incomplete, w.Why)
		}
	}
	src.Incomplete = strings.Join(incomplete, "; ")
	c.Sources = []model.Source{src}
	p.components = append(p.components, c)
}

// merged are the values of a release, later ones over earlier ones.
func (r *Release) merged() map[string]any {
	var all map[string]any
	for _, values := range r.Values {
		all = over(all, values)
	}
	return all
}

// over puts values over others, which are not changed.
func over(base, values map[string]any) map[string]any {
	out := make(map[string]any, len(base)+len(values))
	maps.Copy(out, base)
	for name, value := range values {
		below, isMap := value.(map[string]any)
		under, wasMap := out[name].(map[string]any)
		if isMap && wasMap {
			value = over(under, below)
		}
		out[name] = value
	}
	return out
}

// Own are the objects of Flux itself among those of a component: they stand for other components,
// or for sources, and land in namespaces as all others do.
func Own(objects []manifest.Object) []manifest.Object {
	return slices.DeleteFunc(slices.Clone(objects), func(o manifest.Object) bool { return !isFlux(o.GroupVersionKind().Group) })
}

// Applied are objects of a component as Flux applies them: what stands for other
// components, or for sources, is no object of its own, and what orders the sync of
// Argo CD orders nothing here.
func Applied(objects []manifest.Object, c model.Component) []manifest.Object {
	chart := len(c.Sources) > 0 && c.Sources[0].Kind == model.Chart
	kept := slices.DeleteFunc(objects, func(o manifest.Object) bool { return isFlux(o.GroupVersionKind().Group) })
	for i, o := range kept {
		annotations := o.GetAnnotations()
		plain := map[string]string{}
		for name, value := range annotations {
			if strings.HasPrefix(name, "argocd.argoproj.io/") || !chart && strings.HasPrefix(name, "helm.sh/hook") {
				continue
			}
			plain[name] = value
		}
		if len(plain) == len(annotations) {
			continue
		}
		if len(plain) == 0 {
			plain = nil
		}
		kept[i].Unstructured = o.DeepCopy()
		kept[i].SetAnnotations(plain)
	}
	return kept
}
