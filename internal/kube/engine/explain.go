package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// maxOwnerDepth bounds walks along owner references: a custom resource owns a
// StatefulSet or Deployment, which owns a ReplicaSet, which owns pods.
const maxOwnerDepth = 5

// resourceOf names a live object.
func resourceOf(obj *unstructured.Unstructured) finding.Resource {
	gvk := obj.GroupVersionKind()
	return finding.Resource{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// explain says why an object is not Healthy, in the words of the pods, claims
// and events behind it: "StatefulSet vault: 0 of 1 ready; pod vault-0:
// CreateContainerConfigError: secret \"vault-keys\" not found".
func (o *observer) explain(obj *unstructured.Unstructured, s health.Status) string {
	message := obj.GetKind() + " " + obj.GetName()
	if s.Message != "" {
		message += ": " + s.Message
	} else {
		message += " is " + string(s.Health)
	}
	if detail := o.behind(obj, s.Message); detail != "" {
		message += "; " + detail
	}
	return shorten(message)
}

// behind finds the most telling fact about what an object owns or waits for.
func (o *observer) behind(obj *unstructured.Unstructured, known string) string {
	switch obj.GetKind() {
	case "PersistentVolumeClaim", "Pod":
		if w := o.warning(obj); w != "" && !strings.Contains(known, w) {
			return w
		}
		if obj.GetKind() == "Pod" {
			return o.claims(obj)
		}
		return ""
	}
	if pod, reason := o.worstPod(obj); pod != nil {
		return fmt.Sprintf("pod %s: %s", pod.GetName(), reason)
	}
	// No pod at all: its controller says why in an event, or the ReplicaSet
	// does.
	for _, owner := range append([]*unstructured.Unstructured{obj}, o.descendants(obj, maxOwnerDepth)...) {
		if w := o.warning(owner); w != "" && !strings.Contains(known, w) {
			return w
		}
	}
	return ""
}

// worstPod returns the unready pod with the most to say, and what it says.
func (o *observer) worstPod(obj *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	var silent *unstructured.Unstructured
	for _, pod := range o.descendants(obj, maxOwnerDepth) {
		if pod.GetKind() != "Pod" || !unready(pod) {
			continue
		}
		if reason := o.podReason(pod); reason != "" {
			return pod, reason
		}
		if silent == nil {
			silent = pod
		}
	}
	if silent != nil {
		return silent, "is not ready"
	}
	return nil, ""
}

func unready(pod *unstructured.Unstructured) bool {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	if phase == "Succeeded" {
		return false
	}
	for _, c := range statusConditions(pod) {
		if c["type"] == "Ready" {
			return c["status"] != "True"
		}
	}
	return true
}

// podReason is what a pod says, or the event or claim behind it where it only
// says that it is being created.
func (o *observer) podReason(pod *unstructured.Unstructured) string {
	reason := health.PodReason(pod)
	word, _, _ := strings.Cut(reason, ":")
	switch word {
	case "", "ContainerCreating", "PodInitializing", "ContainersNotReady":
		return cmp.Or(o.warning(pod), o.claims(pod), reason)
	case "Unschedulable":
		if claim := o.claims(pod); claim != "" {
			return reason + "; " + claim
		}
	}
	return reason
}

// claims says which claim of a pod is not bound.
func (o *observer) claims(pod *unstructured.Unstructured) string {
	volumes, _, err := unstructured.NestedFieldNoCopy(pod.Object, "spec", "volumes")
	if err != nil {
		return ""
	}
	list, _ := volumes.([]any)
	for _, v := range list {
		volume, _ := v.(map[string]any)
		source, _ := volume["persistentVolumeClaim"].(map[string]any)
		name, _ := source["claimName"].(string)
		if name == "" {
			continue
		}
		claim := o.get(finding.Resource{Kind: "PersistentVolumeClaim", Namespace: pod.GetNamespace(), Name: name}).object
		if claim == nil {
			continue
		}
		if phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase"); phase == "Bound" {
			continue
		}
		told := "PersistentVolumeClaim " + name + " is not bound"
		if w := o.warning(claim); w != "" {
			told += ": " + w
		}
		return told
	}
	return ""
}

// warning is the newest Warning event about an object: "FailedMount: ...".
func (o *observer) warning(obj *unstructured.Unstructured) string {
	events := o.warnings(obj)
	if len(events) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(eventTime(a), eventTime(b)), strings.Compare(a.GetName(), b.GetName()))
	})
	why, _, _ := unstructured.NestedString(newest.Object, "reason")
	message, _, _ := unstructured.NestedString(newest.Object, "message")
	return strings.TrimPrefix(why+": "+message, ": ")
}

