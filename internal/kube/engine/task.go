package engine

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Annotations of Argo CD and Helm that order and rule a sync. Source: Argo CD
// user guide, "Sync Phases and Waves", "Resource Hooks", "Helm"; Helm, "Chart
// Hooks".
const (
	waveAnnotation       = "argocd.argoproj.io/sync-wave"
	hookAnnotation       = "argocd.argoproj.io/hook"
	hookDeleteAnnotation = "argocd.argoproj.io/hook-delete-policy"
	optionsAnnotation    = "argocd.argoproj.io/sync-options"
	helmHookAnnotation   = "helm.sh/hook"
	helmWeightAnnotation = "helm.sh/hook-weight"
	helmDeleteAnnotation = "helm.sh/hook-delete-policy"
)

// phase is a part of a sync. Phases run in the order of their values.
type phase int

const (
	preSync phase = iota
	syncPhase
	postSync
	syncFail
)

// String is the name Argo CD gives the phase.
func (p phase) String() string {
	return [...]string{"PreSync", "Sync", "PostSync", "SyncFail"}[p]
}

// deletePolicy says when a hook is deleted.
type deletePolicy int

const (
	beforeHookCreation deletePolicy = iota
	hookSucceeded
	hookFailed
)

// task is one object in one phase of a sync.
type task struct {
	object   manifest.Object
	resource finding.Resource
	phase    phase
	wave     int
	hook     bool
	policies []deletePolicy
	options  options
	// adopters are the components whose object it may become.
	adopters []string
}

// deletes reports whether a hook has a delete policy.
func (t *task) deletes(p deletePolicy) bool { return slices.Contains(t.policies, p) }

// planTasks turns the objects of a component into tasks in the order of a sync:
// phase, wave, kind, name. Objects that a sync never applies (helm tests,
// deletion hooks, hook Skip) are left out.
func planTasks(objects []manifest.Object, component options, revision string) []*task {
	var tasks []*task
	for _, object := range objects {
		phases, hook := phasesOf(object.Unstructured)
		for _, p := range phases {
			t := &task{
				object: object, resource: object.Resource(), phase: p, wave: waveOf(object.Unstructured), hook: hook,
				options: component.with(object.GetAnnotations()[optionsAnnotation]),
			}
			if hook {
				t.policies = policiesOf(object.Unstructured)
				t.resource.Name = hookName(object.Unstructured, p, revision)
			}
			tasks = append(tasks, t)
		}
	}
	pullDependencies(tasks)
	sortTasks(tasks)
	return tasks
}

// phasesOf maps the hook annotations of an object to phases; hook is false for
// an ordinary object.
func phasesOf(obj *unstructured.Unstructured) (phases []phase, hook bool) {
	annotations := obj.GetAnnotations()
	if text, ok := annotations[hookAnnotation]; ok {
		for _, name := range splitList(text) {
			switch name {
			case "PreSync":
				phases = append(phases, preSync)
			case "Sync":
				phases = append(phases, syncPhase)
			case "PostSync":
				phases = append(phases, postSync)
			case "SyncFail":
				phases = append(phases, syncFail)
			}
		}
		return distinct(phases), true
	}
	text, ok := annotations[helmHookAnnotation]
	if !ok {
		return []phase{syncPhase}, false
	}
	for _, name := range splitList(text) {
		switch name {
		case "crd-install":
			// Helm 2's hook for CRDs: an ordinary object.
			return []phase{syncPhase}, false
		case "pre-install", "pre-upgrade":
			phases = append(phases, preSync)
		case "post-install", "post-upgrade":
			phases = append(phases, postSync)
		}
	}
	return distinct(phases), true
}

// waveOf returns the sync wave of an object; Helm's weight stands in for it.
func waveOf(obj *unstructured.Unstructured) int {
	annotations := obj.GetAnnotations()
	for _, key := range []string{waveAnnotation, helmWeightAnnotation} {
		if n, err := strconv.Atoi(strings.TrimSpace(annotations[key])); err == nil {
			return n
		}
	}
	return 0
}

