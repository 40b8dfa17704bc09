package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// canary stands in every Secret of the test's platform: it must not turn up in
// anything that Ladder prints or keeps beside the plane's own database.
const canary = "canary-7Qv9xK2mB4sT"

// canaryForms are the forms in which the canary may leak: as it is, as base64, and inside longer base64 at each of the three
// alignments, and in hexadecimal digits.
func canaryForms() map[string]string {
	forms := map[string]string{"plain": canary, "hex": hex.EncodeToString([]byte(canary))}
	for shift, name := range []string{"base64", "base64 after one byte", "base64 after two bytes"} {
		padded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + canary))
		// What encodes only bytes of the canary: the first groups of four hold
		// the padding, the last may hold what follows.
		forms[name] = padded[4*((shift+2)/3) : len(padded)/4*4-4]
	}
	return forms
}

// wantNoCanary fails where a text holds the canary in any form.
func wantNoCanary(t *testing.T, where, text string) {
	t.Helper()
	for form, value := range canaryForms() {
		if i := strings.Index(text, value); i >= 0 {
			t.Errorf("%s holds the canary (%s): ...%s...", where, form, text[max(0, i-160):min(len(text), i+len(value)+40)])
		}
	}
}

// canaryPlatform is a platform full of Secrets. Every descriptor in broken adds
// one that the API server refuses.
const canaryPlatform = `
-- ladder.yaml --
layout: single
environments:
  dev:
    values: ["sources/values/{{name}}.yaml"]
-- environments/dev/components/namespaces/component.yaml --
name: namespaces
namespace: app
rolloutPhase: "110"
manifests: {path: sources/namespaces.yaml}
-- sources/namespaces.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: app}
-- environments/dev/components/crds/component.yaml --
name: crds
namespace: app
rolloutPhase: "120"
componentType: crds
manifests: {path: sources/crds.yaml}
-- sources/crds.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clustersecretstores.external-secrets.io}
spec:
  group: external-secrets.io
  scope: Cluster
  names: {kind: ClusterSecretStore, plural: clustersecretstores}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: externalsecrets.external-secrets.io}
spec:
  group: external-secrets.io
  scope: Namespaced
  names: {kind: ExternalSecret, plural: externalsecrets}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
-- environments/dev/components/operator/component.yaml --
name: operator
namespace: app
rolloutPhase: "130"
manifests: {path: sources/operator.yaml}
-- sources/operator.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: external-secrets}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: external-secrets}}
  template:
    metadata: {labels: {app.kubernetes.io/name: external-secrets}}
    spec:
      containers: [{name: operator, image: example.com/external-secrets:2}]
-- environments/dev/components/store/component.yaml --
name: store
namespace: app
rolloutPhase: "140"
manifests: {path: sources/store.yaml}
-- sources/store.yaml --
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {name: fake}
spec: {provider: {fake: {data: [{key: password, value: CANARY}]}}}
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: made}
spec:
  secretStoreRef: {name: fake, kind: ClusterSecretStore}
  target: {name: made, template: {data: {password: "CANARY"}}}
  data: [{secretKey: password, remoteRef: {key: password}}]
-- environments/dev/components/app/component.yaml --
name: app
namespace: app
rolloutPhase: "250"
chart: {path: sources/charts/app}
-- sources/values/app.yaml --
password: CANARY
-- sources/charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- sources/charts/app/values.yaml --
password: ""
-- sources/charts/app/templates/app.yaml --
apiVersion: v1
kind: Secret
metadata:
  name: app
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"apiVersion":"v1","kind":"Secret","stringData":{"password":"{{ .Values.password }}"}}'
stringData:
  password: {{ .Values.password | quote }}
  url: postgres://app:{{ .Values.password }}@db/app
data:
  encoded: {{ .Values.password | b64enc }}
---
apiVersion: v1
kind: Secret
metadata: {name: fixed}
immutable: true
stringData: {password: {{ .Values.password | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata:
      labels: {app: app}
      annotations: {checksum/secret: {{ .Values.password | sha256sum }}, example.com/token: {{ .Values.password | quote }}}
    spec:
      containers:
        - name: app
          image: example.com/app:1
          env:
            - {name: PASSWORD, valueFrom: {secretKeyRef: {name: app, key: password}}}
            - {name: MADE, valueFrom: {secretKeyRef: {name: made, key: password}}}
            - {name: LITERAL, value: {{ .Values.password | quote }}}
-- environments/dev/components/waiting/component.yaml --
name: waiting
namespace: app
rolloutPhase: "350"
timeout: 1m
manifests: {path: sources/waiting.yaml}
-- sources/waiting.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: waiting}
spec:
  selector: {matchLabels: {app: waiting}}
  template:
    metadata: {labels: {app: waiting}}
    spec:
      containers:
        - name: waiting
          image: example.com/waiting:1
          args: ["--password=CANARY"]
          env:
            - {name: LITERAL, value: "CANARY"}
            - {name: PASSWORD, valueFrom: {secretKeyRef: {name: app, key: password}}}
`

