package operator

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/rule/confined"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
	"github.com/rollout-ladder/ladder/internal/simulate/world"
)

// bucketRule needs a key of a Secret and makes one that holds a password.
const bucketRule = `
operators:
  - for: acme.example.com/Bucket
    controller: [{name: bucket-operator}]
    delay: 10s
    requires:
      - kind: Secret
        object: "${self.spec.credentials}"
        keys: "['token']"
        waiting:
          conditions: [{type: Ready, status: "False", message: "${missing.name} ${missing.found ? 'has no ' + missing.key : 'not found'}"}]
    children:
      - object:
          apiVersion: v1
          kind: Secret
          metadata: {name: "${self.metadata.name}-access"}
          stringData: {password: secret}
    status:
      ready: {conditions: [{type: Ready, status: "True", message: made}]}
`

func TestCourseOfAnObject(t *testing.T) {
	t.Run("by rules of the program", func(t *testing.T) { courseOfAnObject(t, newBench(t, bucketRule, settings.Config{})) })
	t.Run("by rules of a repository", func(t *testing.T) {
		set := &rule.Set{}
		if err := set.AddElsewhere(t.Context(), confined.Rules{}, "own.yaml", []byte("apiVersion: "+rule.APIVersion+"\n"+bucketRule)); err != nil {
			t.Fatal(err)
		}
		courseOfAnObject(t, newBenchOf(t, set, settings.Config{}))
	})
}

func courseOfAnObject(t *testing.T, b *bench) {
	t.Helper()
	b.bucket("{metadata: {name: one, annotations: {ladder.rollout-ladder.dev/component: files, ladder.rollout-ladder.dev/revision: r7}}, spec: {credentials: token}}")
	want := func(when, status string) {
		t.Helper()
		if got := b.status("one"); got != status {
			t.Errorf("%s the status is %q, want %q", when, got, status)
		}
	}

	if again := b.look("one"); again != 0 {
		t.Errorf("without a controller nobody looks again, yet in %s", again)
	}
	want("without a controller", "")
	b.workload("bucket-operator", 0)
	b.step(time.Hour)
	b.look("one")
	want("while its pods are not ready", "")

	b.workload("bucket-operator", 1)
	if again := b.look("one"); again != moments {
		t.Errorf("looks again in %s, want %s: what is applied together comes within moments", again, moments)
	}
	want("within moments", "")
	b.step(moments)
	b.look("one")
	want("without the Secret", "False token not found")
	b.secret("token")
	b.look("one")
	want("without the key", "False token has no token")

	b.secret("token", "token")
	if again := b.look("one"); again <= 0 {
		t.Error("nobody looks when the work of the controller is done")
	}
	want("while the controller works", "False token has no token")
	if b.made(secrets, "one-access") != nil {
		t.Error("made at once, though the controller needs 10s")
	}
	b.step(time.Hour)
	b.look("one")
	want("in the end", "True made")

	child := b.made(secrets, "one-access")
	if child == nil {
		t.Fatal("there is no child")
	}
	if owner := metav1.GetControllerOf(child); owner == nil || owner.Name != "one" || owner.UID != "uid-one" {
		t.Errorf("the child belongs to %v", owner)
	}
	for annotation, value := range map[string]string{world.ComponentAnnotation: "files", world.RevisionAnnotation: "r7"} {
		if child.GetAnnotations()[annotation] != value {
			t.Errorf("the child has %s=%q, want %q", annotation, child.GetAnnotations()[annotation], value)
		}
	}
	data, _, _ := unstructured.NestedString(child.Object, "data", "password")
	if text, err := base64.StdEncoding.DecodeString(data); err != nil || string(text) != "secret" {
		t.Errorf("the child holds %q", text)
	}

	// An object of the same name that was made anew starts afresh.
	if err := b.dynamic.Resource(buckets).Namespace(space).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		// Until the cache lacks it the object is there for the engine.
		if b.engine.kinds.object(group+"/Bucket", space, "one") != nil {
			return errLagging
		}
		_, err := b.engine.sync(t.Context(), key(group+"/Bucket", space, "one"))
		return err
	})
	if len(b.engine.objects)+len(b.engine.owned) != 0 {
		t.Errorf("something is remembered of an object that is gone: %v %v", b.engine.objects, b.engine.owned)
	}
}

