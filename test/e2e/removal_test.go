package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// shrinkingPlatform loses its components one after the other: app reads the
// Secret of db, and site needs nothing but the namespace.
const shrinkingPlatform = `
-- ladder.yaml --
layout: single
-- environments/dev/components/namespaces/component.yaml --
name: namespaces
namespace: shop
rolloutPhase: "110"
manifests: {path: sources/namespaces.yaml}
-- sources/namespaces.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: shop}
-- environments/dev/components/db/component.yaml --
name: db
namespace: shop
rolloutPhase: "250"
manifests: {path: sources/db.yaml}
-- sources/db.yaml --
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: simulated}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: example.com/db:1}]}
-- environments/dev/components/app/component.yaml --
name: app
namespace: shop
rolloutPhase: "350"
manifests: {path: sources/app.yaml}
-- sources/app.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
        - name: app
          image: example.com/app:1
          env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]
-- environments/dev/components/site/component.yaml --
name: site
namespace: shop
rolloutPhase: "360"
manifests: {path: sources/site.yaml}
-- sources/site.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: site}
`

// moments are when the components of a report came into a state.
func moments(r report.Rollout, state string) map[string]time.Time {
	m := map[string]time.Time{}
	for _, t := range r.Transitions {
		if t.To == state {
			m[t.Component] = time.Time(t.At)
		}
	}
	return m
}

// shrinking writes the platform and starts a plane for it.
func shrinking(t *testing.T) (p platform, kubeconfig string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(shrinkingPlatform)).Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ownHome(t)
	up := ladder(t, dir, "plane", "up", "shrinking", "--quiet")
	if up.code != 0 {
		t.Fatalf("plane up: %s", up.stderr)
	}
	return platform{t, dir}, strings.TrimSpace(up.stdout)
}

// TestVanishedComponentsAreRemoved rehearses a platform on a kept plane, takes
// components out of the repository, and rehearses again: they go in reverse of
// the order that the repository no longer knows.
func TestVanishedComponentsAreRemoved(t *testing.T) {
	t.Parallel()
	p, kubeconfig := shrinking(t)
	objects := func() []string {
		return slices.DeleteFunc(ownedObjects(t, kubeconfig), func(o string) bool {
			return strings.HasPrefix(o, "events.k8s.io/") || strings.HasPrefix(o, "/Event/")
		})
	}
	play := func(wantCode int) report.Rollout {
		t.Helper()
		r, out := rehearsal(t, p.dir, "--plane", "shrinking", "--policy", "edges")
		if out.code != wantCode {
			t.Fatalf("exit code %d, want %d: %s\n%s", out.code, wantCode, out.stdout, out.stderr)
		}
		return r
	}
	play(0)
	if all := objects(); len(all) != 5 {
		t.Fatalf("the platform is not there: %v", all)
	}

	p.remove("db")
	p.remove("app")
	r := play(0)
	want := map[string]string{"namespaces": "healthy", "site": "healthy", "app": "removed", "db": "removed"}
	if diff := cmp.Diff(want, states(&r)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	began, gone, healthy := moments(r, "removing"), moments(r, "removed"), moments(r, "healthy")
	if gone["app"].IsZero() || began["db"].Before(gone["app"]) {
		t.Errorf("db is deleted from %s, app is gone at %s", began["db"], gone["app"])
	}
	if began["app"].Before(healthy["site"]) {
		t.Errorf("app is deleted from %s, site is Healthy at %s", began["app"], healthy["site"])
	}
	rest := []string{"/ConfigMap/shop/site site", "/Namespace//shop namespaces"}
	if diff := cmp.Diff(rest, objects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}

	// The namespace holds what stays: nothing is lost, and the report says why.
	file := p.descriptor("namespaces")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.remove("namespaces")
	r = play(1)
	refused := byName(r)["namespaces"]
	if r.Result != "failed" || refused.State != "failed" || !refused.Removal || !strings.Contains(refused.Message, "site (ConfigMap shop/site)") {
		t.Errorf("result %s, %+v", r.Result, refused)
	}
	if diff := cmp.Diff(rest, objects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}

	// A disabled component is one that no Application is generated for.
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	p.edit(p.descriptor("site"), "name: site\n", "name: site\nenabled: false\n")
	r = play(0)
	if state := byName(r)["site"].State; state != "removed" {
		t.Errorf("the disabled component is %s", state)
	}
	if diff := cmp.Diff(rest[1:], objects()); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	r = play(0)
	if state := byName(r)["site"].State; state != "skipped" {
		t.Errorf("the next time the disabled component is %s", state)
	}
}

// TestKilledRemovalIsResumed kills a rehearsal while it deletes: the next one
// goes on with it, in the same order.
func TestKilledRemovalIsResumed(t *testing.T) {
	t.Parallel()
	p, kubeconfig := shrinking(t)
	p.edit("sources/app.yaml", "kind: Deployment\nmetadata: {name: app}", "kind: Deployment\nmetadata: {name: app, finalizers: [example.com/hold]}")
	args := []string{"--plane", "shrinking", "--policy", "edges"}
	if r, out := rehearsal(t, p.dir, args...); out.code != 0 {
		t.Fatalf("exit code %d, %s: %s", out.code, r.Result, out.stderr)
	}
	p.remove("db")
	p.remove("app")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apps := client.AppsV1()
	b := start(t, p.dir, append([]string{"rehearse", "--progress", "none"}, args...)...)
	eventually(t, func() error {
		app, err := apps.Deployments("shop").Get(t.Context(), "app", metav1.GetOptions{})
		if err == nil && app.DeletionTimestamp == nil {
			err = errors.New("app is not being deleted")
		}
		return err
	})
	if err := b.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-b.done
	if db, err := apps.StatefulSets("shop").Get(t.Context(), "db", metav1.GetOptions{}); err != nil || db.DeletionTimestamp != nil {
		t.Errorf("db is deleted before app is gone: %v", err)
	}
	if _, err := apps.Deployments("shop").Patch(t.Context(), "app", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	r, out := rehearsal(t, p.dir, args...)
	if out.code != 0 {
		t.Fatalf("exit code %d, %s: %s", out.code, r.Result, out.stderr)
	}
	if again := byName(r)["app"]; again.State != "removed" || again.Attempts < 2 {
		t.Errorf("app was not taken up again: %+v", again)
	}
	if began, gone := moments(r, "removing"), moments(r, "removed"); gone["db"].IsZero() || began["db"].Before(gone["app"]) {
		t.Errorf("db is deleted from %s until %s, app is gone at %s", began["db"], gone["db"], gone["app"])
	}
}
