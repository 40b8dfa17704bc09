package argocd_test

import (
	"regexp"
	"strings"
	"testing"
)

// widgets defines a kind, widget is an object of it.
const (
	widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	widget       = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: first, namespace: default}\nspec: {}\n"
	widgetHealth = `health:
  - apiVersion: example.com/v1
    kind: Widget
    cel: has(object.status) && has(object.status.ready) && object.status.ready
`
	// guard is a webhook that must be asked about the ConfigMaps with its label.
	guard = `apiVersion: v1
kind: Service
metadata: {name: guard, namespace: default}
spec: {selector: {app: guard}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
  - name: guard.example.com
    clientConfig: {service: {namespace: default, name: guard, path: /}}
    objectSelector: {matchLabels: {guarded: "true"}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
`
	guarded = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: guarded, namespace: default, labels: {guarded: \"true\"}}\ndata: {}\n"
)

// TestMistakesAreCaught makes the mistakes that the native engine is tried with,
// in repositories of Applications: what contradicts descriptors is not even
// generated. Argo CD must not get past the component that suffers, and the report
// must give its reason.
func TestMistakesAreCaught(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pieces    []piece
		breakIt   func(p platform)
		component string
		reason    string // regular expression over object and message
		long      bool   // each run of the tests makes this mistake with the native engine
	}{
		"CRD package after its user": {
			[]piece{{name: "crds", phase: "110", manifests: widgets}, {name: "user", phase: "250", manifests: widget}},
			func(p platform) { p.move("crds", "110", "260") }, "user", `(?i)could not find example\.com/Widget|no matches for kind "Widget"`, false,
		},
		"missing CRD": {
			[]piece{{name: "crds", phase: "110", manifests: widgets}, {name: "user", phase: "250", manifests: widget}},
			func(p platform) { p.remove("crds") }, "user", `(?i)could not find example\.com/Widget|no matches for kind "Widget"`, true,
		},
		"Secret producer after its consumer": {
			[]piece{
				{name: "secret", phase: "230", manifests: "apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: default}\nstringData: {password: x}\n"},
				{name: "user", phase: "250", manifests: deployment("user", `, env: [{name: P, valueFrom: {secretKeyRef: {name: db, key: password}}}]`)},
			},
			func(p platform) { p.move("secret", "230", "260") }, "user", `Deployment.*user.*0 (of|out of) 1`, true,
		},
		"storage class after its user": {
			[]piece{
				{name: "class", phase: "140", manifests: "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: slow}\nprovisioner: rancher.io/local-path\n"},
				{name: "user", phase: "250", manifests: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\n" +
					"spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 1Gi}}}\n"},
			},
			func(p platform) { p.move("class", "140", "260") }, "user", `PersistentVolumeClaim.*data`, true,
		},
		"missing namespace": {
			[]piece{
				{name: "namespaces", phase: "100", manifests: "apiVersion: v1\nkind: Namespace\nmetadata: {name: vault}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n"},
				{name: "user", phase: "250", manifests: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: vault}\n"},
			},
			func(p platform) {
				p.edit("sources/namespaces/manifests.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: vault}\n---\n", "")
			},
			"user", `namespaces "vault" not found`, false,
		},
		"webhook without endpoints": {
			[]piece{
				{name: "webhook", phase: "120", manifests: guard + "---\n" + deployment("guard", "")},
				{name: "user", phase: "250", manifests: guarded},
			},
			func(p platform) {
				p.edit("sources/webhook/manifests.yaml", "selector: {app: guard}, ports", "selector: {app: nobody}, ports")
			},
			"user", `webhook "guard\.example\.com".*no endpoints available for service "guard"`, true,
		},
		"webhook after its objects": {
			[]piece{
				{name: "webhook", phase: "120", manifests: guard},
				{name: "operator", phase: "130", manifests: deployment("guard", "")},
				{name: "user", phase: "250", manifests: guarded},
			},
			func(p platform) { p.move("operator", "130", "260") },
			"user", `webhook "guard\.example\.com".*no endpoints available for service "guard"`, false,
		},
	}
	for name, tc := range cases {
		if tc.long && !*long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			binary(t)
			t.Parallel()
			p := repository(t, tc.pieces...)
			tc.breakIt(p)
			r, out := rehearsal(t, p.dir, ".", "--speed", "300", "--least-timeout", "15s")
			if out.code != 1 || r.Result != "failed" {
				t.Fatalf("exit code %d, result %q: the mistake was not caught", out.code, r.Result)
			}
			c, ok := byName(r)[tc.component]
			if !ok || c.State != "failed" && c.State != "timed-out" {
				for _, other := range r.Components {
					t.Logf("%s %s: %s: %s", other.Name, other.State, other.Object, other.Message)
				}
				t.Fatalf("%s is %q, want failed or timed-out", tc.component, c.State)
			}
			if told := strings.Join(strings.Fields(c.Object+": "+c.Message), " "); !regexp.MustCompile(tc.reason).MatchString(told) {
				t.Errorf("the reason is %q, want %q", told, tc.reason)
			}
		})
	}
}