// TestChildrenMustBeReady makes an object wait for the Deployment that it makes.
func TestChildrenMustBeReady(t *testing.T) {
	b := newBench(t, `
operators:
  - for: acme.example.com/Bucket
    children:
      - object: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${self.metadata.name}-server"}, spec: {replicas: 1}}
    status:
      ready: {conditions: [{type: Ready, status: "True", message: up}]}
      waiting: {conditions: [{type: Ready, status: "False", message: down}]}
`, settings.Config{})
	b.bucket("{metadata: {name: one}}")
	b.look("one")
	if b.made(deployments, "one-server") == nil {
		t.Fatal("a rule without a controller needs none, yet it made nothing")
	}
	if got := b.status("one"); got != "False down" {
		t.Errorf("without ready pods the status is %q", got)
	}
	b.workload("one-server", 1)
	b.look("one")
	if got := b.status("one"); got != "True up" {
		t.Errorf("with ready pods the status is %q", got)
	}
	b.workload("one-server", 0)
	b.look("one")
	if got := b.status("one"); got != "False down" {
		t.Errorf("when the pods are gone the status is %q", got)
	}
}

// TestRequiredKindWithoutRule makes an object wait for one of a kind that no
// rule is for, and that is served only later. No time passes: what happens wakes
// the engine, which asks the API server for no object.
func TestRequiredKindWithoutRule(t *testing.T) {
	b := newBench(t, `
operators:
  - for: acme.example.com/Bucket
    requires:
      - object: front
        kind: acme.example.com/Proxy
    status:
      ready: {conditions: [{type: Ready, status: "True", message: up}]}
      waiting: {conditions: [{type: Ready, status: "False", message: "${missing.found ? 'found' : 'none'}"}]}
`, settings.Config{})
	go b.engine.loop.Run(t.Context(), 2, b.engine.sync)
	b.bucket("{metadata: {name: one}}")
	b.eventually(func() error {
		if len(b.engine.waiting.OnKind(group+"/Proxy")) == 0 {
			return errors.New("nobody waits for the proxy")
		}
		return nil
	})
	b.engine.definition(definitionOf("Proxy", proxies), false)
	b.eventually(func() error {
		if k := b.engine.kinds.get(group + "/Proxy"); k == nil || k.informer == nil || !k.informer.HasSynced() {
			return errors.New("proxies are not followed")
		}
		return nil
	})
	proxy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Proxy", "metadata": map[string]any{"name": "front", "namespace": space},
	}}
	if _, err := b.dynamic.Resource(proxies).Namespace(space).Create(t.Context(), proxy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		if got := b.status("one"); got != "True up" {
			return fmt.Errorf("with the proxy the status is %q", got)
		}
		return nil
	})
	for _, a := range b.dynamic.Actions() {
		if a.GetVerb() == "get" && a.GetResource() == proxies {
			t.Error("a proxy was read, though proxies are followed")
		}
	}
}

func TestFaults(t *testing.T) {
	rules := `
operators:
  - for: acme.example.com/Bucket
    status:
      ready: {conditions: [{type: Ready, status: "True", message: up}]}
      waiting: {conditions: [{type: Ready, status: "False", message: "${held ? 'held' : 'waits'}"}]}
`
	none := 0.0
	cases := map[string]struct {
		fault settings.FaultKind
		steps []string // the status after each half minute
	}{
		"none":        {"", []string{"True up", "True up", "True up"}},
		"never ready": {settings.NeverReady, []string{"False held", "False held", "False held"}},
		"crash":       {settings.Crash, []string{"False held"}},
		// 60s up, 30s down.
		"flap": {settings.Flap, []string{"True up", "True up", "False held", "True up", "True up", "False held"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, rules, settings.Config{Jitter: &none, Components: map[string]settings.Component{
				"files": {Delay: time.Second, Fault: settings.Fault{Kind: tc.fault}},
			}})
			b.bucket("{metadata: {name: one, annotations: {ladder.rollout-ladder.dev/component: files}}}")
			b.look("one")
			b.step(time.Second) // what the component takes
			for i, want := range tc.steps {
				b.look("one")
				if got := b.status("one"); got != want {
					t.Errorf("after %ds the status is %q, want %q", 30*i, got, want)
				}
				b.step(30 * time.Second)
			}
		})
	}
}

