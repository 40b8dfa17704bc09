package e2e

import (
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func claim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func volume(name, class string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:       class,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/data"}},
		},
	}
}

func awaitPhase(t *testing.T, client kubernetes.Interface, name string, want corev1.PersistentVolumeClaimPhase) {
	t.Helper()
	eventually(t, func() error {
		c, err := client.CoreV1().PersistentVolumeClaims("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c.Status.Phase != want {
			return fmt.Errorf("claim %s is %s, want %s", name, c.Status.Phase, want)
		}
		return nil
	})
}

func volumeIsBound(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	if _, err := client.CoreV1().PersistentVolumes().Create(ctx, volume("prepared", "manual"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("manual", "manual"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, client, "manual", corev1.ClaimBound)
}

// volumeOfTheMachineStays deletes a claim whose volume is a folder of a node: those of
// the machine are not the plane's, whatever they are called. Kubernetes' own plugin
// deletes them below /tmp.
func volumeOfTheMachineStays(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	folder, err := os.MkdirTemp("/tmp", "ladder-volume-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	v := volume("machine", "machine")
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	v.Spec.HostPath.Path = folder
	if _, err := client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	claims := client.CoreV1().PersistentVolumeClaims("default")
	if _, err := claims.Create(ctx, claim("machine", "machine"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, client, "machine", corev1.ClaimBound)
	if err := claims.Delete(ctx, "machine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		left, err := client.CoreV1().PersistentVolumes().Get(ctx, "machine", metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && left.Status.Phase == corev1.VolumeFailed {
			return nil // the controller has done what it does
		}
		return fmt.Errorf("the volume is %s, %w", left.Status.Phase, err)
	})
	if _, err := os.Stat(folder); err != nil {
		t.Errorf("the folder of the machine is gone: %v", err)
	}
}

// claimWaits plays the external provisioner: the binder names it on the claim,
// and binds what it makes.
func claimWaits(t *testing.T, client kubernetes.Interface) {
	ctx := t.Context()
	immediate := storagev1.VolumeBindingImmediate
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "disks.example.com", VolumeBindingMode: &immediate}
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	made, err := client.CoreV1().PersistentVolumeClaims("default").Create(ctx, claim("data", "fast"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		c, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "data", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := c.Annotations["volume.kubernetes.io/storage-provisioner"]; got != class.Provisioner {
			return fmt.Errorf("the claim's provisioner is %q", got)
		}
		if c.Status.Phase != corev1.ClaimPending {
			return fmt.Errorf("the claim is %s", c.Status.Phase)
		}
		return nil
	})
	v := volume("provisioned", "fast")
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data", UID: made.UID}
	v.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": class.Provisioner}
	if _, err := client.CoreV1().PersistentVolumes().Create(ctx, v, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, client, "data", corev1.ClaimBound)
}
