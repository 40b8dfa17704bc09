package engine

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Annotations of Argo CD and Helm that rule a sync. Source: Argo CD user guide,
// "Resource Hooks"; Helm, "Chart Hooks".
const (
	hookDeleteAnnotation = "argocd.argoproj.io/hook-delete-policy"
	optionsAnnotation    = "argocd.argoproj.io/sync-options"
	helmDeleteAnnotation = "helm.sh/hook-delete-policy"
)

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
	phase    manifest.SyncPhase
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
		phases, hook := manifest.SyncPhases(object.Unstructured)
		for _, p := range phases {
			t := &task{
				object: object, resource: object.Resource(), phase: p, wave: manifest.SyncWave(object.Unstructured), hook: hook,
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

// policiesOf returns the delete policies of a hook, BeforeHookCreation where
// none is written.
func policiesOf(obj *unstructured.Unstructured) []deletePolicy {
	var out []deletePolicy
	annotations := obj.GetAnnotations()
	for _, name := range manifest.Words(annotations[hookDeleteAnnotation] + "," + annotations[helmDeleteAnnotation]) {
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
	return out
}

// hookName is the name of a hook. One with generateName gets a name that is the
// same for the whole revision, so that a resumed sync finds it again.
func hookName(obj *unstructured.Unstructured, p manifest.SyncPhase, revision string) string {
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
	first := map[string]manifest.SyncPlace{}
	for _, t := range tasks {
		here := manifest.SyncPlace{Phase: t.phase, Wave: t.wave}
		needs := []string{"crd/" + t.resource.Group + "/" + t.resource.Kind}
		if t.resource.Namespace != "" && t.resource.Kind != "Namespace" {
			needs = append(needs, "namespace/"+t.resource.Namespace)
		}
		for _, need := range needs {
			if at, ok := first[need]; !ok || here.Before(at) {
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
		if at, ok := first[gives]; ok && at.Before(manifest.SyncPlace{Phase: t.phase, Wave: t.wave}) {
			t.phase, t.wave = at.Phase, at.Wave
		}
	}
}

// crdKind returns the kind that a CRD defines.
func crdKind(obj *unstructured.Unstructured) (schema.GroupKind, bool) {
	crd, ok := manifest.ReadCRD(obj)
	return schema.GroupKind{Group: crd.Group, Kind: crd.Kind}, ok
}

func sortTasks(tasks []*task) {
	slices.SortStableFunc(tasks, func(a, b *task) int {
		return cmp.Or(
			cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.wave, b.wave),
			cmp.Compare(manifest.KindRank(a.resource.Kind), manifest.KindRank(b.resource.Kind)),
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