// canaryMistakes are Secrets, and things that hold what a Secret should, that
// the API server refuses; some in words that quote them.
func canaryMistakes() map[string]string {
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\n"
	return map[string]string{
		"a key that is none":              secret + "stringData: {\"no key!\": CANARY}\n",
		"a value that is a map":           secret + "stringData: {password: {inner: CANARY}}\n",
		"data that holds a map":           secret + "data: {password: {inner: CANARY}}\n",
		"data that is a list":             secret + "data: [CANARY]\n",
		"data that is text":               secret + "data: CANARY\n",
		"text that is text":               secret + "stringData: CANARY\n",
		"data that is not base64":         secret + "data: {password: \"CANARY!\"}\n",
		"an unknown field":                secret + "stringdata: {password: CANARY}\n",
		"the wrong type":                  secret + "type: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: \"CANARY\"}\n",
		"a TLS Secret without key":        secret + "type: kubernetes.io/tls\nstringData: {tls.crt: CANARY}\n",
		"a wrong environment":             "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec:\n  containers: [{name: a, image: a, env: [{name: PASSWORD, value: {inner: CANARY}}]}]\n",
		"an admission policy that quotes": guarded("quotes") + "stringData: {password: CANARY}\n",
		"a webhook that is down":          guarded("down") + "stringData: {password: CANARY}\n",
	}
}

// guarded is a Secret for one of the guards to refuse.
func guarded(by string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: broken, labels: {guard: " + by + "}}\n"
}