// policiesOf returns the delete policies of a hook, BeforeHookCreation where
// none is written.
func policiesOf(obj *unstructured.Unstructured) []deletePolicy {
	var out []deletePolicy
	annotations := obj.GetAnnotations()
	for _, name := range splitList(annotations[hookDeleteAnnotation] + "," + annotations[helmDeleteAnnotation]) {
		switch name {
		case "BeforeHookCreation", "before-hook-creation":
			out = append(out, beforeHookCreation)
		case "HookSucceeded", "hook-succeeded":
			out = append(out, hookSucceeded)
		case "HookFailed", "hook-failed":
			out = append(out, hookFailed)
		}
	}
	if len(out) == 0 {
		return []deletePolicy{beforeHookCreation}
	}
	return distinct(out)
}

// hookName is the name of a hook. One with generateName gets a name that is the
// same for the whole revision, so that a resumed sync finds it again.
func hookName(obj *unstructured.Unstructured, p phase, revision string) string {
	if name := obj.GetName(); name != "" {
		return name
	}
	short := strings.ToLower(revision)
	if len(short) > 7 {
		short = short[:7]
	}
	return obj.GetGenerateName() + strings.Trim(short+"-"+strings.ToLower(p.String()), "-")
}

// pullDependencies moves a Namespace or CRD of the component to the phase and
// wave of the first object that needs it, as Argo CD does.
func pullDependencies(tasks []*task) {
	type place struct {
		phase phase
		wave  int
	}
	before := func(a, b place) bool { return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.wave, b.wave)) < 0 }
	first := map[string]place{}
	for _, t := range tasks {
		here := place{t.phase, t.wave}
		needs := []string{"crd/" + t.resource.Group + "/" + t.resource.Kind}
		if t.resource.Namespace != "" && t.resource.Kind != "Namespace" {
			needs = append(needs, "namespace/"+t.resource.Namespace)
		}
		for _, need := range needs {
			if at, ok := first[need]; !ok || before(here, at) {
				first[need] = here
			}
		}
	}
	for _, t := range tasks {
		var gives string
		if gk, ok := crdKind(t.object.Unstructured); ok {
			gives = "crd/" + gk.Group + "/" + gk.Kind
		} else if t.resource.Group == "" && t.resource.Kind == "Namespace" {
			gives = "namespace/" + t.resource.Name
		}
		if at, ok := first[gives]; ok && before(at, place{t.phase, t.wave}) {
			t.phase, t.wave = at.phase, at.wave
		}
	}
}

// crdKind returns the kind that a CRD defines.
func crdKind(obj *unstructured.Unstructured) (schema.GroupKind, bool) {
	if obj.GetKind() != "CustomResourceDefinition" || obj.GroupVersionKind().Group != "apiextensions.k8s.io" {
		return schema.GroupKind{}, false
	}
	group, _, _ := unstructured.NestedString(obj.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(obj.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}, group != "" && kind != ""
}

// kindRank orders kinds inside a wave. Source: gitops-engine, pkg/sync, kind
// order (which is Helm's); kinds that are not listed come last.
func kindRank(kind string) int {
	order := [...]string{
		"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
		"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
		"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding",
		"ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod",
		"ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
		"IngressClass", "Ingress", "APIService",
	}
	if i := slices.Index(order[:], kind); i >= 0 {
		return i
	}
	return len(order)
}

func sortTasks(tasks []*task) {
	slices.SortStableFunc(tasks, func(a, b *task) int {
		return cmp.Or(
			cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.wave, b.wave),
			cmp.Compare(kindRank(a.resource.Kind), kindRank(b.resource.Kind)),
			cmp.Compare(a.resource.Name, b.resource.Name),
			cmp.Compare(a.resource.String(), b.resource.String()),
		)
	})
}

// waves cuts sorted tasks at every change of phase or wave.
func waves(tasks []*task) [][]*task {
	return cut(tasks, func(a, b *task) bool { return a.phase == b.phase && a.wave == b.wave })
}

// kinds cuts the tasks of a wave at every change of kind: those of one kind are
// applied together.
func kinds(tasks []*task) [][]*task {
	return cut(tasks, func(a, b *task) bool { return a.resource.Kind == b.resource.Kind })
}

func cut[T any](tasks []T, same func(a, b T) bool) [][]T {
	var out [][]T
	for i, t := range tasks {
		if i == 0 || !same(tasks[i-1], t) {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], t)
	}
	return out
}

func splitList(text string) []string {
	var out []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func distinct[T comparable](items []T) []T {
	var out []T
	for _, item := range items {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}
	return out
}
