package manifest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Annotations of Argo CD and Helm that order a sync. Source: Argo CD user guide,
// "Sync Phases and Waves", "Resource Hooks", "Helm"; Helm, "Chart Hooks".
const (
	WaveAnnotation       = "argocd.argoproj.io/sync-wave"
	HookAnnotation       = "argocd.argoproj.io/hook"
	HelmHookAnnotation   = "helm.sh/hook"
	HelmWeightAnnotation = "helm.sh/hook-weight"
)

// SyncPhase is a part of a sync. Phases run in the order of their values.
type SyncPhase int

// The phases of a sync; SyncFail runs only after a failure.
const (
	PreSync SyncPhase = iota
	Sync
	PostSync
	SyncFail
)

// String is the name Argo CD gives the phase.
func (p SyncPhase) String() string {
	return [...]string{"PreSync", "Sync", "PostSync", "SyncFail"}[p]
}

// SyncPlace is where an object stands in the sync of its Application.
type SyncPlace struct {
	Phase SyncPhase
	Wave  int
	// Kind is the rank of its kind inside the wave.
	Kind int
	Hook bool
}

// Before reports whether a sync waits for the health of p before it applies q.
func (p SyncPlace) Before(q SyncPlace) bool {
	return cmp.Or(cmp.Compare(p.Phase, q.Phase), cmp.Compare(p.Wave, q.Wave)) < 0
}

// SyncPhases maps the hook annotations of an object to phases; hook is false for
// an ordinary object. An object without phases is never applied by a sync: a test
// of Helm's, a deletion hook, a hook Skip.
func SyncPhases(o *unstructured.Unstructured) (phases []SyncPhase, hook bool) {
	annotations := annotationsOf(o)
	if text, ok := annotations[HookAnnotation].(string); ok {
		return phasesIn(text, map[string]SyncPhase{"PreSync": PreSync, "Sync": Sync, "PostSync": PostSync, "SyncFail": SyncFail}), true
	}
	text, ok := annotations[HelmHookAnnotation].(string)
	if !ok || slices.Contains(Words(text), "crd-install") { // Helm 2's hook for CRDs: an ordinary object
		return []SyncPhase{Sync}, false
	}
	return phasesIn(text, map[string]SyncPhase{"pre-install": PreSync, "pre-upgrade": PreSync, "post-install": PostSync, "post-upgrade": PostSync}), true
}

// IsHelmTest reports whether an object is a hook that helm test runs. Source: Helm,
// "Chart Tests"; test-success is the older name.
func IsHelmTest(o *unstructured.Unstructured) bool {
	text, _ := annotationsOf(o)[HelmHookAnnotation].(string)
	return slices.ContainsFunc(Words(text), func(w string) bool { return w == "test" || w == "test-success" })
}

// RunAfterSync makes a hook one of PostSync too. Argo CD goes by its own annotation
// alone where there is one.
func RunAfterSync(o *unstructured.Unstructured) {
	phases, _ := SyncPhases(o)
	var names []string
	for _, p := range phases {
		if p != PostSync {
			names = append(names, p.String())
		}
	}
	annotations := o.GetAnnotations()
	annotations[HookAnnotation] = strings.Join(append(names, PostSync.String()), ",")
	o.SetAnnotations(annotations)
}

func phasesIn(text string, names map[string]SyncPhase) []SyncPhase {
	var out []SyncPhase
	for _, name := range Words(text) {
		if p, ok := names[name]; ok && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Words splits a list in an annotation at its commas.
func Words(text string) []string {
	var out []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// annotationsOf reads annotations without the copy that the accessor makes.
func annotationsOf(o *unstructured.Unstructured) map[string]any {
	metadata, _ := o.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}

// SyncWave returns the sync wave of an object; Helm's weight stands in for it.
func SyncWave(o *unstructured.Unstructured) int {
	annotations := annotationsOf(o)
	for _, name := range []string{WaveAnnotation, HelmWeightAnnotation} {
		text, _ := annotations[name].(string)
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	return 0
}

// SyncPlaces returns the first place of every object in the sync of one
// Application. A Namespace or CRD stands where the first object stands that
// needs it, as Argo CD moves it there. applied is false for objects that a sync
// which succeeds never applies.
func SyncPlaces(objects []Object) (places []SyncPlace, applied []bool) {
	places, applied = make([]SyncPlace, len(objects)), make([]bool, len(objects))
	first := map[string]SyncPlace{}
	for i, o := range objects {
		phases, hook := SyncPhases(o.Unstructured)
		slices.Sort(phases)
		if len(phases) == 0 || phases[0] == SyncFail {
			continue
		}
		applied[i] = true
		places[i] = SyncPlace{Phase: phases[0], Wave: SyncWave(o.Unstructured), Kind: KindRank(o.GetKind()), Hook: hook}
		group, _, _ := strings.Cut(o.GetAPIVersion(), "/")
		if !strings.Contains(o.GetAPIVersion(), "/") {
			group = ""
		}
		needs := []string{"crd/" + group + "/" + o.GetKind()}
		if o.Target != "" && o.GetKind() != "Namespace" {
			needs = append(needs, "namespace/"+o.Target)
		}
		for _, need := range needs {
			if at, ok := first[need]; !ok || places[i].Before(at) {
				first[need] = places[i]
			}
		}
	}
	for i, o := range objects {
		gives := ""
		if crd, ok := ReadCRD(o.Unstructured); ok {
			gives = "crd/" + crd.Group + "/" + crd.Kind
		} else if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			gives = "namespace/" + o.GetName()
		}
		if at, ok := first[gives]; ok && gives != "" && applied[i] && at.Before(places[i]) {
			places[i].Phase, places[i].Wave = at.Phase, at.Wave
		}
	}
	return places, applied
}

// KindRank orders kinds inside a wave. Source: gitops-engine, pkg/sync, kind
// order (which is Helm's); kinds that are not listed come last.
func KindRank(kind string) int {
	if i := slices.Index(kindOrder[:], kind); i >= 0 {
		return i
	}
	return len(kindOrder)
}

var kindOrder = [...]string{
	"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
	"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume",
	"PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding",
	"ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod",
	"ReplicationController", "ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob",
	"IngressClass", "Ingress", "APIService",
}
