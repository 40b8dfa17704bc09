package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
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