// canaryGuards refuse the Secrets that bear their label: a policy in words that
// quote the Secret, a webhook because nobody answers.
const canaryGuards = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: quotes}
spec:
  matchConstraints:
    objectSelector: {matchLabels: {guard: quotes}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
  validations: [{expression: "!('password' in object.data)", messageExpression: "'refused ' + string(object.data['password'])"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: quotes}
spec: {policyName: quotes, validationActions: [Deny]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: down}
webhooks:
  - name: down.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    clientConfig: {url: "https://127.0.0.1:1/"}
    objectSelector: {matchLabels: {guard: down}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]
`

// awaitGuards waits until the API server of a plane knows the guards, which it
// learns some time after they were accepted.
func awaitGuards(t *testing.T, kubeconfig string) {
	t.Helper()
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	for _, guard := range []string{"quotes", "down"} {
		probe := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"guard": guard}},
			Data:       map[string][]byte{"password": []byte("known")},
		}
		for {
			if _, err := client.CoreV1().Secrets("app").Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				if !strings.Contains(err.Error(), guard) {
					t.Fatalf("%s: %v", guard, err)
				}
				break
			}
			select {
			case <-t.Context().Done():
				t.Fatalf("the API server never heard of %s", guard)
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// writeCanary writes the platform, with further files, to a folder.
func writeCanary(t *testing.T, further map[string]string) string {
	t.Helper()
	files := map[string]string{}
	for _, f := range txtar.Parse([]byte(canaryPlatform)).Files {
		files[f.Name] = string(f.Data)
	}
	maps.Copy(files, further)
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "CANARY", canary)
	}
	return writeFiles(t, files)
}

// writeFiles writes files into a folder that ends with the test.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// watched runs the command and fails where its outputs hold the canary.
func watched(t *testing.T, dir string, code int, args ...string) outcome {
	t.Helper()
	out := ladder(t, dir, args...)
	command := "ladder " + strings.Join(args, " ")
	if out.code != code {
		t.Errorf("%s: exit code %d, want %d\n%s", command, out.code, code, out.stderr)
	}
	wantNoCanary(t, "stdout of "+command, out.stdout)
	wantNoCanary(t, "stderr of "+command, out.stderr)
	return out
}

// slug is a name that a component can have.
func slug(name string) string {
	return strings.ReplaceAll(strings.ToLower(name), " ", "-")
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	t.Parallel()
	t.Run("reading", func(t *testing.T) {
		t.Parallel()
		dir := writeCanary(t, nil)
		for _, args := range [][]string{
			{"plan"}, {"plan", "--format", "json"}, {"plan", "--compare"}, {"inventory"}, {"inventory", "--format", "json"},
			{"explain", "app"}, {"explain", "app", "--format", "json"}, {"explain", "app->store"},
		} {
			watched(t, dir, 0, append(args, "--verbose")...)
		}
	})

	t.Run("render asks before it shows", func(t *testing.T) {
		t.Parallel()
		dir := writeCanary(t, nil)
		for _, format := range []string{"yaml", "json"} {
			out := ladder(t, dir, "render", "app", "--format", format)
			_, secrets, _ := strings.Cut(out.stdout, "Secret")
			secrets, _, _ = strings.Cut(secrets, "Deployment")
			wantNoCanary(t, "the Secrets of render --format "+format, secrets)
			if !strings.Contains(out.stdout, "password") {
				t.Errorf("the keys of the Secrets are gone: %s", out.stdout)
			}
			if shown := ladder(t, dir, "render", "app", "--format", format, "--show-secrets"); !strings.Contains(shown.stdout, "url: postgres://app:"+canary) && !strings.Contains(shown.stdout, `"url": "postgres://app:`+canary) {
				t.Errorf("--show-secrets does not show them: %s", shown.stdout)
			}
		}
	})

	t.Run("a platform that works, kept", func(t *testing.T) {
		t.Parallel()
		state := ownHome(t)
		dir := writeCanary(t, nil)
		reportFile := filepath.Join(t.TempDir(), "report.json")
		watched(t, dir, 0, "rehearse", "--keep", "--report", reportFile, "--progress", "plain", "--verbose", "--speed", "600")
		wantNoCanaryInFiles(t, reportFile)
		// An immutable Secret with another value is refused.
		values := filepath.Join(dir, "sources", "values", "app.yaml")
		if err := os.WriteFile(values, []byte("password: other-"+canary+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		watched(t, dir, 1, "rehearse", "--keep", "--report", reportFile, "--progress", "json", "--format", "markdown", "--verbose", "--speed", "600", "--timeout", "20s")
		wantNoCanaryInFiles(t, reportFile)
		wantNoCanaryInFiles(t, state)
	})

	t.Run("what cannot be rendered", func(t *testing.T) {
		t.Parallel()
		state := ownHome(t)
		further := map[string]string{}
		for name, text := range canaryFailures() {
			name = slug(name)
			archive := txtar.Parse([]byte("-- environments/dev/components/" + name + "/component.yaml --\nname: " + name + "\nnamespace: app\nrolloutPhase: \"450\"\n" + strings.ReplaceAll(text, "NAME", name)))
			for _, f := range archive.Files {
				further[f.Name] = string(f.Data)
			}
		}
		dir := writeCanary(t, further)
		for _, format := range []string{"text", "json", "sarif", "github", "markdown"} {
			out := ladder(t, dir, "lint", "--format", format, "--verbose", "--severity", "info")
			wantNoCanary(t, "lint --format "+format, out.stdout+out.stderr)
			for name := range canaryFailures() {
				if !strings.Contains(out.stdout, slug(name)) {
					t.Errorf("lint --format %s says nothing of %s", format, name)
				}
			}
		}
		watched(t, dir, 2, "render", slug("a schema"))
		reportFile := filepath.Join(t.TempDir(), "report.json")
		out := ladder(t, dir, "rehearse", "--keep", "--allow-unrendered", "--report", reportFile, "--progress", "plain", "--verbose", "--speed", "600")
		wantNoCanary(t, "rehearse", out.stdout+out.stderr)
		if !strings.Contains(out.stdout, slug("a literal")) {
			t.Errorf("the rehearsal says nothing of what it could not render: %s%s", out.stdout, out.stderr)
		}
		for _, text := range []string{out.stdout, out.stderr} {
			for _, line := range strings.Split(text, "\n") {
				if strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("%q is a command", line)
				}
			}
		}
		watched(t, dir, 0, "history")
		wantNoCanaryInFiles(t, reportFile)
		wantNoCanaryInFiles(t, state)
	})

	t.Run("what fails", func(t *testing.T) {
		t.Parallel()
		state := ownHome(t)
		further := map[string]string{}
		add := func(name, phase, text string) {
			further["sources/"+name+".yaml"] = text
			further["environments/dev/components/"+name+"/component.yaml"] = "name: " + name +
				"\nnamespace: app\nrolloutPhase: \"" + phase + "\"\nretry: {limit: 1}\nmanifests: {path: sources/" + name + ".yaml}\n"
		}
		add("guards", "120", canaryGuards)
		watched(t, writeCanary(t, further), 0, "rehearse", "--keep", "--progress", "none", "--speed", "600")
		awaitGuards(t, filepath.Join(state, "ladder", "planes", "rehearsal", "plane", "kubeconfig"))
		for name, text := range canaryMistakes() {
			name = slug(name)
			add(name, "450", strings.ReplaceAll(text, "name: broken", "name: "+name))
		}
		dir := writeCanary(t, further)
		reportFile := filepath.Join(t.TempDir(), "report.json")
		out := watched(t, dir, 1, "rehearse", "--keep", "--report", reportFile, "--progress", "plain", "--verbose",
			"--speed", "600", "--on-failure", "continue")
		for name := range canaryMistakes() {
			if !strings.Contains(out.stdout, "✕ "+slug(name)+" ") {
				t.Errorf("%s was not refused: %s", name, out.stdout)
			}
		}
		wantNoCanaryInFiles(t, reportFile)
		wantNoCanaryInFiles(t, state)
	})
}

