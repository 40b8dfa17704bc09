package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/smokejob"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Times of the simulated kubelet.
const (
	hookDelay    = 10 * time.Second // most that a Job that is a hook takes
	crashBackOff = 10 * time.Second // as the kubelet's
	maxBackOff   = 5 * time.Minute  // as the kubelet's
	flapUp       = 60 * time.Second
	flapDown     = 30 * time.Second
	// shortest, in real time, keeps a fault from keeping the plane busy at great
	// speeds.
	shortest = 500 * time.Millisecond
)

// ownerLag is how long a pod may wait for its owner to show in the caches.
const (
	ownerLag     = 25 * time.Millisecond
	maxOwnerLags = 20
)

// Smoke runs the checks of a smoke's pod and says what does not hold.
type Smoke func(ctx context.Context, e Examination) error

// Examination is what the pod of a smoke does.
type Examination struct {
	Checks []model.Check
	// Namespace and ServiceAccount are whom the pod acts for where it reads the
	// cluster itself; empty where it runs a script that the checks stand for.
	Namespace, ServiceAccount string
	// Wait is how long the pod repeats its checks; 0 where it does not say.
	Wait time.Duration
	// Tell is told what does not hold, once it does not hold twice in a row; nil where
	// nobody listens.
	Tell func(failure string)
}

// Kubelet runs every pod that is bound to a node.
type Kubelet struct {
	world   *world.World
	loop    *world.Loop
	waiting world.Waiting
	smoke   Smoke
	ips     addresses
	smokes  sync.WaitGroup

	mu   sync.Mutex
	pods map[string]*entry
}

type entry struct {
	memory *Memory
	lags   int
	over   bool // its last status is written
	asking bool // its smoke runs
}

// New makes a kubelet and adds its handlers to the world.
func New(w *world.World, smoke Smoke) *Kubelet {
	k := &Kubelet{world: w, smoke: smoke, loop: world.NewLoop("kubelet", w.Clock, w.Log), pods: map[string]*entry{}}
	w.Pods.Watch(func(pod *corev1.Pod, _ bool) {
		if pod.Status.PodIP != "" {
			k.ips.reserve(pod.Status.PodIP)
		}
		if pod.Spec.NodeName != "" {
			k.loop.Add(pod.Namespace + "/" + pod.Name)
		}
	})
	wake := func(kind string) func(o metav1.Object) {
		return func(o metav1.Object) {
			k.loop.Add(k.waiting.On(world.Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})...)
		}
	}
	secrets, configMaps, claims := wake(world.Secrets), wake(world.ConfigMaps), wake(world.Claims)
	w.Secrets.Watch(func(o *corev1.Secret, _ bool) { secrets(o) })
	w.ConfigMaps.Watch(func(o *corev1.ConfigMap, _ bool) { configMaps(o) })
	w.Claims.Watch(func(o *corev1.PersistentVolumeClaim, _ bool) { claims(o) })
	return k
}

// Run works until ctx ends.
func (k *Kubelet) Run(ctx context.Context, workers int) {
	k.loop.Run(ctx, workers, k.sync)
	k.smokes.Wait()
}

// Refresh looks at every pod again, after the configuration has changed.
func (k *Kubelet) Refresh() {
	for _, pod := range k.world.Pods.All() {
		k.loop.Add(pod.Namespace + "/" + pod.Name)
	}
}

