package analysis

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// charts is a platform with charts that are not rendered offline: one that the
// catalogue knows, one that it does not, and one beside manifests.
const charts = `
-- environments/dev/components/certificates/component.yaml --
name: certificates
domain: cluster
namespace: cert-manager
rolloutPhase: "120"
componentType: operator
chart: {repoURL: "https://charts.jetstack.io", name: cert-manager, version: v1.21.1, values: {crds: {enabled: true}}}
-- environments/dev/components/unknown/component.yaml --
name: unknown
domain: cluster
namespace: unknown
rolloutPhase: "120"
componentType: operator
chart: {repoURL: "https://charts.example.com", name: unknown, version: 1.0.0}
-- environments/dev/components/platform/component.yaml --
name: platform
domain: cluster
namespace: platform
rolloutPhase: "130"
componentType: config
kustomize: {path: platform}
-- environments/dev/components/issuer/component.yaml --
name: issuer
domain: apps
namespace: apps
rolloutPhase: "110"
componentType: config
manifests: {path: issuer}
-- environments/prod/components/issuer/component.yaml --
name: issuer
domain: apps
namespace: apps
rolloutPhase: "110"
componentType: config
manifests: {path: issuer}
-- issuer/issuer.yaml --
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: own}
spec: {selfSigned: {}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {argocd.argoproj.io/sync-wave: "-1", argocd.argoproj.io/sync-options: "Prune=false, Delete=false"}}
spec: {storageClassName: longhorn}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {a: b}}
---
apiVersion: v1
kind: Pod
metadata: {name: test, annotations: {helm.sh/hook: test}}
-- platform/kustomization.yaml --
resources: [settings.yaml]
helmCharts:
- {name: longhorn, repo: "https://charts.longhorn.io", version: 1.11.0, releaseName: longhorn, namespace: longhorn-system, includeCRDs: true}
-- platform/settings.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
`

func load(t *testing.T, platform string) *Result {
	t.Helper()
	r, err := Load(context.Background(), extract(t, platform), Options{Environment: "dev", Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCatalogueStandsIn: what depends on charts that are not rendered is found,
// with its basis, and the charts stay listed.
func TestCatalogueStandsIn(t *testing.T) {
	r := load(t, charts)
	var got []string
	for _, u := range r.Unrendered {
		got = append(got, "unrendered "+u.Component+" "+u.Position.String())
	}
	for name, objects := range r.Partial {
		for _, o := range objects {
			got = append(got, "part of "+name+" "+o.GetKind()+" "+o.GetName())
		}
	}
	for _, d := range r.Dependencies {
		got = append(got, fmt.Sprintf("%s %s of %s (%s)", d.Consumer.Component, d.Reason, d.Provider.Component, d.Basis))
	}
	for _, o := range r.Objects["issuer"] {
		if o.GetKind() == "ClusterIssuer" && o.Target != "" {
			t.Errorf("the scope of a kind that only the catalogue knows: %q", o.Target)
		}
	}
	want := []string{
		"unrendered certificates environments/dev/components/certificates/component.yaml:6",
		"unrendered unknown environments/dev/components/unknown/component.yaml:6",
		"unrendered platform platform/kustomization.yaml:3",
		"part of platform ConfigMap settings",
		"issuer is of kind ClusterIssuer of cert-manager.io of certificates (catalogue)",
		"issuer is admitted by webhook webhook.cert-manager.io of certificates (catalogue)",
		"issuer stores in StorageClass longhorn of platform (catalogue)",
	}
	has := map[string]bool{}
	for _, line := range got {
		has[line] = true
	}
	for _, line := range want {
		if !has[line] {
			t.Errorf("missing: %s", line)
		}
	}
	if t.Failed() {
		t.Logf("%q", got)
	}
}

// TestLint: rules are told of the objects that a sync applies, where they stand
// and who assesses them.
func TestLint(t *testing.T) {
	in := load(t, charts).Lint()
	if diff := cmp.Diff([]string{"certificates", "unknown", "platform"}, in.Unrendered); diff != "" {
		t.Errorf("unrendered (-want +got):\n%s", diff)
	}
	var got []string
	for _, o := range in.Objects {
		got = append(got, fmt.Sprintf("%s %s wave %d %v %v health %q", o.Component, o.Resource.Human(), o.Place.Wave, o.SyncOptions, o.Labels, o.Health))
	}
	want := []string{
		`issuer ClusterIssuer own wave 0 [] map[] health "builtin"`,
		`issuer PersistentVolumeClaim apps/data wave -1 [Prune=false Delete=false] map[] health "builtin"`,
		`issuer ConfigMap apps/settings wave 0 [] map[a:b] health ""`,
		`platform ConfigMap platform/settings wave 0 [] map[] health ""`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if in.Environment != "dev" || len(in.Components) != 4 || len(in.Dependencies) == 0 {
		t.Errorf("environment %s, %d components, %d dependencies", in.Environment, len(in.Components), len(in.Dependencies))
	}
}

func TestLoadAll(t *testing.T) {
	dir := extract(t, charts)
	o := Options{Offline: true, NoCache: true}
	names := func() []string {
		all, err := LoadAll(context.Background(), dir, o)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range all {
			out = append(out, fmt.Sprintf("%s %d", r.Platform.Environment, len(r.Platform.Components)))
		}
		return out
	}
	if diff := cmp.Diff([]string{"dev 4", "prod 1"}, names()); diff != "" {
		t.Errorf("environments (-want +got):\n%s", diff)
	}
	o.Environment = "prod"
	if diff := cmp.Diff([]string{"prod 1"}, names()); diff != "" {
		t.Errorf("one environment (-want +got):\n%s", diff)
	}
	o.Environment = "mars"
	if _, err := LoadAll(context.Background(), dir, o); err == nil {
		t.Error("an environment that does not exist was loaded")
	}
}
