package orphans

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// States of a Helm release.
const (
	releaseLives = "deployed"
	releaseGone  = "gone"
)

// Annotations and labels that say who applied an object. Source: the native
// engine; Helm, "Labels and Annotations"; Flux, kustomize-controller and
// helm-controller.
const (
	componentMark   = "ladder.rollout-ladder.dev/component"
	releaseMark     = "meta.helm.sh/release-name"
	releaseSpace    = "meta.helm.sh/release-namespace"
	fluxKustomize   = "kustomize.toolkit.fluxcd.io/name"
	fluxHelm        = "helm.toolkit.fluxcd.io/name"
	kubectlApplied  = "kubectl.kubernetes.io/last-applied-configuration"
	ladderScopeHint = "another platform may have applied it"
)

// knowledge is what else the cluster tells about origins.
type knowledge struct {
	// releases are the live Helm releases by namespace and name; releasesKnown is
	// false for namespaces whose Secrets could not be listed.
	releases      map[[2]string]bool
	releasesKnown func(namespace string) bool
	// scopes are the platforms of the components that rollouts applied, from their
	// inventories.
	scopes map[string][]string
	// applications are the live Applications; nil where they could not be listed.
	applications map[string]bool
	// instanceLabels are those in which an Argo CD of the cluster may mark who applies
	// an object.
	instanceLabels []string
	// there reports whether an object is live.
	there map[finding.Resource]bool
	// disabled are the disabled components by what they would render.
	disabled map[finding.Resource]string
}

// originOf says who made an object.
func (k *knowledge) originOf(o live) Origin {
	out := Origin{Kind: Unknown, Managers: managersOf(o)}
	if out.Managers == nil {
		out.Managers = []string{}
	}
	tracked, isTracked := trackedBy(o)
	labelled := k.labelledBy(o)
	switch {
	case o.Annotations[componentMark] != "":
		out.Kind, out.Name = ByLadder, o.Annotations[componentMark]
	case isTracked:
		out.Kind, out.Name = ByArgoCD, tracked.application
	case labelled != "" && slices.ContainsFunc(out.Managers, func(m string) bool { return strings.HasPrefix(m, "argocd") }):
		out.Kind, out.Name = ByArgoCD, labelled
	case o.Labels[fluxKustomize] != "":
		out.Kind, out.Name = ByFlux, "Kustomization "+o.Labels[fluxKustomize]
	case o.Labels[fluxHelm] != "":
		out.Kind, out.Name = ByFlux, "HelmRelease "+o.Labels[fluxHelm]
	case o.Annotations[releaseMark] != "":
		out.Kind, out.Name, out.Namespace = ByHelm, o.Annotations[releaseMark], o.Annotations[releaseSpace]
		switch {
		case k.releases[[2]string{out.Namespace, out.Name}]:
			out.State = releaseLives
		case k.releasesKnown(out.Namespace):
			out.State = releaseGone
		}
	case hasAnnotationPrefix(o, "helm.sh/hook") && slices.ContainsFunc(out.Managers, func(m string) bool { return strings.EqualFold(m, "helm") }):
		out.Kind = ByHelm
	case o.Annotations[kubectlApplied] != "", slices.ContainsFunc(out.Managers, func(m string) bool { return strings.HasPrefix(m, "kubectl") }):
		out.Kind = ByKubectl
	case slices.ContainsFunc(out.Managers, applier.MatchString):
		out.Kind = ByTool
	}
	return out
}

// labelledBy is the Application that an object is marked with in a label.
func (k *knowledge) labelledBy(o live) string {
	for _, label := range k.instanceLabels {
		if name := o.Labels[label]; name != "" {
			return name
		}
	}
	return ""
}

func hasAnnotationPrefix(o live, prefix string) bool {
	for a := range o.Annotations {
		if strings.HasPrefix(a, prefix) {
			return true
		}
	}
	return false
}

// tied reports whether something ties a cluster-wide object to the ladder.
func (x *index) tied(origin Origin) bool {
	switch origin.Kind {
	case ByLadder, ByArgoCD:
		return true
	case ByHelm:
		return slices.Contains(x.namespaces, origin.Namespace)
	}
	return false
}

