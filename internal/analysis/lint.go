package analysis

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// syncOptionsAnnotation holds the sync options of one object. Source: Argo CD
// user guide, "Sync Options".
const syncOptionsAnnotation = "argocd.argoproj.io/sync-options"

// Lint is what rules judge.
func (r *Result) Lint() lint.Input {
	in := lint.Input{
		Environment: r.Platform.Environment, Ladder: r.Platform.Ladder, Components: r.Platform.Components,
		Dependencies: r.Dependencies, Missing: r.Missing, Lacks: r.Lacks, Edges: r.Edges, Argo: r.Argo, Flux: r.Platform.Flux, Findings: r.Findings,
		ByHand: r.byHand, Created: r.created, Installations: r.Installations, Certain: r.certain, Written: r.namesWritten(), LeftOut: r.commandsLeft,
	}
	if r.Platform.Flux == nil { // which takes the releases of Helm over
		in.Helmfile = func() []lint.Release { return r.releases(r.Platform.Environment) }
	}
	for _, e := range r.Unrendered {
		if !slices.Contains(in.Unrendered, e.Component) {
			in.Unrendered = append(in.Unrendered, e.Component)
		}
	}
	versioned := hasEarly(r.Platform.Components)
	for _, c := range r.Platform.Components {
		if c.Enabled {
			applied, unapplied := r.lintObjects(c, versioned)
			if objects, rendered := r.Objects[c.Name]; rendered && len(objects) == 0 {
				in.Empty = append(in.Empty, c.Name)
			}
			in.Objects, in.Unapplied = append(in.Objects, applied...), append(in.Unapplied, unapplied...)
			in.Waits = append(in.Waits, r.waits(c)...)
			for _, o := range r.Placed[c.Name] {
				resource := o.Resource()
				if !r.isPassedOver(o) && !strings.Contains(resource.Namespace+resource.Name, "$") {
					in.Own = append(in.Own, lint.Object{Component: c.Name, Resource: resource, Position: o.Origin.Position(), Digest: digest(o)})
				}
			}
		}
	}
	return in
}

// digest is of the spec of an object.
func digest(o manifest.Object) string {
	spec, err := json.Marshal(o.Object["spec"])
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(spec)
	return string(sum[:])
}

// appliesAnnotation says how Flux applies an object. Source: kustomize-controller, "Controlling the apply
// behavior of resources".
const appliesAnnotation = "kustomize.toolkit.fluxcd.io/ssa"

// lintObjects are the objects of a component that a sync applies, and those that it
// does not; versioned ones have their versions.
func (r *Result) lintObjects(c model.Component, versioned bool) (applied, unapplied []lint.Object) {
	objects := r.Objects[c.Name]
	if objects == nil {
		objects = r.Partial[c.Name]
	}
	places, isApplied := manifest.SyncPlaces(objects)
	for i, o := range objects {
		if !isApplied[i] {
			unapplied = append(unapplied, lint.Object{Component: c.Name, Resource: o.Resource(), Position: o.Origin.Position(), HelmTest: manifest.IsHelmTest(o.Unstructured)})
			continue
		}
		gk := o.GroupVersionKind().GroupKind()
		health := r.assess.by(gk, c.Health)
		applied = append(applied, lint.Object{
			Component: c.Name, Resource: o.Resource(), SyncOptions: syncOptions(o), Labels: o.GetLabels(),
			Place:    dependency.Place{Hook: int(places[i].Phase), Wave: places[i].Wave, Kind: places[i].Kind, IsHook: places[i].Hook},
			Wave:     manifest.SyncWave(o.Unstructured),
			Health:   health,
			Deadline: deadline(o),
			HelmTest: manifest.IsHelmTest(o.Unstructured),
			Inert:    inert(o, health == byConfiguration),
			Once:     o.GetAnnotations()[appliesAnnotation] == "IfNotPresent" || o.GetAnnotations()[appliesAnnotation] == "Ignore",
			Position: o.Origin.Position(),
			Images:   r.images(c, o),
		})
		if versioned {
			applied[len(applied)-1].Versions = versions(o)
		}
	}
	return applied, unapplied
}

// waits are what the charts of a component wait for by themselves.
func (r *Result) waits(c model.Component) []lint.Wait {
	objects := r.Objects[c.Name]
	places, applied := manifest.SyncPlaces(objects)
	var all []lint.Wait
	for i, o := range objects {
		if applied[i] {
			all = append(all, waits(c.Name, o, places[i].Hook && places[i].Phase == manifest.PreSync)...)
		}
	}
	return all
}

// deadline is how long a Job or a Workflow of Argo may run.
func deadline(o manifest.Object) time.Duration {
	if kind := o.GetKind(); kind != "Job" && kind != "Workflow" {
		return 0
	}
	seconds, _, err := unstructured.NestedInt64(o.Object, "spec", "activeDeadlineSeconds")
	if err != nil || seconds <= 0 || seconds > math.MaxInt32 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func syncOptions(o manifest.Object) []string {
	var out []string
	for _, option := range strings.Split(o.GetAnnotations()[syncOptionsAnnotation], ",") {
		if option = strings.TrimSpace(option); option != "" {
			out = append(out, option)
		}
	}
	return out
}

// assessment says who assesses the health of a kind.
type assessment struct {
	shipped  *health.Shipped
	settings argo.Settings
}

// Who assesses a kind; nobody is "".
const (
	byConfiguration = "configured"
	byWorkload      = "workload"
	byArgoCD        = "builtin"
)

func (a assessment) by(gk schema.GroupKind, checks []model.HealthCheck) string {
	own := slices.ContainsFunc(checks, func(c model.HealthCheck) bool { return c.Group == gk.Group && c.Kind == gk.Kind })
	code, workload := a.shipped.Code(gk)
	switch {
	case own || a.settings.Assesses(gk.Group, gk.Kind):
		return byConfiguration
	case a.settings.Waives(gk.Group, gk.Kind):
		return ""
	case workload:
		return byWorkload
	case code || a.shipped.Script(gk):
		return byArgoCD
	default:
		return ""
	}
}
