package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kafkaByOLM is an Application that has OLM install an operator, and a custom resource
// in the wave behind it.
const kafkaByOLM = `
apiVersion: v1
kind: Namespace
metadata: {name: kafka, annotations: {argocd.argoproj.io/sync-wave: "-1"}}
---
apiVersion: operators.coreos.com/v1
kind: OperatorGroup
metadata: {name: kafka, namespace: kafka}
spec: {targetNamespaces: [kafka]}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: strimzi, namespace: kafka}
spec: {name: strimzi-kafka-operator, channel: stable, source: community-operators, sourceNamespace: openshift-marketplace}
---
apiVersion: kafka.strimzi.io/v1
kind: Kafka
metadata:
  name: main
  namespace: kafka
  annotations: {argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true, argocd.argoproj.io/sync-wave: "1"}
spec: {kafka: {listeners: []}}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaNodePool
metadata:
  name: all
  namespace: kafka
  labels: {strimzi.io/cluster: main}
  annotations: {argocd.argoproj.io/sync-options: SkipDryRunOnMissingResource=true, argocd.argoproj.io/sync-wave: "1"}
spec: {replicas: 1, roles: [broker, controller], storage: {type: ephemeral}}
`

const kafkaApplication = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: kafka, namespace: argocd}
spec:
  project: default
  source: {repoURL: https://git.example/team/platform.git, targetRevision: main, path: kafka}
  destination: {server: https://kubernetes.default.svc, namespace: kafka}
`

// olmPlatform writes a platform with a change in its manifests.
func olmPlatform(t *testing.T, old, replacement string) string {
	t.Helper()
	if !strings.Contains(kafkaByOLM, old) {
		t.Fatalf("the manifests do not hold %q", old)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"apps/kafka.yaml": kafkaApplication, "kafka/all.yaml": strings.Replace(kafkaByOLM, old, replacement, 1)} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOperatorsByOLM rehearses on a cluster that has OLM: the package's CRDs and
// operator appear, and the custom resource becomes Healthy. An InstallPlan that nobody
// approves, and a namespace without an OperatorGroup, end in a timeout.
func TestOperatorsByOLM(t *testing.T) {
	t.Parallel()
	t.Run("installed", func(t *testing.T) {
		t.Parallel()
		r, out := rehearsal(t, olmPlatform(t, "", ""), ".", "--verbose")
		wantHealthy(t, r, out)
		told := strings.Contains(out.stderr, "taken to have the Operator Lifecycle Manager") && strings.Contains(out.stderr, "accept any field in the rehearsal")
		if !told {
			t.Errorf("it is not told what is taken for granted:\n%s", out.stderr)
		}
	})
	for name, change := range map[string][2]string{
		"not approved": {"channel: stable", "installPlanApproval: Manual"},
		"no group":     {"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup", "apiVersion: v1\nkind: ConfigMap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := olmPlatform(t, change[0], change[1])
			if name == "no group" {
				dir = olmPlatform(t, change[0]+"\nmetadata: {name: kafka, namespace: kafka}\nspec: {targetNamespaces: [kafka]}", change[1]+"\nmetadata: {name: none, namespace: kafka}")
			}
			r, out := rehearsal(t, dir, ".", "--least-timeout", "5s")
			c := byName(r)["kafka"]
			if out.code == 0 || c.State == "healthy" || !strings.Contains(c.Object+c.Message, "Subscription") {
				t.Errorf("exit code %d: kafka is %s: %s %s", out.code, c.State, c.Object, c.Message)
			}
		})
	}
}
