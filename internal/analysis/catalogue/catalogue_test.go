package catalogue

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/operators"
)

func mustDecode(t *testing.T, text string) []Entry {
	t.Helper()
	entries, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// things is an entry with everything in it.
const things = `
- chart: things
  repositories: [https://charts.example.com/stable/, oci://registry.example.com/charts/things]
  manifests: [github.com/example/things/config/**, github.com/example/things/releases/download/*/things.yaml]
  version: 1.2.3
  source: [example/things@0123456789ab:charts/things]
  crds:
  - {list: [things.example.com Thing v1], when: {any: [{value: crds.enabled}, {value: installCRDs}]}}
  - {list: [others.example.com Other cluster v1alpha1], folder: true, when: {value: other, default: true}}
  controllers:
  - {name: '{fullname}-controller', kinds: [example.com/*], when: {value: mode, default: all, is: all}}
  webhooks:
  - {name: things, kinds: [example.com/Thing, example.com/Other, apps/Deployment], policyValue: webhook.failurePolicy}
  objects:
  - {kind: Secret, name: '{fullname}-tls'}
  - {kind: Service, name: '{release}-api', namespace: '{namespace}-system'}
  - {kind: StorageClass, name: things, nameValue: class.name, default: true, waitForFirstConsumer: true, when: {value: class.none, not: true}}
  - {kind: StorageClass, namesValue: classes}
  children:
  - {of: example.com/Thing, makes: Secret, name: '{name}-key', unless: spec.keyRef}
  apiGroups: [{group: metrics.example.com, when: {value: metrics, unset: true}}]
  requires: [{kind: cert-manager.io/Certificate, when: {all: [{value: tls, default: true}, {value: selfSigned, default: true}]}}]
`

func chart(repository string) model.Source {
	return model.Source{Kind: model.Chart, RepoURL: repository, Name: "things", Version: "1.0.0"}
}

// summary is an answer in few words.
func summary(k infer.Known) string {
	var parts []string
	for _, c := range k.Kinds {
		parts = append(parts, "brings "+c.Kind)
	}
	for _, c := range k.Controllers {
		parts = append(parts, "runs "+c.Kind)
	}
	for _, w := range k.Webhooks {
		parts = append(parts, w.FailurePolicy+" "+w.Group+" "+strings.Join(w.Kinds, "+"))
	}
	for _, o := range k.Objects {
		text := o.Kind + " " + o.Namespace + "/" + o.Name
		if o.Default {
			text += " default"
		}
		if o.WaitForFirstConsumer {
			text += " waits"
		}
		parts = append(parts, text)
	}
	for _, g := range k.APIGroups {
		parts = append(parts, "serves "+g)
	}
	for _, r := range k.Requires {
		parts = append(parts, "needs "+r.Kind)
	}
	return strings.Join(parts, ", ")
}

func TestConditions(t *testing.T) {
	c := New(mustDecode(t, things)...)
	const rest = "Fail example.com Thing+Other, Fail apps Deployment"
	tests := map[string]struct {
		asked Asked
		want  string
	}{
		"defaults": {
			Asked{Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns"},
			"brings Other, runs *, " + rest + ", Secret /one-things-tls, Service ns-system/one-api, StorageClass /things default waits, serves metrics.example.com, needs Certificate",
		},
		"turned round": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "my-things", Namespace: "ns",
				Values: map[string]any{
					"installCRDs": true, "other": nil, "mode": "none", "webhook": map[string]any{"failurePolicy": "Ignore"}, "metrics": map[string]any{},
					"class": map[string]any{"name": "fast"}, "selfSigned": false,
				},
			},
			"brings Thing, Ignore example.com Thing+Other, Ignore apps Deployment, Secret /my-things-tls, Service ns-system/my-things-api, StorageClass /fast default waits",
		},
		"names": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns",
				Values: map[string]any{"fullnameOverride": "full", "class": map[string]any{"none": true}},
			},
			"brings Other, runs *, " + rest + ", Secret /full-tls, Service ns-system/one-api, serves metrics.example.com, needs Certificate",
		},
		"lists": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns",
				Values: map[string]any{"class": map[string]any{"none": true}, "classes": []any{
					map[string]any{"name": "slow", "annotations": map[string]any{"storageclass.kubernetes.io/is-default-class": "true"}},
					map[string]any{"name": "switched", "defaultClass": true}, map[string]any{"name": "turned", "defaultStorageClass": true},
					map[string]any{"name": "plain", "defaultClass": false},
					map[string]any{"name": "late", "volumeBindingMode": "WaitForFirstConsumer"}, map[string]any{"name": 3}, "text",
				}},
			},
			"brings Other, runs *, " + rest + ", Secret /one-things-tls, Service ns-system/one-api, StorageClass /slow default, StorageClass /switched default, StorageClass /turned default, StorageClass /plain, StorageClass /late waits, serves metrics.example.com, needs Certificate",
		},
		"skipped folder": {
			Asked{
				Source:  model.Source{Kind: model.Chart, RepoURL: "https://charts.example.com/stable", Name: "things", SkipCRDs: true},
				Release: "one", Namespace: "ns", Values: map[string]any{"crds": map[string]any{"enabled": true}},
			},
			"brings Thing, runs *, " + rest + ", Secret /one-things-tls, Service ns-system/one-api, StorageClass /things default waits, serves metrics.example.com, needs Certificate",
		},
		// What is moved is not claimed where the component is.
		"moved": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns",
				Values: map[string]any{"global": map[string]any{"namespaceOverride": "other"}},
			},
			"brings Other, runs *, " + rest + ", StorageClass /things default waits, serves metrics.example.com, needs Certificate",
		},
		"moved to where it is": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns",
				Values: map[string]any{"namespaceOverride": "ns"},
			},
			"brings Other, runs *, " + rest + ", Secret /one-things-tls, Service ns-system/one-api, StorageClass /things default waits, serves metrics.example.com, needs Certificate",
		},
		// What values that are not known could turn off is not claimed.
		"partial": {
			Asked{
				Source: chart("https://charts.example.com/stable"), Release: "one", Namespace: "ns", Partial: true,
				Values: map[string]any{"crds": map[string]any{"enabled": true}},
			},
			"brings Thing, Ignore example.com Thing+Other, Ignore apps Deployment, Service ns-system/one-api",
		},
	}
	for name, test := range tests {
		a, ok := c.Find(test.asked)
		if !ok {
			t.Errorf("%s: not found", name)
			continue
		}
		if diff := cmp.Diff(test.want, summary(a.Known)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	a, _ := c.Find(tests["defaults"].asked)
	child := []infer.KnownChild{{Of: "example.com/Thing", Made: operators.Made{Kind: "Secret", Name: "{name}-key", Unless: "spec.keyRef"}}}
	if diff := cmp.Diff(child, a.Known.Children); diff != "" || !a.CRDs[0].ClusterWide || a.Known.Source != "chart things 1.0.0 of https://charts.example.com/stable (as known of 1.2.3)" {
		t.Errorf("children %s, CRDs %v, source %q", diff, a.CRDs, a.Known.Source)
	}
}

// TestOpen: only of the very version that was read, with all values known, is it
// certain that nothing else is brought, and that there are no other groups.
func TestOpen(t *testing.T) {
	c := New(mustDecode(t, things)...)
	at := func(version string) model.Source {
		return model.Source{Kind: model.Chart, RepoURL: "https://charts.example.com/stable", Name: "things", Version: version}
	}
	for name, test := range map[string]struct {
		asked  Asked
		want   bool
		source string
	}{
		"this version":    {Asked{Source: at("v1.2.3")}, false, "chart things v1.2.3 of https://charts.example.com/stable"},
		"another version": {Asked{Source: at("1.2.4")}, true, "chart things 1.2.4 of https://charts.example.com/stable (as known of 1.2.3)"},
		"no version":      {Asked{Source: at("")}, true, "chart things of https://charts.example.com/stable (as known of 1.2.3)"},
		"values unknown":  {Asked{Source: at("1.2.3"), Partial: true}, true, "chart things 1.2.3 of https://charts.example.com/stable"},
	} {
		if a, _ := c.Find(test.asked); a.Known.Open != test.want || a.Known.Foreign != test.want || a.Known.Source != test.source {
			t.Errorf("%s: open %t, want %t; %s", name, a.Known.Open, test.want, a.Known.Source)
		}
	}
}

// TestGroups: an entry can say that other versions bring no other groups. The standard
// channel of the Gateway API does, the experimental one has more.
func TestGroups(t *testing.T) {
	c := New()
	for folder, foreign := range map[string]bool{"standard": false, "experimental": true} {
		src := model.Source{Kind: model.Git, RepoURL: "https://github.com/kubernetes-sigs/gateway-api", Name: "config/crd/" + folder}
		for _, src.Version = range []string{"v1.3.0", "v1.6.1"} {
			if a, ok := c.Find(Asked{Source: src}); !ok || a.Known.Foreign != foreign {
				t.Errorf("%s %s: found %t, foreign %t", folder, src.Version, ok, a.Known.Foreign)
			}
		}
	}
}

// TestRequiresOfVersions: a chart has objects of another kind since a version, and keeps the old one for
// who asks for it. Of a range the newest version counts.
func TestRequiresOfVersions(t *testing.T) {
	c := New()
	for name, test := range map[string]struct {
		version string
		values  map[string]any
		want    string
	}{
		"old":               {"3.2.6", nil, "ClusterPolicy"},
		"new":               {"3.9.0", nil, "ValidatingPolicy"},
		"newest":            {"*", nil, "ValidatingPolicy"},
		"new, old kind":     {"v3.9.1", map[string]any{"policyType": "ClusterPolicy"}, "ClusterPolicy"},
		"newest, old kind":  {"3.x", map[string]any{"policyType": "ClusterPolicy"}, "ClusterPolicy"},
		"old, new kind":     {"3.8.0", map[string]any{"policyType": "ValidatingPolicy"}, ""},
		"none by default":   {"3.9.0", map[string]any{"podSecurityStandard": "privileged"}, ""},
		"old, other kind":   {"3.2.6", map[string]any{"policyKind": "Policy"}, ""},
		"the other profile": {"3.2.6", map[string]any{"podSecurityStandard": "restricted"}, "ClusterPolicy"},
	} {
		src := model.Source{Kind: model.Chart, RepoURL: "https://kyverno.github.io/kyverno", Name: "kyverno-policies", Version: test.version}
		a, ok := c.Find(Asked{Source: src, Values: test.values})
		var got []string
		for _, k := range a.Known.Requires {
			got = append(got, k.Kind)
		}
		if !ok || strings.Join(got, " ") != test.want {
			t.Errorf("%s: found %t, requires %v, want %q", name, ok, got, test.want)
		}
	}
}

// TestGuarded: charts that ask whether a kind is there before they use it, in any
// version, require none.
func TestGuarded(t *testing.T) {
	c := New()
	enabled := map[string]any{"enabled": true, "serviceMonitor": map[string]any{"enabled": true}, "podMonitor": map[string]any{"enabled": true}}
	for _, name := range []string{"kubernetes-ingress", "loki"} {
		a, _ := c.Find(Asked{
			Source: model.Source{Kind: model.Chart, RepoURL: c.named(name)[0].Repositories[0], Name: name},
			Values: map[string]any{"controller": enabled, "monitoring": enabled},
		})
		if a.Entry.Chart != name || len(a.Known.Requires) > 0 {
			t.Errorf("%s requires %v", name, a.Known.Requires)
		}
	}
}

// TestJenkins: the Secret of the administrator is there only where two values say so.
func TestJenkins(t *testing.T) {
	for text, want := range map[string]bool{"adminSecret": false, "other": true} {
		a, _ := New().Find(Asked{
			Source:  model.Source{Kind: model.Chart, RepoURL: "https://charts.jenkins.io", Name: "jenkins"},
			Release: "jenkins", Namespace: "ci", Values: map[string]any{"controller": map[string]any{text: false}},
		})
		if got := strings.Contains(summary(a.Known), "Secret /jenkins"); got != want {
			t.Errorf("%s false: Secret %t", text, got)
		}
	}
}

func TestMatching(t *testing.T) {
	c := New(mustDecode(t, things)...)
	git := func(repository, folder string) model.Source {
		return model.Source{Kind: model.Git, RepoURL: repository, Name: folder, Version: "v1"}
	}
	for name, test := range map[string]struct {
		source model.Source
		want   bool
	}{
		"its repository":          {chart("https://charts.example.com/stable"), true},
		"other case of the host":  {chart("https://user:secret@Charts.Example.com/stable/"), true},
		"a whole OCI reference":   {model.Source{Kind: model.Chart, RepoURL: "oci://registry.example.com/charts/things"}, true},
		"an OCI folder":           {chart("registry.example.com/charts"), true},
		"a path in a registry":    {model.Source{Kind: model.Chart, RepoURL: "registry.example.com", Name: "charts/things"}, true},
		"a path in a mirror":      {model.Source{Kind: model.Chart, RepoURL: "mirror.example.org", Name: "team/charts/things"}, true},
		"a path of many charts":   {model.Source{Kind: model.Chart, RepoURL: "registry-1.docker.io", Name: "bitnamicharts/things"}, false},
		"a mirror":                {chart("oci://mirror.example.org/helm"), true},
		"a folder of many charts": {chart("https://charts.bitnami.com/bitnami"), false},
		"another chart":           {model.Source{Kind: model.Chart, RepoURL: "https://charts.example.com/stable", Name: "thing"}, false},
		"a folder of Git":         {git("https://github.com/example/things.git", "config/default"), true},
		"Git by ssh":              {git("git@github.com:example/things.git", "config/crd"), true},
		"a remote base":           {git("https://github.com/example/things//config/crd?ref=v1.2.3", ""), true},
		"a remote base, short":    {git("github.com/example/things/config/crd?ref=v1.2.3", ""), true},
		"a release":               {git("https://github.com/example/things/releases/download/v1.2.3/things.yaml", ""), true},
		"another file":            {git("https://github.com/example/things/releases/download/v1.2.3/other.yaml", ""), false},
		"another folder":          {git("https://github.com/example/things", "docs"), false},
	} {
		if _, ok := c.Find(Asked{Source: test.source}); ok != test.want {
			t.Errorf("%s: found %t, want %t", name, ok, test.want)
		}
	}
	// Two charts have this name: without a known repository it is neither.
	if a, ok := New().Find(Asked{Source: model.Source{Kind: model.Chart, RepoURL: "oci://mirror.example.org/helm", Name: "redis-operator"}}); ok {
		t.Errorf("redis-operator of a mirror is %s", a.Entry.Human(model.Source{}))
	}
}

func TestMerge(t *testing.T) {
	generated := mustDecode(t, `
- {chart: a, repositories: [https://one.example.com], version: "1", source: [x/a@0123456789ab:a], notes: kept, objects: [{kind: Secret, name: old}]}
- {chart: a, repositories: [https://two.example.com], version: "2", source: [x/a@0123456789ab:b]}
`)
	added := mustDecode(t, `
- {chart: a, repositories: [https://new.example.com, https://one.example.com/], version: "3", source: [x/a@0123456789ab:c], objects: [{kind: Secret, name: new}]}
- {chart: a, manifests: [example.com/a.yaml], version: "4", source: [x/a@0123456789ab:d]}
`)
	var got []string
	for _, e := range merge(generated, added) {
		line := e.Version + " " + strings.Join(e.Source, " ") + " " + e.Notes
		for _, o := range e.Objects {
			line += " " + o.Name
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{"3 x/a@0123456789ab:c x/a@0123456789ab:a kept new", "2 x/a@0123456789ab:b", "4 x/a@0123456789ab:d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestMistakes(t *testing.T) {
	const head = "- chart: a\n  repositories: [https://example.com]\n  version: '1'\n  source: [x]\n"
	for text, want := range map[string]string{
		"a: b":                   "cannot unmarshal object",
		"- version: 1.0":         "cannot unmarshal number",
		"- chart: a":             "needs repositories or manifests",
		head + "  kind: x":       "unknown field",
		head + "  kind: &a [*a]": "YAML",
		head + "  crds: [{list: [things.example.com]}]":                      "is not written as",
		head + "  crds: [{}]":                                                "either set or list",
		head + "  webhooks: [{kinds: [Pod]}]":                                "group/Kind",
		head + "  webhooks: [{kinds: [/Pod], policy: Maybe}]":                "neither Fail nor Ignore",
		head + "  objects: [{kind: Job, name: a}]":                           "Job",
		head + "  objects: [{kind: Secret, name: a, when: {default: true}}]": "one of value, all and any",
		head + "  objects: [{kind: Secret, name: a, namesValue: b}]":         "either name or namesValue",
		head + "  requires: [{kind: Certificate}]":                           "group/Kind",
		head + "  manifests: ['" + strings.Repeat("*a", 1000) + "']":         "more than 1024 bytes",
	} {
		_, err := Decode([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(things)
	f.Add("- chart: a\n  crds: [{list: ['a.b C cluster v1,v2 d']}]\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := Decode([]byte(text))
		if err != nil {
			return
		}
		c := New(entries...)
		for _, e := range entries {
			for _, r := range e.Repositories {
				c.Find(Asked{Source: model.Source{Kind: model.Chart, RepoURL: r, Name: e.Chart}, Values: map[string]any{"a": "b"}})
			}
			c.Find(Asked{Source: model.Source{Kind: model.Git, RepoURL: "https://example.com/a"}})
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for b.Loop() {
		c := New()
		for _, name := range []string{"cert-manager", "argo-cd", "kube-prometheus-stack", "external-secrets", "traefik", "unknown"} {
			c.Find(Asked{Source: model.Source{Kind: model.Chart, RepoURL: "https://example.com", Name: name}, Release: name})
		}
	}
}

// TestWebhooksInTheirComponent: a webhook says what configures it, and that its
// place is not known where the values write sync waves.
func TestWebhooksInTheirComponent(t *testing.T) {
	find := func(values map[string]any) infer.KnownWebhook {
		t.Helper()
		a, ok := New().Find(Asked{Release: "telemetry", Namespace: "ns", Values: values,
			Source: model.Source{Kind: model.Chart, RepoURL: "https://open-telemetry.github.io/opentelemetry-helm-charts", Name: "opentelemetry-operator"}})
		if !ok || len(a.Known.Webhooks) != 1 {
			t.Fatalf("found %v, webhooks %+v", ok, a.Known.Webhooks)
		}
		return a.Known.Webhooks[0]
	}
	if w := find(nil); w.Configuration != "telemetry-opentelemetry-operator-mutation" || w.Placed {
		t.Errorf("without values: %+v", w)
	}
	waves := map[string]any{"manager": map[string]any{"deploymentAnnotations": map[string]any{"argocd.argoproj.io/sync-wave": "-1"}}}
	if w := find(waves); !w.Placed {
		t.Errorf("with a wave in the values: %+v", w)
	}
}

// TestMonitors: a chart needs the kinds of its monitors where its values turn them
// on, and not where it leaves them out by itself.
func TestMonitors(t *testing.T) {
	on := func(path ...string) map[string]any {
		var v any = true
		for i := len(path) - 1; i >= 0; i-- {
			v = map[string]any{path[i]: v}
		}
		return v.(map[string]any)
	}
	for name, c := range map[string]struct {
		repository, chart string
		values            map[string]any
		want              []string
	}{
		"off by default":                 {"https://charts.jetstack.io", "cert-manager", nil, nil},
		"on by a value":                  {"https://charts.jetstack.io", "cert-manager", on("prometheus", "servicemonitor", "enabled"), []string{"ServiceMonitor"}},
		"on by a value, off by another":  {"https://kedacore.github.io/charts", "keda", on("prometheus", "operator", "serviceMonitor", "enabled"), nil},
		"left out while it cannot be":    {"https://argoproj.github.io/argo-helm", "argo-cd", on("server", "metrics", "serviceMonitor", "enabled"), nil},
		"left out unless it must not be": {"https://charts.external-secrets.io", "external-secrets", on("serviceMonitor", "enabled"), nil},
		"one of two is left out":         {"https://stakater.github.io/stakater-charts", "reloader", on("reloader", "podMonitor", "enabled"), []string{"PodMonitor"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, ok := New().Find(Asked{Release: "one", Namespace: "ns", Values: c.values, Source: model.Source{Kind: model.Chart, RepoURL: c.repository, Name: c.chart}})
			if !ok {
				t.Fatal("the chart is not known")
			}
			var got []string
			for _, k := range a.Known.Requires {
				got = append(got, k.Kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}

// A project that publishes its CRDs apart from its chart has the same ones.
func TestCRDsOfProject(t *testing.T) {
	for address, want := range map[string]string{
		"https://github.com/grafana/grafana-operator/releases/download/v5.24.0/crds.yaml": "GrafanaDashboard",
		"https://github.com/grafana/grafana-operator//config/crd?ref=v5.24.0":             "GrafanaDashboard",
		"https://github.com/grafana/grafana-operator/releases/download/v5.24.0/all.yaml":  "",
		"https://github.com/grafana/other/releases/download/v5.24.0/crds.yaml":            "",
		"https://example.org/grafana/grafana-operator/crds.yaml":                          "",
	} {
		answer, ok := New().Find(Asked{Source: model.Source{Kind: model.Manifests, RepoURL: address}})
		if has := slices.ContainsFunc(answer.CRDs, func(c CRD) bool { return c.Kind == want }); ok != (want != "") || has != ok {
			t.Errorf("%s: %d CRDs, %v", address, len(answer.CRDs), ok)
		}
	}
}
