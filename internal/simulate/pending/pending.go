package pending

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Timers are those that run at the moment.
type Timers struct {
	now func() time.Time

	mu    sync.Mutex
	waits map[string]wait // by object
}

// Follow returns the timers of the objects of a world, before it starts.
func Follow(w *world.World, now func() time.Time) *Timers {
	t := &Timers{now: now, waits: map[string]wait{}}
	w.Pods.Watch(func(o *corev1.Pod, deleted bool) { t.set(world.Pods, o, deleted, ofPod(o, now(), claimsBound(w, o))) })
	w.Jobs.Watch(func(o *batchv1.Job, deleted bool) { t.set(world.Jobs, o, deleted, ofJob(o, now())) })
	w.Namespaces.Watch(func(o *corev1.Namespace, deleted bool) { t.set("Namespace", o, deleted, ofNamespace(o)) })
	w.Autoscalers.Watch(func(o *autoscalingv2.HorizontalPodAutoscaler, deleted bool) {
		t.set("HorizontalPodAutoscaler", o, deleted, ofAutoscaler(o))
	})
	w.Deployments.Watch(func(o *appsv1.Deployment, deleted bool) { t.set(world.Deployments, o, deleted, ofDeployment(o, now())) })
	w.StatefulSets.Watch(func(o *appsv1.StatefulSet, deleted bool) {
		t.set(world.StatefulSets, o, deleted, ofStatefulSet(o, now()))
	})
	w.DaemonSets.Watch(func(o *appsv1.DaemonSet, deleted bool) { t.set(world.DaemonSets, o, deleted, ofDaemonSet(o, now())) })
	return t
}

func (t *Timers) set(kind string, o metav1.Object, deleted bool, w wait) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if deleted || !w.runs() {
		delete(t.waits, key(kind, o))
		return
	}
	t.waits[key(kind, o)] = w
}

// claimsBound asks whether every claim of a pod is bound.
func claimsBound(w *world.World, pod *corev1.Pod) func() bool {
	var claims []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			claims = append(claims, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			claims = append(claims, pod.Name+"-"+v.Name)
		}
	}
	return func() bool {
		for _, name := range claims {
			if c := w.Claims.Get(pod.Namespace, name); c == nil || c.Status.Phase != corev1.ClaimBound {
				return false
			}
		}
		return true
	}
}

// Pace is the slowest pace of the timers that run, in simulated seconds for each real
// one; pending is not set where none does.
func (t *Timers) Pace() (pace float64, pending bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	for k, w := range t.waits {
		if w.begins != nil {
			if !w.begins() {
				continue
			}
			w.begins, w.until = nil, now.Add(w.lasts)
			t.waits[k] = w
		}
		switch {
		case !now.Before(w.until):
			delete(t.waits, k)
		case !pending || w.pace < pace:
			pace, pending = w.pace, true
		}
	}
	return pace, pending
}
