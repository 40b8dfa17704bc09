package strict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/kube/strict"
)

func TestLook(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   strict.Problems
	}{
		"a kind of somebody else": {"{apiVersion: example.org/v1, kind: Deployment, spec: {variables: x}}", strict.Problems{}},
		"all in order": {`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, creationTimestamp: null}
spec:
  replicas: 1.0
  selector: {matchLabels: {app: web}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, resources: {limits: {cpu: 0.5, memory: 64Mi}}, readinessProbe: {httpGet: {port: http}}}
status: {}
`, strict.Problems{}},
		"misspelt fields": {`
apiVersion: apps/v1
kind: Deployment
spec:
  replica: 2
  template:
    spec:
      containers:
      - {name: web, variables: []}
`, strict.Problems{Unknown: []string{"spec.replica", "spec.template.spec.containers[0].variables"}}},
		"letters of another case":   {"{apiVersion: batch/v1, kind: CronJob, spec: {timezone: UTC}}", strict.Problems{Unknown: []string{"spec.timezone"}}},
		"empty and of another case": {"{apiVersion: v1, kind: Secret, Data: {}}", strict.Problems{}},
		"a name filled in later":    {"{apiVersion: v1, kind: Service, spec: {'${FIELD}': x}}", strict.Problems{}},
		"encrypted, and so not yet": {"{apiVersion: v1, kind: Secret, sops: {mac: x}}", strict.Problems{}},
		"a number for text": {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}, {name: b, env: [{name: PORT, value: 8080}]}]}}",
			strict.Problems{Field: "spec.containers.env.value", Value: "number", Want: "string"}},
		"a number among labels": {"{apiVersion: v1, kind: ConfigMap, metadata: {labels: {version: 1}}}",
			strict.Problems{Field: "metadata.labels", Value: "number", Want: "string", Within: true}},
		"text for a number": {"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: '2'}}",
			strict.Problems{Field: "spec.replicas", Value: "string", Want: "int32"}},
		"a variable for a number": {"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: '${REPLICAS}'}}", strict.Problems{}},
		"a map for a list": {"{apiVersion: v1, kind: Service, spec: {ports: {http: 80}}}",
			strict.Problems{Field: "spec.ports", Value: "object", Want: "slice"}},
		"a number for a name": {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, imagePullPolicy: 5}]}}",
			strict.Problems{Field: "spec.containers.imagePullPolicy", Value: "number", Want: "string"}},
		"a map among annotations": {"{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {a: {b: c}}}}",
			strict.Problems{Field: "metadata.annotations", Value: "object", Want: "string", Within: true}},
		"a quantity filled in later": {"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: '${SIZE}'}}}}", strict.Problems{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var object map[string]any
			if err := yaml.Unmarshal([]byte(c.object), &object); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, strict.Look(object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
