package kubelet

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kubelet's reasons.
const (
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
	reasonConfigError  = "CreateContainerConfigError"
	reasonBackOff      = "CrashLoopBackOff"
	reasonCompleted    = "Completed"
	reasonError        = "Error"
)

// initShare is the part of a pod's delay that its init containers take
// together.
const initShare = 0.2

// Step looks at a pod at a time and says what its status is. It keeps the
// conditions of others. A pod that has ended keeps its status.
func (m *Memory) Step(pod *corev1.Pod, c Cluster, b Behaviour, now time.Time) Result {
	r := Result{Status: *pod.Status.DeepCopy()}
	st := &r.Status
	if st.Phase == corev1.PodSucceeded || st.Phase == corev1.PodFailed {
		return r
	}
	if st.StartTime == nil {
		st.StartTime = &metav1.Time{Time: b.stamp(now).Truncate(time.Second)}
	}
	p := podView{pod: pod, cluster: c, behaviour: b, now: now, memory: m, result: &r}
	p.run()
	st.Phase = phase(pod, st)
	setConditions(pod, st, b.stamp(now))
	return r
}

// podView is one look at a pod.
type podView struct {
	pod       *corev1.Pod
	cluster   Cluster
	behaviour Behaviour
	now       time.Time
	memory    *Memory
	result    *Result
}

func (p *podView) run() {
	st := &p.result.Status
	st.InitContainerStatuses, st.ContainerStatuses = nil, nil
	waiting := reasonCreating
	if len(p.pod.Spec.InitContainers) > 0 {
		waiting = reasonInitializing
	}
	if message, ok := p.mount(); !ok {
		for i := range p.pod.Spec.InitContainers {
			st.InitContainerStatuses = append(st.InitContainerStatuses, p.waiting(&p.pod.Spec.InitContainers[i], waiting, message))
		}
		for i := range p.pod.Spec.Containers {
			st.ContainerStatuses = append(st.ContainerStatuses, p.waiting(&p.pod.Spec.Containers[i], waiting, message))
		}
		return
	}
	initialized := p.initialize()
	for i := range p.pod.Spec.Containers {
		container := &p.pod.Spec.Containers[i]
		if !initialized {
			st.ContainerStatuses = append(st.ContainerStatuses, p.waiting(container, reasonInitializing, ""))
			continue
		}
		st.ContainerStatuses = append(st.ContainerStatuses, p.container(container))
	}
	p.endSidecars()
}

// mount waits for the volumes. The real kubelet leaves the message of a
// container that waits for them empty and tells in events only; here the
// message is in both, so that a client can explain the wait.
func (p *podView) mount() (message string, ok bool) {
	if p.memory.mounted {
		return "", true
	}
	problems := volumeProblems(p.pod, p.cluster)
	for _, problem := range problems {
		text := fmt.Sprintf("MountVolume.SetUp failed for volume %q : %s", problem.volume, problem.message)
		p.memory.warn(p.result, "FailedMount", text)
		p.result.Waits = append(p.result.Waits, problem.ref)
		if message == "" {
			message = text
		}
	}
	p.memory.mounted = len(problems) == 0
	return message, p.memory.mounted
}

// initialize runs the init containers one after the other and reports whether
// all have completed, or, with restartPolicy Always, started.
func (p *podView) initialize() bool {
	st := &p.result.Status
	initialized := true
	for i := range p.pod.Spec.InitContainers {
		container := &p.pod.Spec.InitContainers[i]
		if !initialized {
			st.InitContainerStatuses = append(st.InitContainerStatuses, p.waiting(container, reasonInitializing, ""))
			continue
		}
		status := p.init(container)
		st.InitContainerStatuses = append(st.InitContainerStatuses, status)
		initialized = status.State.Terminated != nil || isSidecar(container) && status.State.Running != nil
	}
	return initialized
}

func (p *podView) init(container *corev1.Container) corev1.ContainerStatus {
	m := p.memory
	started, blocked := p.start(container)
	if blocked != nil {
		return *blocked
	}
	if isSidecar(container) {
		s := p.running(container, started)
		s.Ready = true
		return s
	}
	ended, done := m.ended[container.Name]
	if !done {
		takes := time.Duration(initShare * float64(p.takes()) / float64(initCount(p.pod)))
		if left := started.Add(takes).Sub(p.now); left > 0 {
			p.again(left)
			return p.running(container, started)
		}
		ended = p.now
		m.ended[container.Name] = ended
	}
	s := p.status(container)
	s.Ready = true
	s.State.Terminated = p.terminated(started, ended, 0, reasonCompleted, "")
	return s
}

// start starts a container when everything its environment needs is there, and
// returns when it started, or the status of one that cannot.
func (p *podView) start(container *corev1.Container) (time.Time, *corev1.ContainerStatus) {
	if at, ok := p.memory.started[container.Name]; ok {
		return at, nil
	}
	if problem := containerProblem(p.pod, container, p.cluster); problem != nil {
		p.memory.warn(p.result, "Failed", "Error: "+problem.message)
		p.result.Waits = append(p.result.Waits, problem.ref)
		s := p.waiting(container, reasonConfigError, problem.message)
		return time.Time{}, &s
	}
	p.memory.started[container.Name] = p.now
	return p.now, nil
}

// takes is the time from the start of the pod to ready, or to completion. It stays as it
// was when the pod started, unless something else is expected of it since.
func (p *podView) takes() time.Duration {
	m, b := p.memory, p.behaviour
	switch {
	case m.wasReady:
		return 0
	case b.Begin == nil:
		return b.Delay
	case m.expected == b.Delay:
	case m.expected == 0:
		m.takes = b.Begin()
	default: // its share stays: what is ready must not have to begin again
		m.takes = time.Duration(float64(m.takes) * float64(b.Delay) / float64(m.expected))
	}
	m.expected = b.Delay
	return m.takes
}

