package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Behaviour is how a pod behaves in simulated time.
type Behaviour struct {
	// Stamp is the real time of a simulated one, which a status has: controllers
	// compare it with their own clock. nil where both are the same.
	Stamp func(time.Time) time.Time
	// Delay is the time from the start of the pod to ready, or to completion, where
	// nothing else of its component has begun. Begin, where it is not nil, is called once
	// when the first container that takes time starts. It returns what the pod takes.
	Delay time.Duration
	Begin func() time.Duration
	Fault settings.FaultKind
	// Examined pods complete only when Result.Examine was answered with a pass.
	Examined bool
	// CrashBackOff is the wait before the first restart of a crashed container;
	// it doubles up to MaxBackOff.
	CrashBackOff, MaxBackOff time.Duration
	// Up and Down are the two times between which a flapping pod alternates.
	Up, Down time.Duration
}

// Memory is what the kubelet remembers of one pod between two looks at it. The
// API server keeps whole seconds; a rehearsal needs finer ones.
type Memory struct {
	UID     types.UID
	mounted bool
	started map[string]time.Time // by container
	ended   map[string]time.Time // init containers that completed
	// takes is what Behaviour.Begin returned while Behaviour.Delay was expected.
	takes, expected time.Duration
	wasReady        bool // before this process remembered it
	// Verdict answers Result.Examine.
	Verdict *Verdict
	said    map[string]bool // events already sent
}

// Verdict is the outcome of a smoke.
type Verdict struct {
	// Failure says what does not hold; empty for a pass.
	Failure string
	At      time.Time
}

// Event is an event to send about the pod.
type Event struct{ Type, Reason, Message string }

// Result is what the kubelet makes of a pod.
type Result struct {
	Status corev1.PodStatus
	Events []Event
	// Waits are the objects that the pod waits for.
	Waits []world.Ref
	// Again is when to look again without any change; 0 for never.
	Again time.Duration
	// Examine asks for the checks of the smoke that the pod stands for.
	Examine bool
}

// Remember makes the memory of a pod that may have run before this process: a
// plane that is kept is started again with the pods it had.
func Remember(pod *corev1.Pod) *Memory {
	m := &Memory{UID: pod.UID, started: map[string]time.Time{}, ended: map[string]time.Time{}, said: map[string]bool{}}
	for _, s := range pod.Status.InitContainerStatuses {
		switch {
		case s.State.Terminated != nil && s.State.Terminated.ExitCode == 0:
			m.started[s.Name] = s.State.Terminated.StartedAt.Time
			m.ended[s.Name] = s.State.Terminated.FinishedAt.Time
		case s.State.Running != nil:
			m.started[s.Name] = s.State.Running.StartedAt.Time
		}
	}
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Running != nil {
			m.started[s.Name] = s.State.Running.StartedAt.Time
		}
	}
	m.mounted = len(m.started) > 0
	m.wasReady = len(pod.Status.ContainerStatuses) > 0 && !slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return !s.Ready })
	return m
}

// warn sends a warning once.
func (m *Memory) warn(r *Result, reason, message string) {
	if key := reason + message; !m.said[key] {
		m.said[key] = true
		r.Events = append(r.Events, Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message})
	}
}

// crashCycle says where a container that crashes after running for a while is:
// how often it was restarted, whether it runs now, and when that changes. The
// waits double from first to most.
func crashCycle(age, running, first, most time.Duration) (restarts int32, runs bool, left, backOff time.Duration) {
	backOff = first
	for {
		if age < running {
			return restarts, true, running - age, backOff
		}
		age -= running
		if restarts > 0 {
			backOff = min(2*backOff, most)
		}
		if age < backOff {
			return restarts, false, backOff - age, backOff
		}
		age -= backOff
		restarts++
	}
}

// flapping says whether a flapping container is ready at an age counted from
// its first readiness, and when that changes.
func flapping(age, up, down time.Duration) (ready bool, left time.Duration) {
	at := age % (up + down)
	if at < up {
		return true, up - at
	}
	return false, up + down - at
}