func (k *Kubelet) sync(ctx context.Context, key string) (time.Duration, error) {
	ns, name := world.SplitKey(key)
	pod := k.world.Pods.Get(ns, name)
	if pod == nil {
		k.forget(key)
		return 0, nil
	}
	if pod.Spec.NodeName == "" {
		return 0, nil
	}
	if pod.DeletionTimestamp != nil {
		k.waiting.Set(key, nil)
		return 0, k.finalise(ctx, pod)
	}
	e := k.entry(key, pod)
	if k.busy(e) {
		return 0, nil
	}
	comp, certain := k.world.Component(pod)
	if !certain && e.lags < maxOwnerLags {
		e.lags++
		return ownerLag, nil
	}
	r := e.memory.Step(pod, cached{k.world}, k.behaviour(pod, comp), k.world.Clock.Now())
	k.address(pod, &r.Status)
	k.waiting.Set(key, r.Waits)
	if err := k.write(ctx, pod, &r.Status); err != nil {
		return 0, err
	}
	e.over = r.Status.Phase == corev1.PodSucceeded || r.Status.Phase == corev1.PodFailed
	for _, ev := range r.Events {
		k.world.Event(ctx, "kubelet", pod, world.Pods, "v1", ev.Type, ev.Reason, ev.Message)
	}
	if r.Examine {
		k.examine(ctx, key, e, pod, comp)
		return 0, nil
	}
	return r.Again, nil
}

// entry returns what is remembered of the pod; a pod of the same name that was
// made anew starts afresh.
func (k *Kubelet) entry(key string, pod *corev1.Pod) *entry {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := k.pods[key]
	if e == nil || e.memory.UID != pod.UID {
		e = &entry{memory: Remember(pod)}
		k.pods[key] = e
	}
	return e
}

// busy is true of a pod that has ended, and while its smoke runs.
func (k *Kubelet) busy(e *entry) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return e.over || e.asking
}

func (k *Kubelet) forget(key string) {
	k.mu.Lock()
	if e := k.pods[key]; e != nil {
		k.ips.release(string(e.memory.UID))
		delete(k.pods, key)
	}
	k.mu.Unlock()
	k.waiting.Set(key, nil)
}

// examine runs the checks of a smoke beside the loop: they may take long.
func (k *Kubelet) examine(ctx context.Context, key string, e *entry, pod *corev1.Pod, comp string) {
	k.mu.Lock()
	e.asking = true
	k.mu.Unlock()
	k.smokes.Go(func() {
		verdict := &Verdict{}
		if err := k.judge(ctx, pod, comp); err != nil {
			verdict.Failure = err.Error()
		}
		verdict.At = k.world.Clock.Now()
		k.mu.Lock()
		e.memory.Verdict, e.asking = verdict, false
		k.mu.Unlock()
		k.loop.Add(key)
	})
}

// judge runs what the pod of a smoke runs: the checks in the file it was given,
// as the service account it has, else those that are known of its component.
func (k *Kubelet) judge(ctx context.Context, pod *corev1.Pod, comp string) error {
	run, ok := smokejob.Runs(&pod.Spec)
	switch {
	case ok:
	case isHelmTest(pod, k.world.Owner(pod)):
		return k.smoke(ctx, Examination{Checks: asked(pod), Tell: func(failure string) {
			k.world.Event(ctx, "kubelet", pod, world.Pods, "v1", corev1.EventTypeWarning, "TestFails", failure)
		}})
	default:
		return k.smoke(ctx, Examination{Checks: k.world.Config().Components[comp].Checks})
	}
	config := k.world.ConfigMaps.Get(pod.Namespace, run.ConfigMap)
	if config == nil {
		return fmt.Errorf("ConfigMap %s/%s does not exist", pod.Namespace, run.ConfigMap)
	}
	text, ok := config.Data[run.Key]
	if !ok {
		return fmt.Errorf("ConfigMap %s/%s has no key %s", pod.Namespace, run.ConfigMap, run.Key)
	}
	_, checks, err := smokejob.Read([]byte(text))
	if err != nil {
		return err
	}
	return k.smoke(ctx, Examination{
		Checks: checks, Namespace: pod.Namespace, ServiceAccount: cmp.Or(pod.Spec.ServiceAccountName, "default"), Wait: run.Wait,
	})
}