// data reports whether deleting an object of a kind deletes more than itself, or
// what cannot be made anew.
func data(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// advise proposes what to do about an orphan.
func (x *index) advise(o live, k *knowledge) Orphan {
	out := Orphan{
		Resource: o.resource, Version: o.kind.Version, UID: string(o.UID), Origin: k.originOf(o), Action: Look,
		Data: data(o.kind.GroupKind()), Holds: x.held(o), place: -1, kind: o.kind,
	}
	anywhere := o.resource
	anywhere.Namespace = ""
	disabled := k.disabled[o.resource]
	may := x.may(o.Namespace)
	switch out.Origin.Kind {
	case ByLadder:
		x.adviseApplied(&out, k)
	case ByArgoCD:
		x.adviseTracked(&out, k)
	case ByHelm:
		x.adviseRelease(&out)
	case ByFlux:
		out.Reason = out.Origin.String() + " of Flux manages it; ladder import flux makes a component of it"
	default:
		out.Reason = "no component renders it, and nothing says for whom " + out.Origin.String() + " made it"
	}
	switch {
	case out.Action == Delete && disabled != "" && disabled != out.Origin.Name:
		out.Action, out.Component = Adopt, disabled
		out.Reason = "the disabled component " + disabled + " renders it: enabled, it would take it over"
	case out.Action == Look && disabled != "":
		out.Action, out.Component, out.Command = Adopt, disabled, ""
		out.Reason = "the disabled component " + disabled + " renders it: enabled, it takes it over; else delete it"
	case len(x.elsewhere[anywhere]) > 0 && o.Namespace != "" && out.Action == Look:
		other := x.elsewhere[anywhere][0]
		out.Component = x.objects[other]
		out.Reason = fmt.Sprintf("component %s renders it in namespace %s; this one is in another", out.Component, other.Namespace)
		if k.there[other] {
			out.Reason += ", and the other is there"
		}
	}
	if len(may) > 0 && out.Action != Adopt && out.Origin.Kind != ByLadder && out.Origin.Kind != ByArgoCD {
		out.Action, out.Command = Look, ""
		out.Reason = "it may belong to " + strings.Join(may, ", ") + ", which could not be rendered; " + out.Reason
	}
	if out.Action == Delete && out.Holds {
		out.Action = Look
		out.Reason += "; but it holds what components render"
	}
	if place, ok := x.place[out.Component]; ok {
		out.place = place
	}
	return out
}

// adviseApplied is about what a rollout of Ladder applied.
func (x *index) adviseApplied(out *Orphan, k *knowledge) {
	name := out.Origin.Name
	out.Component = name
	c := x.byName[name]
	switch {
	case c != nil && k.foreign(x, name):
		out.Reason = "a component " + name + " applied it; " + ladderScopeHint
	case c != nil && slices.Contains(x.Unrendered, name):
		out.Reason = "component " + name + " applied it and could not be rendered: it may render it still"
	case c != nil && !c.Enabled:
		out.Action, out.Reason = Delete, "component "+name+" applied it and is disabled"
	case c != nil:
		out.Action, out.Reason = Delete, "component "+name+" applied it and does not render it any more"
	case len(k.scopes[name]) > 0 && !k.foreign(x, name):
		out.Action, out.Reason = Delete, "component "+name+" applied it and is not in the repository any more"
	default:
		out.Reason = "component " + name + ", which the repository lacks, applied it; " + ladderScopeHint
	}
}

// foreign reports whether a rollout of another platform has applied a component of
// this name.
func (k *knowledge) foreign(x *index, name string) bool {
	return slices.ContainsFunc(k.scopes[name], func(scope string) bool { return scope != x.Environment && scope != x.Rollout })
}

// adviseTracked is about what Argo CD tracks.
func (x *index) adviseTracked(out *Orphan, k *knowledge) {
	name := out.Origin.Name
	c := x.byName[name]
	if c == nil { // generated Applications may carry their environment
		for _, short := range []string{strings.TrimPrefix(name, x.Environment+"-"), strings.TrimSuffix(name, "-"+x.Environment)} {
			if x.byName[short] != nil {
				c = x.byName[short]
			}
		}
	}
	switch {
	case c != nil && slices.Contains(x.Unrendered, c.Name):
		out.Component, out.Reason = c.Name, "Application "+name+" applied it, whose component could not be rendered: it may render it still"
	case c != nil && !c.Enabled:
		out.Component, out.Action, out.Reason = c.Name, Delete, "Application "+name+" applied it; its component is disabled"
	case c != nil:
		out.Component, out.Action, out.Reason = c.Name, Delete, "Application "+name+" applied it; its component does not render it any more, and it was not pruned"
	case k.applications == nil:
		out.Reason = "Application " + name + ", which is no component, applied it; whether it lives is not known"
	case k.applications[name]:
		out.Reason = "Application " + name + " manages it and is no component of this environment; ladder import argocd makes one of it"
	default:
		out.Action, out.Reason = Delete, "Application "+name+" applied it and is gone"
	}
}

// adviseRelease is about what Helm installed.
func (x *index) adviseRelease(out *Orphan) {
	release := out.Origin
	by := x.releases[[2]string{release.Namespace, release.Name}]
	switch {
	case release.Name == "":
		out.Reason = "a hook of a Helm release that is not told"
	case by != "" && slices.Contains(x.Unrendered, by):
		out.Component, out.Reason = by, "Helm release "+release.Name+" installed it; component "+by+" renders that release and could not be rendered whole"
	case by != "":
		out.Component, out.Action = by, Delete
		out.Reason = "Helm release " + release.Name + " installed it; component " + by + " took the release over and does not render it"
	case release.State == releaseGone:
		out.Action, out.Reason = Delete, "Helm release "+release.Name+" installed it and is gone"
	case release.State == releaseLives:
		out.Action = Adopt
		out.Reason = "Helm release " + release.Name + " is installed and no component renders it: make one (ladder new component), or uninstall it"
		out.Command = "helm uninstall " + release.Name + " --namespace " + release.Namespace
	default:
		out.Reason = "Helm release " + release.Name + " installed it; whether it is installed still is not known"
	}
}

// held reports whether deleting an object would delete what components render.
func (x *index) held(o live) bool {
	switch o.kind.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		for r := range x.objects {
			if r.Namespace == o.Name {
				return true
			}
		}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		plural, group, _ := strings.Cut(o.Name, ".")
		for gk := range x.kinds {
			if gk.Group == group && isPlural(plural, gk.Kind) {
				return true
			}
		}
	}
	return false
}

// isPlural reports whether a plural may be that of a kind. It errs on the side of
// yes: the first letters are enough.
func isPlural(plural, kind string) bool {
	stem := strings.ToLower(kind)
	stem = stem[:max(1, len(stem)-2)]
	return strings.HasPrefix(plural, stem)
}
