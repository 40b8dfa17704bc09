package kubelet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// initCount counts the init containers that complete.
func initCount(pod *corev1.Pod) int {
	n := 0
	for i := range pod.Spec.InitContainers {
		if !isSidecar(&pod.Spec.InitContainers[i]) {
			n++
		}
	}
	return n
}

func (p *podView) status(c *corev1.Container) corev1.ContainerStatus {
	started := false
	return corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, ImageID: "simulated", Started: &started,
		ContainerID: fmt.Sprintf("simulated://%s/%s", p.pod.UID, c.Name),
	}
}

func (p *podView) waiting(c *corev1.Container, reason, message string) corev1.ContainerStatus {
	s := p.status(c)
	s.ImageID, s.ContainerID = "", ""
	s.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	return s
}

func (p *podView) running(c *corev1.Container, started time.Time) corev1.ContainerStatus {
	s := p.status(c)
	*s.Started = true
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: second(p.behaviour.stamp(started))}
	return s
}

func (p *podView) terminated(started, ended time.Time, code int32, reason, message string) *corev1.ContainerStateTerminated {
	started, ended = p.behaviour.stamp(started), p.behaviour.stamp(ended)
	return &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: message, StartedAt: second(started), FinishedAt: second(ended),
	}
}

func (b Behaviour) stamp(t time.Time) time.Time {
	if b.Stamp == nil {
		return t
	}
	return b.Stamp(t)
}

// second cuts a time to what the API server keeps, so that a status that was
// read back equals the one that was written.
func second(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func statusOf(pod *corev1.Pod, container string) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

// phase is the pod's phase from its containers. Source: k8s.io/kubernetes
// pkg/kubelet/kubelet_pods.go, getPhase.
func phase(pod *corev1.Pod, st *corev1.PodStatus) corev1.PodPhase {
	for i, s := range st.InitContainerStatuses {
		if s.State.Waiting != nil || s.State.Running != nil && !isSidecar(&pod.Spec.InitContainers[i]) {
			return corev1.PodPending
		}
	}
	var fresh, running, succeeded, failed int
	for _, s := range st.ContainerStatuses {
		switch {
		case s.State.Running != nil:
			running++
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			succeeded++
		case s.State.Terminated != nil:
			failed++
		case s.LastTerminationState.Terminated == nil:
			fresh++
		default:
			running++ // waits between two runs
		}
	}
	switch {
	case fresh > 0:
		return corev1.PodPending
	case running > 0:
		return corev1.PodRunning
	case failed > 0:
		return corev1.PodFailed
	default:
		return corev1.PodSucceeded
	}
}

// setConditions sets the kubelet's own conditions and keeps those of others.
// Source: k8s.io/kubernetes pkg/kubelet/status/generate.go.
func setConditions(pod *corev1.Pod, st *corev1.PodStatus, now time.Time) {
	ended := st.Phase == corev1.PodSucceeded || st.Phase == corev1.PodFailed
	set := func(kind corev1.PodConditionType, ok bool, reason, message string) {
		setCondition(st, kind, ok, reason, message, now)
	}

	any := false
	for _, s := range append(st.InitContainerStatuses, st.ContainerStatuses...) {
		any = any || s.State.Waiting == nil || s.LastTerminationState.Terminated != nil || s.State.Waiting.Reason == reasonConfigError
	}
	set(corev1.PodReadyToStartContainers, any && !ended, "", "")

	var uninitialized []string
	for _, s := range st.InitContainerStatuses {
		if !s.Ready && !ended {
			uninitialized = append(uninitialized, s.Name)
		}
	}
	switch {
	case ended && st.Phase == corev1.PodSucceeded:
		set(corev1.PodInitialized, true, "PodCompleted", "")
	case len(uninitialized) > 0:
		set(corev1.PodInitialized, false, "ContainersNotInitialized", containers("incomplete", uninitialized))
	default:
		set(corev1.PodInitialized, true, "", "")
	}

	var unready []string
	for _, s := range st.ContainerStatuses {
		if !s.Ready {
			unready = append(unready, s.Name)
		}
	}
	switch {
	case st.Phase == corev1.PodSucceeded:
		set(corev1.ContainersReady, false, "PodCompleted", "")
		set(corev1.PodReady, false, "PodCompleted", "")
	case st.Phase == corev1.PodFailed:
		set(corev1.ContainersReady, false, "PodFailed", "")
		set(corev1.PodReady, false, "PodFailed", "")
	case len(unready) > 0:
		set(corev1.ContainersReady, false, "ContainersNotReady", containers("unready", unready))
		set(corev1.PodReady, false, "ContainersNotReady", containers("unready", unready))
	default:
		set(corev1.ContainersReady, true, "", "")
		if message := closedGates(pod, st); message != "" {
			set(corev1.PodReady, false, "ReadinessGatesNotReady", message)
		} else {
			set(corev1.PodReady, true, "", "")
		}
	}
}

func containers(what string, names []string) string {
	return fmt.Sprintf("containers with %s status: [%s]", what, strings.Join(names, " "))
}

// closedGates says which readiness gates are not open, empty for none.
func closedGates(pod *corev1.Pod, st *corev1.PodStatus) string {
	var messages []string
	for _, gate := range pod.Spec.ReadinessGates {
		i := indexOf(st.Conditions, gate.ConditionType)
		switch {
		case i < 0:
			messages = append(messages, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case st.Conditions[i].Status != corev1.ConditionTrue:
			messages = append(messages, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, st.Conditions[i].Status))
		}
	}
	return strings.Join(messages, ", ")
}

func setCondition(st *corev1.PodStatus, kind corev1.PodConditionType, ok bool, reason, message string, now time.Time) {
	c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: second(now)}
	if ok {
		c.Status = corev1.ConditionTrue
	}
	i := indexOf(st.Conditions, kind)
	if i < 0 {
		st.Conditions = append(st.Conditions, c)
		return
	}
	old := st.Conditions[i]
	if old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	c.LastProbeTime, c.ObservedGeneration = old.LastProbeTime, old.ObservedGeneration
	st.Conditions[i] = c
}

func indexOf(conditions []corev1.PodCondition, kind corev1.PodConditionType) int {
	for i := range conditions {
		if conditions[i].Type == kind {
			return i
		}
	}
	return -1
}
