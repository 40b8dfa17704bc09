package bootstrap_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

func unchanged() map[string]string {
	return map[string]string{
		"sources": "done", "cluster": "done", "pre-argo": "unchanged", "secrets": "unchanged", "argocd": "unchanged", "root": "unchanged", "platform": "done",
	}
}

// TestBootstrap takes one plane from nothing to a platform that is up, and looks
// at every way there and back.
func TestBootstrap(t *testing.T) {
	w := newWorld(t)

	t.Run("a dry run changes nothing", func(t *testing.T) {
		w.t = t
		before := w.versions()
		b := w.run(t.Context(), func(o *bootstrap.Options) { o.DryRun = true })
		if b.Result != report.BootstrapPlanned {
			t.Errorf("result %s", b.Result)
		}
		if diff := cmp.Diff(before, w.versions()); diff != "" {
			t.Error(diff)
		}
		if got := action(b, "Deployment argocd/argocd-server").Action; got != "created" {
			t.Errorf("it would be %q", got)
		}
	})

	t.Run("interrupted anywhere", func(t *testing.T) {
		w.t = t
		random := rand.New(rand.NewSource(1))
		ended := map[string]int{}
		for range 25 {
			ctx, cancel := context.WithCancel(t.Context())
			timer := time.AfterFunc(time.Duration(random.Int63n(int64(1200*time.Millisecond))), cancel)
			b := w.run(ctx, nil)
			timer.Stop()
			cancel()
			if b.Result != report.BootstrapInterrupted {
				t.Fatalf("result %s: %+v", b.Result, states(b))
			}
			for name, state := range states(b) {
				if state == report.StageInterrupted {
					ended[name]++
				}
			}
		}
		t.Logf("stages that were interrupted: %v", ended)
	})

	t.Run("without a controller the time runs out", func(t *testing.T) {
		w.t = t
		b := w.run(t.Context(), func(o *bootstrap.Options) { o.Config.Wait.Timeout = 5 * time.Second })
		if b.Result != report.BootstrapTimedOut {
			t.Fatalf("result %s: %+v", b.Result, b.Stages)
		}
		got := stage(b, "platform").Waiting
		want := []report.BootstrapWait{
			{What: "Application root", Reason: "Argo CD has not compared the Application yet", Declared: "bootstrap/root.yaml:8"},
			{What: "Application database", Reason: "the Application does not exist", Declared: "environments/dev/components/database/component.yaml:1"},
			{What: "Application data-smoke", Reason: "the Application does not exist", Declared: "environments/dev/components/data-smoke/component.yaml:1"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})

	argoCD := w.startController()
	t.Run("converges", func(t *testing.T) {
		w.t = t
		b := w.run(t.Context(), nil)
		if b.Result != report.BootstrapSucceeded {
			t.Fatalf("result %s: %+v", b.Result, b.Stages)
		}
		w.checkObjects()
	})

	t.Run("again nothing changes", func(t *testing.T) {
		w.t = t
		before := w.versions()
		b := w.run(t.Context(), nil)
		if diff := cmp.Diff(unchanged(), states(b)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(before, w.versions()); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("Argo CD takes over", func(t *testing.T) {
		w.t = t
		w.checkAdoption()
	})

	t.Run("settings that came with Argo CD", func(t *testing.T) {
		w.t = t
		const key = "resource.customizations.ignoreResourceUpdates.all"
		set := func(value string) {
			patch := `{"data": {"` + key + `": ` + value + `}}`
			_, err := w.client.Resource(core("configmaps")).Namespace("argocd").Patch(t.Context(), "argocd-cm", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "kubectl-edit"})
			if err != nil {
				t.Fatal(err)
			}
		}
		// The repository has the settings of the platform only, and Argo CD applies those.
		cm := w.get(core("configmaps"), "argocd", "argocd-cm")
		exclusions, _, _ := unstructured.NestedString(cm.Object, "data", "resource.exclusions")
		part := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "argocd-cm", "namespace": "argocd"}, "data": map[string]any{"resource.exclusions": exclusions},
		}}
		_, err := w.client.Resource(core("configmaps")).Namespace("argocd").Apply(t.Context(), "argocd-cm", part, metav1.ApplyOptions{FieldManager: bootstrap.ArgoManager, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		w.checkInstalled()
		set("null") // as an older bootstrap left it
		w.run(t.Context(), nil)
		w.checkInstalled()
		set(`"mine"`)
		if b := w.run(t.Context(), nil); b.Result != report.BootstrapSucceeded {
			t.Errorf("result %s", b.Result)
		}
		data, _, _ := unstructured.NestedStringMap(w.get(core("configmaps"), "argocd", "argocd-cm").Object, "data")
		if data[key] != "mine" {
			t.Errorf("what somebody has changed is %q", data[key])
		}
		set(`"jsonPointers: [/status]\n"`)
	})

	t.Run("parameters that change are read again", func(t *testing.T) {
		w.t = t
		w.edit("bootstrap/argocd/settings.yaml", `progressive.syncs: "true"`, `progressive.syncs: "false"`)
		b := w.run(t.Context(), nil)
		if b.Result != report.BootstrapSucceeded || action(b, "ConfigMap argocd/argocd-cmd-params-cm").Action != "changed" {
			t.Fatalf("result %s: %+v", b.Result, states(b))
		}
		for name, restarted := range map[string]bool{"argocd-applicationset-controller": true, "argocd-redis": false} {
			notes, _, _ := unstructured.NestedStringMap(w.get(apps("deployments"), "argocd", name).Object, "spec", "template", "metadata", "annotations")
			if got := notes["ladder.rollout-ladder.dev/restarted-for"] != ""; got != restarted {
				t.Errorf("%s restarted: %v", name, got)
			}
		}
		if diff := cmp.Diff("unchanged", states(w.run(t.Context(), nil))["argocd"]); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("what is not green is named", func(t *testing.T) {
		w.t = t
		argoCD.set("shop", "Degraded")
		b := w.run(t.Context(), nil)
		argoCD.set("shop", "")
		want := []report.BootstrapWait{{What: "Application shop", Reason: "its health is Degraded: as the test says", Declared: "environments/dev/components/shop/component.yaml:1"}}
		if diff := cmp.Diff(want, stage(b, "platform").Waiting); diff != "" || b.Result != report.BootstrapFailed {
			t.Errorf("result %s: %s", b.Result, diff)
		}
	})

	t.Run("a smoke that does not hold is named", func(t *testing.T) {
		w.t = t
		w.edit("environments/dev/components/data-smoke/component.yaml", "keys: [password]", "keys: [password, host]")
		b := w.run(t.Context(), nil)
		want := []report.BootstrapWait{{What: "data-smoke: secret Secret shop/database-app", Reason: "has no key host", Declared: "environments/dev/components/data-smoke/component.yaml:9"}}
		if diff := cmp.Diff(want, stage(b, "platform").Waiting); diff != "" || b.Result != report.BootstrapFailed {
			t.Errorf("result %s: %s", b.Result, diff)
		}
		w.edit("environments/dev/components/data-smoke/component.yaml", "keys: [password, host]", "keys: [password]")
	})

	t.Run("the password is shown on request only", func(t *testing.T) {
		w.t = t
		const password = "canary-admin-31337"
		_, err := w.client.Resource(core("secrets")).Namespace("argocd").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "argocd-initial-admin-secret"},
			"data": map[string]any{"password": base64.StdEncoding.EncodeToString([]byte(password))},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if b := w.run(t.Context(), nil); b.AdminPassword != "" || strings.Contains(w.said.String(), password) {
			t.Error("it shows without being asked for")
		}
		outcome, err := bootstrap.Run(t.Context(), w.options(func(o *bootstrap.Options) { o.ShowAdminPassword = true }))
		if err != nil || outcome.Report.AdminPassword != password {
			t.Errorf("got %q, %v", outcome.Report.AdminPassword, err)
		}
		// It is wanted most where something failed.
		argoCD.set("shop", "Degraded")
		outcome, err = bootstrap.Run(t.Context(), w.options(func(o *bootstrap.Options) { o.ShowAdminPassword = true }))
		argoCD.set("shop", "")
		if err != nil || outcome.Report.Result != report.BootstrapFailed || outcome.Report.AdminPassword != password {
			t.Errorf("result %s: got %q, %v", outcome.Report.Result, outcome.Report.AdminPassword, err)
		}
	})

	t.Run("nothing but Secrets holds a secret", func(t *testing.T) {
		w.t = t
		w.checkCanaries()
	})
}

// checkObjects looks at what a bootstrap has made.
func (w *world) checkObjects() {
	t := w.t
	data := func(namespace, name string) map[string]string {
		o := w.get(core("secrets"), namespace, name)
		encoded, _, _ := unstructured.NestedStringMap(o.Object, "data")
		out := map[string]string{}
		for key, value := range encoded {
			text, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				t.Fatal(err)
			}
			out[key] = string(text)
		}
		return out
	}
	for name, tc := range map[string]struct{ got, want map[string]string }{
		"repository":  {data("argocd", "platform"), map[string]string{"type": "git", "url": "https://git.example.com/acme/platform.git", "username": "git", "password": canaryToken}},
		"credentials": {data("argocd", "acme"), map[string]string{"type": "git", "url": "https://git.example.com/acme", "sshPrivateKey": sshKey}},
		"seal":        {data("vault", "seal"), map[string]string{"key": canarySeal}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for name, want := range map[string]string{"platform": "repository", "acme": "repo-creds"} {
		if got := w.get(core("secrets"), "argocd", name).GetLabels()["argocd.argoproj.io/secret-type"]; got != want {
			t.Errorf("Secret %s is of type %q", name, got)
		}
	}
	var docker struct {
		Auths map[string]struct{ Username, Password, Auth string }
	}
	for _, ns := range []string{"default", "shop"} {
		if err := json.Unmarshal([]byte(data(ns, "registry")[".dockerconfigjson"]), &docker); err != nil {
			t.Fatal(err)
		}
		auth := docker.Auths["registry.example.com"]
		if auth.Username != canaryUser || auth.Password != canaryRegistry || auth.Auth != base64.StdEncoding.EncodeToString([]byte(canaryUser+":"+canaryRegistry)) {
			t.Errorf("pull Secret of %s: %d accounts", ns, len(docker.Auths))
		}
	}
	// The settings lie over the ConfigMap of the installation, which keeps its labels.
	cm := w.get(core("configmaps"), "argocd", "argocd-cm")
	text, _, _ := unstructured.NestedString(cm.Object, "data", "resource.exclusions")
	if cm.GetLabels()["app.kubernetes.io/part-of"] != "argocd" || !strings.Contains(text, "events.k8s.io") {
		t.Errorf("argocd-cm: %v, %q", cm.GetLabels(), text)
	}
	if got := managers(cm); !cmp.Equal(got, []string{"argocd-controller Apply", "ladder-bootstrap Apply"}) {
		t.Errorf("managers of argocd-cm: %v", got)
	}
	w.checkInstalled()
}

// checkInstalled sees that the settings which came with Argo CD are there: a repository does not have them, and
// Argo CD must not take them away when it applies what the repository has.
func (w *world) checkInstalled() {
	w.t.Helper()
	for name, key := range map[string]string{"argocd-cm": "resource.customizations.ignoreResourceUpdates.all", "argocd-cmd-params-cm": "log.level"} {
		data, _, _ := unstructured.NestedStringMap(w.get(core("configmaps"), "argocd", name).Object, "data")
		if data[key] == "" {
			w.t.Errorf("%s has no %s: %v", name, key, data)
		}
	}
}

// managers are those of the fields of an object, status aside.
func managers(o *unstructured.Unstructured) []string {
	var out []string
	for _, f := range o.GetManagedFields() {
		if f.Subresource == "" {
			out = append(out, f.Manager+" "+string(f.Operation))
		}
	}
	slices.Sort(out)
	return out
}

// checkAdoption has Argo CD apply what a bootstrap has applied before, in both of
// its ways, and sees that it owns every field then, and that the bootstrap keeps
// away.
func (w *world) checkAdoption() {
	t := w.t
	ctx := t.Context()
	deployments := w.client.Resource(apps("deployments")).Namespace("kube-system")

	// Server-side, with a field less than before and one that is other.
	desired := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "network", "annotations": map[string]any{"argocd.argoproj.io/tracking-id": "network:/Service:kube-system/network"}},
		"spec":     map[string]any{"selector": map[string]any{"app": "network"}, "ports": []any{map[string]any{"port": int64(81)}}},
	}}
	services := w.client.Resource(core("services")).Namespace("kube-system")
	force := true
	body, err := json.Marshal(desired.Object)
	if err != nil {
		t.Fatal(err)
	}
	after, err := services.Patch(ctx, "network", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "argocd-controller", Force: &force})
	if err != nil {
		t.Fatal(err)
	}
	ports, _, _ := unstructured.NestedSlice(after.Object, "spec", "ports")
	if len(ports) != 1 || ports[0].(map[string]any)["port"] != int64(81) {
		t.Errorf("the port that Git does not have any more is still there: %v", ports)
	}
	if diff := cmp.Diff([]string{"argocd-controller Apply"}, managers(after)); diff != "" {
		t.Error(diff)
	}
	if _, marked := after.GetAnnotations()["ladder.rollout-ladder.dev/bootstrap"]; marked {
		t.Error("the mark of the bootstrap is still there")
	}

	// Client-side, where Argo CD tracks by a label only.
	patch := []byte(`{"metadata":{"labels":{"app.kubernetes.io/instance":"network"}},"spec":{"replicas":2}}`)
	if _, err := deployments.Patch(ctx, "network", types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: "argocd-controller"}); err != nil {
		t.Fatal(err)
	}

	// Somebody else has changed what nobody has adopted: that is taken back.
	config := []byte(`{"metadata":{"labels":{"app.kubernetes.io/part-of":"somebody"}}}`)
	if _, err := w.client.Resource(core("configmaps")).Namespace("argocd").Patch(ctx, "argocd-rbac-cm", types.MergePatchType, config, metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}

	before := w.get(core("services"), "kube-system", "network").GetResourceVersion()
	w.edit("bootstrap/early/network.yaml", "ports: [{port: 80}]", "ports: [{port: 82}]")
	w.edit("bootstrap/early/network.yaml", "replicas: 1", "replicas: 3")
	b := w.run(ctx, nil)
	if b.Result != report.BootstrapSucceeded {
		t.Fatalf("result %s: %+v", b.Result, b.Stages)
	}
	for object, want := range map[string]report.BootstrapObject{
		"Service kube-system/network":     {Action: "adopted", By: "Application network"},
		"Deployment kube-system/network":  {Action: "adopted", By: "Argo CD"},
		"ConfigMap argocd/argocd-rbac-cm": {Action: "changed"},
		"Widget kube-system/default":      {Action: "unchanged"},
	} {
		want.Object = object
		if diff := cmp.Diff(want, action(b, object)); diff != "" {
			t.Error(diff)
		}
	}
	if now := w.get(core("services"), "kube-system", "network").GetResourceVersion(); now != before {
		t.Error("the bootstrap has changed what Argo CD looks after")
	}
}

// checkCanaries looks for secrets in all that was said, and in all objects but
// Secrets.
func (w *world) checkCanaries() {
	t := w.t
	var all strings.Builder
	all.WriteString(w.said.String())
	for _, name := range []string{"configmaps", "events", "services", "namespaces"} {
		list, err := w.client.Resource(core(name)).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, canary := range []string{canaryToken, canaryUser, canarySeal, canaryRegistry, canaryKeyLine} {
		for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
			if i := strings.Index(all.String(), form); i >= 0 {
				t.Errorf("%s shows: %.200s", canary, all.String()[max(0, i-100):])
			}
		}
	}
	if !strings.Contains(all.String(), "Secret argocd/") {
		t.Error("nothing was looked at")
	}
}
