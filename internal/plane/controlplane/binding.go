package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
)

// bindingName is the name of the plugin that stands in for upstream's VolumeBinding.
const bindingName = "PromptVolumeBinding"

// bindTimeout is how long a pod waits for its claims, as upstream's.
const bindTimeout = 10 * time.Minute

// promptBinding is upstream's plugin VolumeBinding. Only its wait differs: upstream looks once
// a second whether the claims of a pod are bound, and a rehearsal cannot skip that second.
type promptBinding struct{ *volumebinding.VolumeBinding }

func (promptBinding) Name() string { return bindingName }

func newPromptBinding(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args := &config.VolumeBindingArgs{BindTimeoutSeconds: int64(bindTimeout / time.Second)}
	plugin, err := volumebinding.New(ctx, args, handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, fmt.Errorf("make the plugin that binds volumes: %w", err)
	}
	binding, ok := plugin.(*volumebinding.VolumeBinding)
	if !ok {
		return nil, fmt.Errorf("the plugin that binds volumes is a %T", plugin)
	}
	core := handle.SharedInformerFactory().Core().V1()
	claims, pods := core.PersistentVolumeClaims(), core.Pods()
	b := &promptBinder{
		SchedulerVolumeBinder: binding.Binder,
		client:                handle.ClientSet(), claims: claims.Lister(), pods: pods.Lister(), changed: make(chan struct{}),
	}
	gone := func(any) { b.wake() }
	_, err = claims.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { b.wake() }, DeleteFunc: gone})
	if err != nil {
		return nil, fmt.Errorf("watch claims: %w", err)
	}
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: gone}); err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	binding.Binder = b
	return promptBinding{binding}, nil
}

// promptBinder binds the volumes of a pod, and waits by the watch of claims.
type promptBinder struct {
	volumebinding.SchedulerVolumeBinder
	client kubernetes.Interface
	claims corelisters.PersistentVolumeClaimLister
	pods   corelisters.PodLister

	mu      sync.Mutex
	changed chan struct{} // closed when a claim has changed, or a pod is gone
}

func (b *promptBinder) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *promptBinder) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// BindPodVolumes has the claims of a pod provisioned and returns when they are bound. Where
// volumes are there already, which nothing on a plane makes of its own accord, it waits as
// upstream does.
func (b *promptBinder) BindPodVolumes(ctx context.Context, pod *corev1.Pod, volumes *volumebinding.PodVolumes) error {
	if len(volumes.StaticBindings) > 0 {
		return b.SchedulerVolumeBinder.BindPodVolumes(ctx, pod, volumes) //nolint:wrapcheck // it is upstream's
	}
	ctx, cancel := context.WithTimeout(ctx, bindTimeout)
	defer cancel()
	asked := make([]*corev1.PersistentVolumeClaim, 0, len(volumes.DynamicProvisions))
	for _, p := range volumes.DynamicProvisions {
		claim, err := b.client.CoreV1().PersistentVolumeClaims(p.PVC.Namespace).Update(ctx, p.PVC, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("ask for the volume of claim %s: %w", p.PVC.Name, err)
		}
		asked = append(asked, claim)
	}
	for {
		changed := b.next()
		if bound, err := b.areBound(pod, asked); bound || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("binding volumes: %w", context.Cause(ctx))
		case <-changed:
		}
	}
}

// areBound reports whether claims are bound. Source: upstream, volumeBinder.checkBindings; a
// provisioner that fails takes the node away from the claim.
func (b *promptBinder) areBound(pod *corev1.Pod, asked []*corev1.PersistentVolumeClaim) (bool, error) {
	if _, err := b.pods.Pods(pod.Namespace).Get(pod.Name); err != nil {
		return false, fmt.Errorf("pod does not exist any more: %w", err)
	}
	all := true
	for _, a := range asked {
		claim, err := b.claims.PersistentVolumeClaims(a.Namespace).Get(a.Name)
		if err != nil {
			return false, fmt.Errorf("look at claim %s: %w", a.Name, err)
		}
		if older, err := resourceversion.CompareResourceVersion(claim.ResourceVersion, a.ResourceVersion); err != nil || older < 0 {
			all = false // it is that of before the update
			continue
		}
		if claim.Annotations[storagehelpers.AnnSelectedNode] != pod.Spec.NodeName {
			return false, fmt.Errorf("provisioning failed for claim %s", a.Name)
		}
		all = all && claim.Spec.VolumeName != "" && claim.Annotations[storagehelpers.AnnBindCompleted] != ""
	}
	return all, nil
}