// TestFirstRuleWithAControllerWins has two rules of one controller's name, and
// one of another controller, which applies as well.
func TestFirstRuleWithAControllerWins(t *testing.T) {
	b := newBench(t, `
operators:
  - {for: acme.example.com/Bucket, when: "self.spec.fast", status: {ready: {by: fast}}}
  - {for: acme.example.com/Bucket, controller: [{name: second}], status: {ready: {by: second}}}
  - {for: acme.example.com/Bucket, status: {ready: {by: third}}}
  - {for: acme.example.com/Bucket, name: shim, status: {ready: {shim: "yes"}}}
  - {for: acme.example.com/Other, status: {ready: {by: other}}}
`, settings.Config{})
	b.bucket("{metadata: {name: slow}, spec: {fast: false}}")
	b.bucket("{metadata: {name: fast}, spec: {fast: true}}")
	chosenFor := func(name string) (by []string) {
		t.Helper()
		k := b.engine.kinds.get(group + "/Bucket")
		list, err := b.engine.choose(t.Context(), k, b.engine.kinds.object(k.id, space, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			status, err := c.rule.Ready.Map(t.Context(), rule.Scope{})
			if err != nil {
				t.Fatal(err)
			}
			if status["by"] != nil {
				by = append(by, status["by"].(string))
			} else {
				by = append(by, "shim")
			}
		}
		return by
	}
	wantList := func(when string, got []string, want ...string) {
		t.Helper()
		if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	wantList("fast", chosenFor("fast"), "fast", "shim")
	wantList("without a controller", chosenFor("slow"), "third", "shim")
	b.workload("second", 1)
	wantList("with one", chosenFor("slow"), "second", "shim")
}

// TestInstaller makes what a workload makes when it runs, once.
func TestInstaller(t *testing.T) {
	b := newBench(t, `
installers:
  - name: acme
    controller: [{name: bucket-operator}]
    definitions: [{group: acme.example.com, kind: Policy, plural: policies, versions: [v1, v2]}]
    objects:
      - object: {apiVersion: v1, kind: Secret, metadata: {name: "${self.metadata.name}-ca"}, stringData: {ca.crt: x}}
      - when: "false"
        object: {apiVersion: v1, kind: Secret, metadata: {name: never}}
operators:
  - for: acme.example.com/Bucket
`, settings.Config{})
	install := func() {
		t.Helper()
		if _, err := b.engine.sync(t.Context(), key(installerID, "", "0")); err != nil {
			t.Fatal(err)
		}
	}
	install()
	if b.made(secrets, "bucket-operator-ca") != nil {
		t.Error("installed though the workload is not there")
	}
	b.workload("bucket-operator", 1)
	install()
	ca := b.made(secrets, "bucket-operator-ca")
	if ca == nil || b.made(secrets, "never") != nil {
		t.Errorf("the Secret is %v", ca)
	}
	definition, err := b.dynamic.Resource(definitionResource).Get(t.Context(), "policies.acme.example.com", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if len(versions) != 2 || versions[0].(map[string]any)["storage"] != false || versions[1].(map[string]any)["storage"] != true {
		t.Errorf("the last version is the stored one, got %v", versions)
	}
	install() // what is there is left alone
	if _, err := b.engine.sync(t.Context(), key(installerID, "", "7")); err != nil {
		t.Errorf("an installer of rules that have been replaced: %v", err)
	}
}
