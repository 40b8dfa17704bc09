package infer

import (
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// world is what is known of the cluster from all objects together.
type world struct {
	// plurals maps "group/Kind" to the resource name that webhooks and roles use.
	plurals map[string]string
	// groups are the custom groups that the repository holds CRDs of.
	groups map[string]bool
	// scoped are the custom kinds, by "group/Kind", whose scope is known.
	scoped map[string]bool
	// versions maps "group/Kind" to the version it is stored in.
	versions map[string]string
	// labels of the namespaces that objects define, or Argo CD with labels.
	labels map[string]map[string]string
	// workloads by the namespace of their pods.
	workloads map[string][]*object
	// services are those that something provides.
	services map[key]bool
	// makesSecrets are the components whose programs may make Secrets, customIn
	// the namespaces with custom resources from which an operator may make things.
	makesSecrets map[int]bool
	// makesKinds are the components whose programs may make CRDs, registered the groups of
	// the CRDs that these have: more may come of them.
	makesKinds map[int]bool
	registered map[string]bool
	customIn   map[string]bool
	// customNamed are the names of custom resources outside of a namespace of that name:
	// an operator may make the namespace from one.
	customNamed map[string]bool
	// openShift is set where objects are of kinds that only OpenShift serves.
	openShift bool
}

func newWorld(x *index) *world {
	w := &world{plurals: map[string]string{}, groups: map[string]bool{}, scoped: map[string]bool{}, versions: map[string]string{}, labels: map[string]map[string]string{},
		workloads: map[string][]*object{}, services: map[key]bool{}, makesSecrets: map[int]bool{}, makesKinds: map[int]bool{}, registered: map[string]bool{}, customIn: map[string]bool{}, customNamed: map[string]bool{}}
	order := make([]int, len(x.objects))
	for i, at := range x.rank {
		order[at] = i
	}
	for _, i := range order {
		for _, o := range x.objects[i] {
			w.see(o)
		}
	}
	for _, i := range order {
		w.label(&x.in.Components[i])
	}
	return w
}

// label notes the labels of a namespace that Argo CD makes; those of a Namespace
// object, and of the first component, win.
func (w *world) label(c *model.Component) {
	if !c.Enabled || c.Namespace == "" || len(c.NamespaceLabels) == 0 || !c.HasSyncOption("CreateNamespace=true") {
		return
	}
	all := maps.Clone(c.NamespaceLabels)
	maps.Copy(all, w.labels[c.Namespace])
	w.labels[c.Namespace] = all
}

func (w *world) see(o *object) {
	w.openShift = w.openShift || isOpenShift(o)
	switch o.g {
	case "":
		if o.k == "Namespace" {
			w.labels[o.name] = o.GetLabels()
		}
	case "apiextensions.k8s.io":
		crd, ok := manifest.ReadCRD(o.Unstructured)
		if !ok {
			return
		}
		w.groups[crd.Group], w.scoped[crd.Group+"/"+crd.Kind] = true, true
		if crd.Plural != "" {
			w.plurals[crd.Group+"/"+crd.Kind] = crd.Plural
		}
		each(list(o.root(), "spec", "versions"), "", func(v map[string]any, _ string) {
			if truth(v, "storage") {
				w.versions[crd.Group+"/"+crd.Kind] = text(v, "name")
			}
		})
	case "apps":
		switch o.k {
		case "Deployment", "StatefulSet", "DaemonSet":
			w.workloads[o.namespace()] = append(w.workloads[o.namespace()], o)
		}
	case "rbac.authorization.k8s.io":
		each(list(o.root(), "rules"), "", func(rule map[string]any, _ string) {
			if holds(list(rule, "apiGroups"), "") && (holds(list(rule, "resources"), "secrets") || holds(list(rule, "resources"), "configmaps")) && holds(list(rule, "verbs"), "create") {
				w.makesSecrets[o.component] = true
			}
			if holds(list(rule, "apiGroups"), "apiextensions.k8s.io") && holds(list(rule, "resources"), "customresourcedefinitions") && holds(list(rule, "verbs"), "create") {
				w.makesKinds[o.component] = true
			}
		})
	default:
		if customGroup(o.g) && !makesNothing(o.g) && !serverKind(o.g) && !o.is("operators.coreos.com", "OperatorGroup") {
			w.customIn[o.namespace()] = true
			if o.namespace() != o.name && !ownKind(o.g, o.k) {
				w.customNamed[o.name] = true
			}
		}
	}
}

// serverKind reports whether the kinds of a group are served by an API server of
// OpenShift's own, which makes no namespaces from them.
func serverKind(group string) bool {
	return slices.Contains([]string{"apps.openshift.io", "build.openshift.io", "image.openshift.io", "route.openshift.io"}, group)
}

// makesNothing reports whether it is known what the kinds of a group make, so
// that no Secret or account appears unseen.
func makesNothing(group string) bool {
	return slices.Contains([]string{"cert-manager.io", "external-secrets.io", "bitnami.com", "monitoring.coreos.com", "gateway.networking.k8s.io",
		"postgresql.cnpg.io", "traefik.io", "keda.sh", "argoproj.io", "networking.istio.io", "security.istio.io", "snapshot.storage.k8s.io", "cilium.io",
		"metallb.io", "autoscaling.k8s.io", "onepassword.com", "gateway.nginx.org", "gateway.envoyproxy.io", "policy.networking.k8s.io", "externaldns.k8s.io",
		"karpenter.sh", "karpenter.k8s.aws", "networking.gke.io", "cloud.google.com", "elbv2.k8s.aws", "k8s.cni.cncf.io", "projectcalico.org", "longhorn.io",
		"velero.io", "policy.linkerd.io", "secrets.hashicorp.com", "configuration.konghq.com",
		"barmancloud.cnpg.io", "projectcontour.io", "isindir.github.com", "template.openshift.io"}, group)
}

// resources are the names that a kind may have in the rules of webhooks and roles: that of its
// CRD, else all that people choose.
func (w *world) resources(group, kind string) []string {
	if plural, ok := w.plurals[group+"/"+kind]; ok {
		return []string{plural}
	}
	return dependency.ResourceNames(kind)
}

// resource returns the plural of a kind: from its CRD, else by the rule that
// all kinds of Kubernetes follow.
func (w *world) resource(group, kind string) string {
	if plural, ok := w.plurals[group+"/"+kind]; ok {
		return plural
	}
	lower := strings.ToLower(kind)
	switch {
	case lower == "endpoints":
		return lower
	case strings.HasSuffix(lower, "s"), strings.HasSuffix(lower, "x"), strings.HasSuffix(lower, "ch"), strings.HasSuffix(lower, "sh"):
		return lower + "es"
	case strings.HasSuffix(lower, "y") && !strings.HasSuffix(lower, "ay") && !strings.HasSuffix(lower, "ey"):
		return strings.TrimSuffix(lower, "y") + "ies"
	default:
		return lower + "s"
	}
}