// eventTime is when an event happened last, as text that sorts by time.
func eventTime(event *unstructured.Unstructured) string {
	last, _, _ := unstructured.NestedString(event.Object, "lastTimestamp")
	series, _, _ := unstructured.NestedString(event.Object, "series", "lastObservedTime")
	first, _, _ := unstructured.NestedString(event.Object, "eventTime")
	return cmp.Or(series, last, first, event.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z"))
}

// descendants lists what an object owns, directly or through others, sorted by
// kind and name within a generation.
func (o *observer) descendants(obj *unstructured.Unstructured, depth int) []*unstructured.Unstructured {
	if depth == 0 {
		return nil
	}
	var out []*unstructured.Unstructured
	for _, gvk := range supportKinds() {
		if gvk.Kind != "Event" {
			out = append(out, o.owned(gvk.GroupKind(), obj)...)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetKind(), b.GetKind()), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, child := range slices.Clone(out) {
		if child.GetKind() != "Pod" {
			out = append(out, o.descendants(child, depth-1)...)
		}
	}
	return out
}

// byWorkloads assesses an object without a status by the workloads it owns.
func (o *observer) byWorkloads(ctx context.Context, assess func(context.Context, *unstructured.Unstructured) health.Status, obj *unstructured.Unstructured) health.Status {
	worst := health.Status{Health: rollout.Progressing, Message: "waiting for its workloads"}
	found := false
	for _, child := range o.descendants(obj, 1) {
		switch child.GetKind() {
		case "StatefulSet", "Deployment", "DaemonSet":
			s := assess(ctx, child)
			if s.Health != rollout.Healthy {
				s.Message = child.GetKind() + " " + child.GetName() + ": " + s.Message
			}
			if !found || health.Worse(s.Health, worst.Health) {
				worst, found = s, true
			}
		}
	}
	return worst
}

// owners lists the objects that an object belongs to, itself first, along owner
// references, and the object that an Event is about.
func (o *observer) owners(obj *unstructured.Unstructured, visit func(finding.Resource)) {
	if obj.GetKind() == "Event" && obj.GetAPIVersion() == "v1" {
		about, _, _ := unstructured.NestedStringMap(pick(obj.Object, "involvedObject"), "involvedObject")
		r := referenced(about["apiVersion"], about["kind"], about["namespace"], about["name"])
		visit(r)
		if target := o.get(r).object; target != nil {
			o.climb(target, visit, maxOwnerDepth)
		}
		return
	}
	visit(resourceOf(obj))
	o.climb(obj, visit, maxOwnerDepth)
}

func (o *observer) climb(obj *unstructured.Unstructured, visit func(finding.Resource), depth int) {
	if depth == 0 {
		return
	}
	for _, ref := range obj.GetOwnerReferences() {
		r := referenced(ref.APIVersion, ref.Kind, obj.GetNamespace(), ref.Name)
		k := o.kind(schema.GroupKind{Group: r.Group, Kind: r.Kind})
		if k != nil && !k.namespaced {
			r.Namespace = ""
		}
		visit(r)
		if owner := o.get(r).object; owner != nil {
			o.climb(owner, visit, depth-1)
		}
	}
}

func referenced(apiVersion, kind, namespace, name string) finding.Resource {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return finding.Resource{}
	}
	return finding.Resource{Group: gv.Group, Kind: kind, Namespace: namespace, Name: name}
}

// pick keeps the string fields of one map, so that it can be read as strings.
func pick(object map[string]any, field string) map[string]any {
	out := map[string]any{}
	m, _ := object[field].(map[string]any)
	for k, v := range m {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return map[string]any{field: out}
}

func statusConditions(obj *unstructured.Unstructured) []map[string]any {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	list, _ := value.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
