package pending

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/plane/quiet"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// timers has the timers of one object.
func timers(kind string, o metav1.Object, w wait, now *time.Time) *Timers {
	t := &Timers{now: func() time.Time { return *now }, waits: map[string]wait{}}
	t.set(kind, o, false, w)
	return t
}

func TestPodWithClaims(t *testing.T) {
	now, bound := noon, false
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0"}}
	all := timers("Pod", pod, ofPod(pod, now, func() bool { return bound }), &now)
	if _, pending := all.Pace(); pending {
		t.Error("a pod whose claims are not bound waits in simulated time")
	}
	now, bound = noon.Add(time.Hour), true
	if pace, _ := all.Pace(); pace != 1 {
		t.Errorf("pace %v, want 1", pace)
	}
	now = now.Add(schedulerTakes)
	if _, pending := all.Pace(); pending {
		t.Error("the timer goes on")
	}
	pod.Spec.NodeName = "node-1"
	if w := ofPod(pod, now, nil); w.runs() {
		t.Error("a pod with a node waits for the scheduler")
	}
}

func TestEndedPodOfJob(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Finalizers: []string{batchv1.JobTrackingFinalizer}},
		Spec:       corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: corev1.PodSucceeded},
	}
	if w := ofPod(pod, noon, nil); !w.runs() || w.pace != standing {
		t.Errorf("pace %v while the Job controller has not counted a pod", w.pace)
	}
	pod.Finalizers = nil
	if w := ofPod(pod, noon, nil); w.runs() {
		t.Errorf("pace %v for a pod that was counted", w.pace)
	}
}

func TestJob(t *testing.T) {
	suspended := true
	for name, tc := range map[string]struct {
		job  batchv1.Job
		want time.Duration // until when from now; 0 for no timer
	}{
		"new":       {batchv1.Job{}, 0},
		"failed":    {batchv1.Job{Status: batchv1.JobStatus{Failed: 1}}, 2*quiet.JobBackOff + slack},
		"thrice":    {batchv1.Job{Status: batchv1.JobStatus{Failed: 3}}, 8*quiet.JobBackOff + slack},
		"often":     {batchv1.Job{Status: batchv1.JobStatus{Failed: 50}}, quiet.MaxJobBackOff + slack},
		"again":     {batchv1.Job{Status: batchv1.JobStatus{Failed: 1, Active: 1}}, 0},
		"counted":   {batchv1.Job{Status: batchv1.JobStatus{Succeeded: 1}}, trackingTakes},
		"suspended": {batchv1.Job{Spec: batchv1.JobSpec{Suspend: &suspended}, Status: batchv1.JobStatus{Failed: 1}}, 0},
		"given up": {batchv1.Job{Status: batchv1.JobStatus{Failed: 1, Conditions: []batchv1.JobCondition{
			{Type: batchv1.JobFailed, Status: corev1.ConditionTrue},
		}}}, 0},
	} {
		w := ofJob(&tc.job, noon)
		if tc.want == 0 && w.runs() || tc.want != 0 && !w.until.Equal(noon.Add(tc.want)) {
			t.Errorf("%s: pace %v until %s, want %s", name, w.pace, w.until.Sub(noon), tc.want)
		}
	}
}

func TestReadyForAWhile(t *testing.T) {
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{MinReadySeconds: 10}, Status: appsv1.DeploymentStatus{ReadyReplicas: 2, AvailableReplicas: 1}}
	if w := ofDeployment(d, noon); w.pace != 1 || !w.until.Equal(noon.Add(10*time.Second+slack)) {
		t.Errorf("pace %v until %s", w.pace, w.until.Sub(noon))
	}
	d.Status.AvailableReplicas = 2
	if w := ofDeployment(d, noon); w.runs() {
		t.Error("all replicas are available, and a timer runs")
	}
}

func TestSlowestPaceCounts(t *testing.T) {
	now := noon
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	all := timers("Job", job, wait{until: noon.Add(time.Second), pace: quiet.JobPace}, &now)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "b", DeletionTimestamp: &metav1.Time{Time: noon}}}
	all.set("Namespace", namespace, false, ofNamespace(namespace))
	if pace, _ := all.Pace(); pace != 1 {
		t.Errorf("pace %v, want that of the namespace, 1", pace)
	}
	all.set("Namespace", namespace, true, ofNamespace(namespace))
	if pace, _ := all.Pace(); pace != quiet.JobPace {
		t.Errorf("pace %v after the namespace is gone", pace)
	}
}

func TestAutoscaler(t *testing.T) {
	a := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon)}}
	if w := ofAutoscaler(a); w.pace != quiet.AutoscalerPace || !w.until.Equal(noon.Add(quiet.AutoscalerPeriod+slack)) {
		t.Errorf("pace %v until %s", w.pace, w.until.Sub(noon))
	}
	a.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale}}
	if w := ofAutoscaler(a); w.runs() {
		t.Error("the controller has looked at it, and a timer runs")
	}
}