// canaryFailures are sources that cannot be rendered, each with a secret that the
// error would quote.
func canaryFailures() map[string]string {
	chart := "-- sources/NAME/Chart.yaml --\n{apiVersion: v2, name: c, version: 1.0.0}\n-- sources/NAME/values.yaml --\npassword: CANARY\n"
	return map[string]string{
		"a chart that refuses":      "chart: {path: sources/NAME}\n" + chart + "-- sources/NAME/templates/x.yaml --\n{{ fail (printf \"bad password %s\\n::error::%s\" .Values.password .Values.password) }}\n",
		"a chart that cannot parse": "chart: {path: sources/NAME}\n" + chart + "-- sources/NAME/templates/x.yaml --\n{{ mustToDate \"2006\" .Values.password }}\n",
		"a schema":                  "chart: {path: sources/NAME}\n" + chart + "-- sources/NAME/values.schema.json --\n{\"properties\": {\"password\": {\"pattern\": \"^x$\"}}}\n",
		"a literal":                 "kustomize: {path: sources/NAME}\n-- sources/NAME/kustomization.yaml --\nsecretGenerator: [{name: x, literals: [CANARY]}]\n",
		"an index":                  "kustomize: {path: sources/NAME}\n-- sources/NAME/kustomization.yaml --\nresources: [s.yaml]\nreplacements: [{source: {kind: Secret, name: x, fieldPath: stringData.a, options: {delimiter: /, index: 9}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.a]}]}]\n-- sources/NAME/s.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: CANARY}}\n",
		"an alias":                  "manifests: {path: sources/NAME}\n-- sources/NAME/s.yaml --\n{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: *CANARY}}\n",
	}
}

// wantNoCanaryInFiles looks through a file, or all below a folder but the
// plane's own database, which holds the Secrets as etcd does.
func wantNoCanaryInFiles(t *testing.T, root string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "etcd" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		wantNoCanary(t, path, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Errorf("nothing was kept in %s", root)
	}
}
