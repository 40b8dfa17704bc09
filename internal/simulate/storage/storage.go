package storage

import (
	"context"
	"fmt"
	"path"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// Annotations of the volume binder and the scheduler. Source:
// k8s.io/component-helpers storage/volume.
const (
	provisionerAnnotation   = "volume.kubernetes.io/storage-provisioner"
	selectedNodeAnnotation  = "volume.kubernetes.io/selected-node"
	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
)

// defaultTakes is how long a volume takes to make, by a provisioner whose rule does
// not say.
const defaultTakes = 2 * time.Second

// Storage provisions claims.
type Storage struct {
	world     *world.World
	workloads *world.Workloads
	rules     func() *rule.Set
	loop      *world.Loop

	mu    sync.Mutex
	since map[string]time.Time // by claim key: since when its provisioner works on it
}

// New makes the storage and adds its handlers to the world.
func New(w *world.World, workloads *world.Workloads, rules func() *rule.Set) *Storage {
	s := &Storage{
		world: w, workloads: workloads, rules: rules, loop: world.NewLoop("storage", w.Clock, w.Log),
		since: map[string]time.Time{},
	}
	w.Claims.Watch(func(c *corev1.PersistentVolumeClaim, _ bool) { s.loop.Add("claim/" + c.Namespace + "/" + c.Name) })
	w.Volumes.Watch(func(v *corev1.PersistentVolume, _ bool) { s.loop.Add("volume//" + v.Name) })
	w.Classes.Watch(func(*storagev1.StorageClass, bool) { s.Refresh() })
	workloads.Listen(func(world.Workload) { s.Refresh() })
	return s
}

// Run works until ctx ends.
func (s *Storage) Run(ctx context.Context, workers int) { s.loop.Run(ctx, workers, s.sync) }

// Refresh looks at every claim that is not bound again.
func (s *Storage) Refresh() {
	for _, c := range s.world.Claims.All() {
		if c.Status.Phase != corev1.ClaimBound {
			s.loop.Add("claim/" + c.Namespace + "/" + c.Name)
		}
	}
}

func (s *Storage) sync(ctx context.Context, key string) (time.Duration, error) {
	kind, rest := world.SplitKey(key)
	ns, name := world.SplitKey(rest)
	if kind == "volume" {
		return 0, s.reclaim(ctx, name)
	}
	claim := s.world.Claims.Get(ns, name)
	provisioner := ""
	if claim != nil {
		provisioner = claim.Annotations[provisionerAnnotation]
	}
	if claim == nil || claim.DeletionTimestamp != nil || claim.Status.Phase == corev1.ClaimBound || claim.Spec.VolumeName != "" || provisioner == "" {
		s.forget(key)
		return 0, nil
	}
	class := s.world.Classes.Get("", className(claim))
	if class == nil || class.Provisioner != provisioner || s.world.Volumes.Get("", volumeName(claim)) != nil {
		return 0, nil
	}
	if late(class) && claim.Annotations[selectedNodeAnnotation] == "" {
		return 0, nil // the scheduler has not chosen a node yet
	}
	p, up := s.provisioner(provisioner)
	if !up {
		s.forget(key)
		return 0, nil // the volume binder tells that it waits
	}
	takes := time.Duration(p.Takes)
	if takes == 0 {
		takes = defaultTakes
	}
	if left := s.started(key).Add(takes).Sub(s.world.Clock.Now()); left > 0 {
		return left, nil
	}
	volume := newVolume(claim, class, s.world.Nodes.Get("", claim.Annotations[selectedNodeAnnotation]))
	if _, err := s.world.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return 0, fmt.Errorf("provision claim %s/%s: %w", ns, name, err)
	}
	s.world.Event(ctx, provisioner, claim, world.Claims, "v1", corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume "+volume.Name)
	return 0, nil
}

// provisioner finds the rule of a provisioner and reports whether it is up. One
// that no rule names is any workload that mentions it.
func (s *Storage) provisioner(name string) (rule.Provisioner, bool) {
	for _, p := range s.rules().Provisioners {
		if ok, err := path.Match(p.Name, name); err != nil || !ok {
			continue
		}
		selectors := append([]rule.Selector{{Mentions: name}}, p.Controller...)
		w, found := s.workloads.Find("provisioner/"+name, selectors)
		return p, found && w.Available || !found && p.Managed
	}
	w, found := s.workloads.Find("provisioner/"+name, []rule.Selector{{Mentions: name}})
	return rule.Provisioner{Name: name}, found && w.Available
}

// reclaim deletes a released volume of a class that wants that.
func (s *Storage) reclaim(ctx context.Context, name string) error {
	v := s.world.Volumes.Get("", name)
	if v == nil || v.DeletionTimestamp != nil || v.Status.Phase != corev1.VolumeReleased ||
		v.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || v.Annotations[provisionedByAnnotation] == "" {
		return nil
	}
	err := s.world.Client.CoreV1().PersistentVolumes().Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &v.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("reclaim volume %s: %w", name, err)
	}
	return nil
}

func newVolume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node *corev1.Node) *corev1.PersistentVolume {
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	name := volumeName(claim)
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{provisionedByAnnotation: class.Provisioner}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes: claim.Spec.AccessModes, VolumeMode: claim.Spec.VolumeMode,
			StorageClassName: class.Name, MountOptions: class.MountOptions, PersistentVolumeReclaimPolicy: policy,
			ClaimRef: &corev1.ObjectReference{
				Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
				ResourceVersion: claim.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: name}},
		},
	}
	if class.Provisioner == "rancher.io/local-path" && node != nil {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/opt/local-path-provisioner/" + name}}
		v.Spec.NodeAffinity = onNode(node)
	}
	return v
}

// onNode keeps a volume of a node's own disk on that node.
func onNode(node *corev1.Node) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Labels[corev1.LabelHostname]},
		}},
	}}}}
}

func volumeName(c *corev1.PersistentVolumeClaim) string { return "pvc-" + string(c.UID) }

func className(c *corev1.PersistentVolumeClaim) string {
	if c.Spec.StorageClassName == nil {
		return ""
	}
	return *c.Spec.StorageClassName
}

func late(c *storagev1.StorageClass) bool {
	return c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

func (s *Storage) started(key string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.since[key]; !ok {
		s.since[key] = s.world.Clock.Now()
	}
	return s.since[key]
}

func (s *Storage) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, key)
}