// container runs a main container.
func (p *podView) container(container *corev1.Container) corev1.ContainerStatus {
	started, blocked := p.start(container)
	if blocked != nil {
		return *blocked
	}
	delay := p.takes()
	if initCount(p.pod) > 0 {
		delay = time.Duration((1 - initShare) * float64(delay))
	}
	if p.pod.Spec.RestartPolicy != corev1.RestartPolicyAlways && p.pod.Spec.RestartPolicy != "" {
		return p.job(container, started, delay)
	}
	return p.service(container, started, delay)
}

// service runs a container that is meant to run for ever.
func (p *podView) service(container *corev1.Container, started time.Time, delay time.Duration) corev1.ContainerStatus {
	age := p.now.Sub(started)
	s := p.running(container, started)
	switch {
	case p.behaviour.Fault == "crash":
		return p.crashing(container, started, delay)
	case p.behaviour.Fault == "never-ready":
		if age < delay {
			p.again(delay - age)
		} else {
			p.memory.warn(p.result, "Unhealthy", "Readiness probe failed: held back by the fault never-ready")
		}
	case age < delay:
		p.again(delay - age)
	case p.behaviour.Fault == "flap":
		ready, left := flapping(age-delay, p.behaviour.Up, p.behaviour.Down)
		s.Ready = ready
		p.again(left)
	default:
		s.Ready = true
	}
	return s
}

// crashing runs a container that exits with 1 after a quarter of its delay.
func (p *podView) crashing(container *corev1.Container, started time.Time, delay time.Duration) corev1.ContainerStatus {
	b := p.behaviour
	restarts, runs, left, backOff := crashCycle(p.now.Sub(started), delay/4, b.CrashBackOff, b.MaxBackOff)
	p.again(left)
	s := p.running(container, started)
	if !runs {
		s = p.waiting(container, reasonBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			backOff.Round(time.Millisecond), container.Name, p.pod.Name, p.pod.Namespace, p.pod.UID))
		p.memory.warn(p.result, "BackOff", "Back-off restarting failed container "+container.Name)
	}
	s.RestartCount = restarts
	if restarts > 0 || !runs {
		s.LastTerminationState.Terminated = p.terminated(started, p.now, 1, reasonError, "stopped by the fault crash")
	}
	return s
}

// job runs a container that is meant to complete.
func (p *podView) job(container *corev1.Container, started time.Time, delay time.Duration) corev1.ContainerStatus {
	if left := started.Add(delay).Sub(p.now); left > 0 {
		p.again(left)
		return p.running(container, started)
	}
	failure := ""
	switch {
	case p.behaviour.Fault == "never-ready":
		return p.running(container, started)
	case p.behaviour.Fault == "crash":
		failure = "stopped by the fault crash"
	case p.behaviour.Examined && p.memory.Verdict == nil:
		p.result.Examine = true
		return p.running(container, started)
	case p.behaviour.Examined:
		failure = p.memory.Verdict.Failure
	}
	if failure != "" && p.pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure {
		return p.restarting(container, started, delay, failure)
	}
	s := p.status(container)
	if failure == "" {
		s.State.Terminated = p.terminated(started, p.now, 0, reasonCompleted, "")
	} else {
		s.State.Terminated = p.terminated(started, p.now, 1, reasonError, failure)
	}
	if old := statusOf(p.pod, container.Name); old != nil && old.State.Terminated != nil {
		s.State.Terminated = old.State.Terminated // of a pod whose other containers still run
	}
	return s
}

// restarting runs a container of a Job's pod with restartPolicy OnFailure that
// fails: it is restarted in place, with a back-off, and a smoke is examined
// again at each attempt.
func (p *podView) restarting(container *corev1.Container, started time.Time, delay time.Duration, failure string) corev1.ContainerStatus {
	b := p.behaviour
	restarts, runs, left, backOff := crashCycle(p.now.Sub(started), max(delay, time.Millisecond), b.CrashBackOff, b.MaxBackOff)
	p.again(left)
	if v := p.memory.Verdict; b.Examined && v != nil && p.now.Sub(v.At) > b.CrashBackOff && runs {
		p.memory.Verdict = nil
		p.result.Examine = true
	}
	s := p.running(container, started)
	if !runs {
		s = p.waiting(container, reasonBackOff, fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			backOff.Round(time.Millisecond), container.Name, p.pod.Name, p.pod.Namespace, p.pod.UID))
	}
	s.RestartCount = restarts
	s.LastTerminationState.Terminated = p.terminated(started, p.now, 1, reasonError, failure)
	return s
}

// endSidecars ends the sidecars of a pod whose main containers have all ended.
func (p *podView) endSidecars() {
	st := &p.result.Status
	for _, s := range st.ContainerStatuses {
		if s.State.Terminated == nil {
			return
		}
	}
	for i := range st.InitContainerStatuses {
		if s := &st.InitContainerStatuses[i]; s.State.Running != nil {
			s.State = corev1.ContainerState{Terminated: p.terminated(s.State.Running.StartedAt.Time, p.now, 0, reasonCompleted, "")}
			s.Ready = false
		}
	}
}

func (p *podView) again(after time.Duration) {
	if p.result.Again == 0 || after < p.result.Again {
		p.result.Again = max(after, time.Millisecond)
	}
}
