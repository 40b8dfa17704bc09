package pending

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/plane/quiet"
)

const (
	// standing is for real work, which takes no simulated time.
	standing = 0
	realPace = 1
	// What a controller does without a timer of its own takes no longer than these.
	trackingTakes  = 10 * time.Second
	schedulerTakes = 3 * time.Second
	namespaceTakes = 15 * time.Second
	// slack is added to a timer whose end is known.
	slack = time.Second
)

// wait is for a timer: until when it may run, in real time, and its pace.
type wait struct {
	until time.Time
	pace  float64
	// begins is asked until it is true: the timer runs from then on for the time lasts.
	begins func() bool
	lasts  time.Duration
}

func none() wait { return wait{} }

func (w wait) runs() bool { return w.begins != nil || !w.until.IsZero() }

// ofPod is for a pod whose claims are bound, which the scheduler looks for once a
// second where their volumes were there before, and for the ended pod of a Job whose controller has not counted it.
func ofPod(pod *corev1.Pod, now time.Time, bound func() bool) wait {
	switch {
	case pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil && len(pod.Spec.SchedulingGates) == 0 && !judged(pod):
		return wait{pace: realPace, begins: bound, lasts: schedulerTakes}
	case pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		if slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) {
			return wait{until: now.Add(trackingTakes), pace: standing}
		}
	}
	return none()
}

func judged(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return true
		}
	}
	return false
}

// ofJob is for a Job whose next pod waits after one that failed, and for one whose
// pods have ended and that has not.
func ofJob(job *batchv1.Job, now time.Time) wait {
	ended := job.Status.Failed + job.Status.Succeeded
	if u := job.Status.UncountedTerminatedPods; u != nil {
		ended += int32(len(u.Failed) + len(u.Succeeded))
	}
	if ended == 0 || job.Status.Active > 0 || job.Status.CompletionTime != nil || job.Spec.Suspend != nil && *job.Spec.Suspend {
		return none()
	}
	for _, c := range job.Status.Conditions {
		if (c.Type == batchv1.JobFailed || c.Type == batchv1.JobComplete) && c.Status == corev1.ConditionTrue {
			return none()
		}
	}
	if job.Status.Failed == 0 {
		return wait{until: now.Add(trackingTakes), pace: standing}
	}
	longest := min(quiet.JobBackOff<<min(job.Status.Failed, 10), quiet.MaxJobBackOff)
	return wait{until: now.Add(longest + slack), pace: quiet.JobPace}
}

// ofNamespace is for a namespace that is being deleted: what it holds is looked for
// again and again.
func ofNamespace(n *corev1.Namespace) wait {
	if n.DeletionTimestamp == nil {
		return none()
	}
	return wait{until: n.DeletionTimestamp.Add(namespaceTakes), pace: realPace}
}

// ofAutoscaler is for an autoscaler that its controller has not looked at.
func ofAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) wait {
	if len(a.Status.Conditions) > 0 {
		return none()
	}
	return wait{until: a.CreationTimestamp.Add(quiet.AutoscalerPeriod + slack), pace: quiet.AutoscalerPace}
}

// ofReady is for a workload whose pods have to stay ready for a while.
func ofReady(least, ready, available int32, now time.Time) wait {
	if least <= 0 || ready <= available {
		return none()
	}
	return wait{until: now.Add(time.Duration(least)*time.Second + slack), pace: realPace}
}

func ofDeployment(d *appsv1.Deployment, now time.Time) wait {
	return ofReady(d.Spec.MinReadySeconds, d.Status.ReadyReplicas, d.Status.AvailableReplicas, now)
}

func ofStatefulSet(s *appsv1.StatefulSet, now time.Time) wait {
	return ofReady(s.Spec.MinReadySeconds, s.Status.ReadyReplicas, s.Status.AvailableReplicas, now)
}

func ofDaemonSet(s *appsv1.DaemonSet, now time.Time) wait {
	return ofReady(s.Spec.MinReadySeconds, s.Status.NumberReady, s.Status.NumberAvailable, now)
}

// key names an object of any kind.
func key(kind string, o metav1.Object) string {
	return kind + "/" + o.GetNamespace() + "/" + o.GetName()
}