func (k *Kubelet) behaviour(pod *corev1.Pod, comp string) Behaviour {
	config := k.world.Config()
	key := pod.Namespace + "/" + pod.Name
	owner := k.world.Owner(pod)
	if owner != nil {
		key = pod.Namespace + "/" + owner.GetName()
	}
	b := Behaviour{
		Stamp:        k.world.Clock.Real,
		Delay:        config.Delay(comp, key),
		Fault:        config.Fault(comp).Kind,
		CrashBackOff: k.world.Clock.AtLeast(crashBackOff, shortest),
		MaxBackOff:   k.world.Clock.AtLeast(maxBackOff, shortest),
		Up:           k.world.Clock.AtLeast(flapUp, shortest),
		Down:         k.world.Clock.AtLeast(flapDown, shortest),
	}
	job := metav1.GetControllerOf(pod)
	isJob := job != nil && job.Kind == "Job"
	_, reads := smokejob.Runs(&pod.Spec)
	b.Examined = k.smoke != nil && (reads || isHelmTest(pod, owner) && len(asked(pod)) > 0 || isJob && len(config.Components[comp].Checks) > 0)
	most := b.Delay
	if isJob && !b.Examined && isHook(owner) {
		most = hookDelay
		b.Delay = min(b.Delay, most)
	}
	b.Begin = func() time.Duration { return k.world.Begin(comp, key, most) }
	if b.Fault == settings.Slow {
		b.Fault = settings.NoFault // Delay holds it
	}
	return b
}

func isHook(o metav1.Object) bool {
	if o == nil {
		return false
	}
	a := o.GetAnnotations()
	return a["argocd.argoproj.io/hook"] != "" || a["helm.sh/hook"] != ""
}

// finalise ends a pod that is being deleted: nothing runs, so nothing has to
// stop.
func (k *Kubelet) finalise(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	err := k.world.Client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// address gives the pod its addresses.
func (k *Kubelet) address(pod *corev1.Pod, st *corev1.PodStatus) {
	host := ""
	if node := k.world.Nodes.Get("", pod.Spec.NodeName); node != nil {
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				host = a.Address
			}
		}
	}
	if st.HostIP == "" && host != "" {
		st.HostIP, st.HostIPs = host, []corev1.HostIP{{IP: host}}
	}
	if st.PodIP != "" || st.Phase != corev1.PodRunning {
		return
	}
	ip := host
	if !pod.Spec.HostNetwork || host == "" {
		ip = k.ips.next(string(pod.UID))
	}
	st.PodIP, st.PodIPs = ip, []corev1.PodIP{{IP: ip}}
}

// write patches what changed of the status.
func (k *Kubelet) write(ctx context.Context, pod *corev1.Pod, st *corev1.PodStatus) error {
	type shape struct {
		Metadata map[string]any    `json:"metadata"`
		Status   *corev1.PodStatus `json:"status"`
	}
	before, err := json.Marshal(shape{Status: &pod.Status})
	if err != nil {
		return fmt.Errorf("write the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	after, err := json.Marshal(shape{Status: st})
	if err != nil {
		return fmt.Errorf("write the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if string(before) == string(after) {
		return nil
	}
	after, err = json.Marshal(shape{Metadata: map[string]any{"uid": pod.UID}, Status: st})
	if err != nil {
		return fmt.Errorf("write the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
	if err != nil {
		return fmt.Errorf("compare the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	_, err = k.world.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // deleted, or another pod of the same name: its own event follows
	}
	if err != nil {
		return fmt.Errorf("write the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// cached is what the caches of the world hold.
type cached struct{ world *world.World }

func (c cached) Secret(namespace, name string) *corev1.Secret {
	return c.world.Secrets.Get(namespace, name)
}

func (c cached) ConfigMap(namespace, name string) *corev1.ConfigMap {
	return c.world.ConfigMaps.Get(namespace, name)
}

func (c cached) Claim(namespace, name string) *corev1.PersistentVolumeClaim {
	return c.world.Claims.Get(namespace, name)
}
