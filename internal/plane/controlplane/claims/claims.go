// Package claims has the volumes of claims made for a pod that is about to be bound to its
// node, and waits for them.
package claims

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

// Patience is how long a pod waits for its claims, as upstream's.
const Patience = 10 * time.Minute

// Binder does what upstream's volumeBinder.BindPodVolumes does for claims whose volumes are
// to be made. Upstream looks once a second whether they are bound; a Binder looks when
// something has changed.
type Binder struct {
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	pods    corelisters.PodLister
	nodes   corelisters.NodeLister

	mu      sync.Mutex
	changed chan struct{} // closed when something has changed
}

// New makes a Binder. The informers must be started after that.
func New(client kubernetes.Interface, factory informers.SharedInformerFactory) (*Binder, error) {
	core := factory.Core().V1()
	claims, volumes, pods, nodes := core.PersistentVolumeClaims(), core.PersistentVolumes(), core.Pods(), core.Nodes()
	b := &Binder{
		client: client, claims: claims.Lister(), volumes: volumes.Lister(), pods: pods.Lister(), nodes: nodes.Lister(), changed: make(chan struct{}),
	}
	made, changed, gone := func(any) { b.wake() }, func(any, any) { b.wake() }, func(any) { b.wake() }
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandlerFuncs{
		claims.Informer():  {UpdateFunc: changed, DeleteFunc: gone},
		volumes.Informer(): {AddFunc: made, UpdateFunc: changed},
		nodes.Informer():   {UpdateFunc: changed, DeleteFunc: gone},
		pods.Informer():    {DeleteFunc: gone},
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch what volumes are bound by: %w", err)
		}
	}
	return b, nil
}

func (b *Binder) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Binder) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// Bind asks for the volumes of claims, which name the node of the pod already, and returns
// when all are bound.
func (b *Binder) Bind(ctx context.Context, pod *corev1.Pod, claims []*corev1.PersistentVolumeClaim) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	asked := make([]*corev1.PersistentVolumeClaim, 0, len(claims))
	for _, c := range claims {
		claim, err := b.client.CoreV1().PersistentVolumeClaims(c.Namespace).Update(ctx, c, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("ask for the volume of claim %s: %w", c.Name, err)
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

// errNotYet is the state of a claim that is not bound and may still be.
var errNotYet = errors.New("not bound yet")

// areBound reports whether claims are bound. An error says that the pod must be scheduled
// anew. Source: upstream, volumeBinder.checkBindings.
func (b *Binder) areBound(pod *corev1.Pod, asked []*corev1.PersistentVolumeClaim) (bool, error) {
	node, err := b.nodes.Get(pod.Spec.NodeName)
	if err != nil {
		return false, fmt.Errorf("look at node %s: %w", pod.Spec.NodeName, err)
	}
	if _, err := b.pods.Pods(pod.Namespace).Get(pod.Name); err != nil {
		return false, fmt.Errorf("pod does not exist any more: %w", err)
	}
	all := true
	for _, a := range asked {
		switch err := b.isBound(a, node); {
		case errors.Is(err, errNotYet):
			all = false
		case err != nil:
			return false, err
		}
	}
	return all, nil
}

// isBound returns nil for a claim that is bound to a volume which fits the node.
func (b *Binder) isBound(asked *corev1.PersistentVolumeClaim, node *corev1.Node) error {
	claim, err := b.claims.PersistentVolumeClaims(asked.Namespace).Get(asked.Name)
	if err != nil {
		return fmt.Errorf("look at claim %s: %w", asked.Name, err)
	}
	if older, err := resourceversion.CompareResourceVersion(claim.ResourceVersion, asked.ResourceVersion); err != nil || older < 0 {
		return errNotYet // it is that of before the update
	}
	// A provisioner that fails takes the node away from the claim.
	if claim.Annotations[storagehelpers.AnnSelectedNode] != node.Name {
		return fmt.Errorf("provisioning failed for claim %s", asked.Name)
	}
	if claim.Spec.VolumeName == "" {
		return errNotYet
	}
	volume, err := b.volumes.Get(claim.Spec.VolumeName)
	if apierrors.IsNotFound(err) {
		return errNotYet // it is not seen yet; of one that was deleted the claim will be told
	}
	if err != nil {
		return fmt.Errorf("look at volume %s: %w", claim.Spec.VolumeName, err)
	}
	if err := storagehelpers.CheckNodeAffinity(volume, node.Labels); err != nil {
		return fmt.Errorf("volume %s does not fit node %s: %w", volume.Name, node.Name, err)
	}
	if !metav1.HasAnnotation(claim.ObjectMeta, storagehelpers.AnnBindCompleted) {
		return errNotYet
	}
	return nil
}
