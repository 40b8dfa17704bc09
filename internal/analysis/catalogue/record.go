package catalogue

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Recorded is a render that an entry is made from.
type Recorded struct {
	// Entry has what the render does not show: chart, repositories, version,
	// source.
	Entry              Entry
	Release, Namespace string
	Objects            []manifest.Object
}

// Record makes an entry from a render: the CRDs, the workloads with the kinds
// whose status their roles let them write, the webhooks, and what has a name
// that others refer to. It holds for the values that were rendered.
func Record(r Recorded) Entry {
	e := r.Entry
	var crds []CRD
	for _, folder := range []bool{true, false} {
		var part []CRD
		for _, o := range r.Objects {
			if crd, ok := manifest.ReadCRD(o.Unstructured); ok && o.CRDFolder == folder {
				part = append(part, CRD{crd})
			}
		}
		SortCRDs(part)
		part = slices.CompactFunc(part, func(a, b CRD) bool { return a.String() == b.String() })
		if len(part) > 0 {
			e.CRDs = append(e.CRDs, CRDs{List: part, Folder: folder})
			crds = append(crds, part...)
		}
	}
	e.Controllers = r.controllers(crds)
	e.Webhooks = r.webhooks(crds)
	e.Objects = r.objects()
	e.APIGroups = r.apiGroups()
	e.Requires = r.requires(crds)
	return e
}

// name puts marks into a name in place of the release and the namespace.
func (r Recorded) name(text string) string {
	full := r.Release
	if !strings.Contains(r.Release, r.Entry.Chart) {
		full += "-" + r.Entry.Chart
	}
	switch {
	case r.Release == "" || text == "":
		return text
	case text == full || strings.HasPrefix(text, full+"-"):
		return "{fullname}" + text[len(full):]
	case strings.Contains(text, r.Release):
		return strings.ReplaceAll(text, r.Release, "{release}")
	default:
		return text
	}
}

// namespace is empty for that of the component.
func (r Recorded) namespace(o manifest.Object) string {
	ns := o.GetNamespace()
	if ns == r.Namespace {
		return ""
	}
	return ns
}

func (r Recorded) objects() []Object {
	var out []Object
	for _, o := range r.Objects {
		if !madeKinds[o.GetKind()] || o.GetKind() == "ConfigMap" || hookOnly(o) {
			continue
		}
		made := Object{Kind: o.GetKind(), Name: r.name(o.GetName()), Namespace: r.namespace(o)}
		if made.Kind == "Namespace" {
			made.Namespace = ""
			if o.GetName() == r.Namespace {
				made.Name = "{namespace}"
			}
		}
		if made.Kind == "StorageClass" {
			made.Default = o.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true"
			mode, _, _ := unstructured.NestedString(o.Object, "volumeBindingMode")
			made.WaitForFirstConsumer = mode == "WaitForFirstConsumer"
		}
		out = append(out, made)
	}
	slices.SortFunc(out, func(a, b Object) int {
		return strings.Compare(a.Kind+"/"+a.Namespace+"/"+a.Name, b.Kind+"/"+b.Namespace+"/"+b.Name)
	})
	return slices.CompactFunc(out, func(a, b Object) bool { return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name })
}

// hookOnly reports whether an object is deleted again after its hook, so that
// nobody else can use it.
func hookOnly(o manifest.Object) bool {
	a := o.GetAnnotations()
	return a["helm.sh/hook"] != "" && strings.Contains(a["helm.sh/hook-delete-policy"], "hook-succeeded") || strings.Contains(a["helm.sh/hook"], "test") ||
		strings.Contains(a["helm.sh/hook"], "delete")
}

func (r Recorded) apiGroups() []APIGroup {
	var out []APIGroup
	for _, o := range r.Objects {
		if o.GetKind() != "APIService" {
			continue
		}
		if group, _, _ := unstructured.NestedString(o.Object, "spec", "group"); group != "" {
			out = append(out, APIGroup{Group: group})
		}
	}
	slices.SortFunc(out, func(a, b APIGroup) int { return strings.Compare(a.Group, b.Group) })
	return slices.CompactFunc(out, func(a, b APIGroup) bool { return a.Group == b.Group })
}

// requires are the custom kinds among the objects that no CRD of the render
// defines.
func (r Recorded) requires(crds []CRD) []Required {
	var kinds []string
	for _, o := range r.Objects {
		gvk := o.GroupVersionKind()
		if builtinGroup(gvk.Group) || hookOnly(o) || slices.ContainsFunc(crds, func(c CRD) bool { return c.Group == gvk.Group && c.Kind == gvk.Kind }) {
			continue
		}
		kinds = append(kinds, gvk.Group+"/"+gvk.Kind)
	}
	slices.Sort(kinds)
	var out []Required
	for _, k := range slices.Compact(kinds) {
		out = append(out, Required{Kind: k})
	}
	return out
}

// builtinGroup reports whether Kubernetes itself serves a group. Custom groups
// have a dot and do not end in k8s.io, but for those of its special interest
// groups, which are listed.
func builtinGroup(group string) bool {
	if !strings.Contains(group, ".") {
		return true
	}
	if !strings.HasSuffix(group, ".k8s.io") {
		return false
	}
	switch group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io", "authorization.k8s.io",
		"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io",
		"networking.k8s.io", "node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io":
		return true
	}
	return false
}
