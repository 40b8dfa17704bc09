package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// TestClassesOfTheCluster: a claim without a class, and one of a class that nothing of
// the platform brings, are bound as on a cluster that comes with its storage; a class
// that is misspelt beside one of the platform's own is not.
func TestClassesOfTheCluster(t *testing.T) {
	t.Parallel()
	platform := `
-- environments/dev/components/a/component.yaml --
name: a
rolloutPhase: "250"
namespace: default
timeout: 5m
-- environments/dev/components/a/a.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: a, image: "example.com/a:1", volumeMounts: [{name: any, mountPath: /any}, {name: named, mountPath: /named}]}]
      volumes: [{name: any, persistentVolumeClaim: {claimName: any}}, {name: named, persistentVolumeClaim: {claimName: named}}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: any}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: named}
spec: {storageClassName: gp3, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	for name, test := range map[string]struct{ own, want string }{
		"the cluster's": {"", "healthy"},
		"the platform's": {`
-- environments/dev/components/a/class.yaml --
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gp2}
provisioner: ebs.csi.aws.com
`, "timed-out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, f := range txtar.Parse([]byte(platform + test.own)).Files {
				path := filepath.Join(dir, f.Name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r, out := rehearsal(t, dir, ".", "--least-timeout", "3s")
			if state := byName(r)["a"].State; state != test.want {
				t.Fatalf("%s, want %s\n%s", state, test.want, out.stderr)
			}
			told := strings.Contains(out.stderr, "StorageClass gp3 is taken to come with the cluster")
			if told != (test.own == "") {
				t.Errorf("what is taken for granted: %s", out.stderr)
			}
		})
	}
}

// TestDefaultClassOfAPlane: a plane that is started on its own binds the claim of a pod that
// names no class. A rehearsal of a platform that brings a class of this name has it as its own.
func TestDefaultClassOfAPlane(t *testing.T) {
	t.Parallel()
	ownHome(t)
	dir := t.TempDir()
	up := ladder(t, dir, "plane", "up", "stored", "--quiet")
	if up.code != 0 {
		t.Fatalf("plane up: %s", up.stderr)
	}
	access, err := clientcmd.BuildConfigFromFlags("", strings.TrimSpace(up.stdout))
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	data := claim("data", "")
	data.Spec.StorageClassName = nil
	if _, err := client.CoreV1().PersistentVolumeClaims("default").Create(ctx, data, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "example.com/c:1", VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}}},
		Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}},
	}}
	eventually(t, func() error {
		_, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err // the service account of the namespace comes a moment later
	})
	awaitPhase(t, client, "data", corev1.ClaimBound)

	for name, text := range map[string]string{
		"environments/dev/components/storage/component.yaml": "name: storage\nrolloutPhase: \"150\"\nnamespace: default\n",
		"environments/dev/components/storage/class.yaml": "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n" +
			"metadata: {name: local-path, annotations: {storageclass.kubernetes.io/is-default-class: \"true\"}}\nprovisioner: example.com/own\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := ladder(t, dir, "rehearse", ".", "--plane", "stored", "--progress", "none"); out.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", out.code, out.stdout, out.stderr)
	}
	class, err := client.StorageV1().StorageClasses().Get(ctx, "local-path", metav1.GetOptions{})
	if err != nil || class.Provisioner != "example.com/own" {
		t.Errorf("the class has the provisioner %q: %v", class.Provisioner, err)
	}
}
