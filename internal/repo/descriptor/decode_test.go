package descriptor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

const everything = `name: platform-gateway-smoke
project: platform
domain: platform
namespace: ameide
rolloutPhase: "399"
componentType: smoke
enabled: true
gate: The gateway is programmed.
labels: {team: identity, tier: 1}
requires:
  - platform-gateway
  - crd/gateways.gateway.networking.k8s.io
validates: [platform-gateway]
chart:
  path: sources/charts/smoke
  releaseName: gateway
  ignoreMissingValueFiles: true
  valueFiles: [$values/a.yaml, {path: b.yaml, optional: false}]
  values: {image: {tag: 1.5}}
  parameters: {replicas: 2}
  skipCrds: true
kustomize: {path: sources/k}
manifests: sources/m
syncOptions: [CreateNamespace=true]
syncWave: -3
ignoreDifferences:
  - group: apps
    kind: Deployment
    jsonPointers: [/spec/replicas]
    jqPathExpressions: [".a[]"]
    managedFieldsManagers: [kcm]
timeout: 90
retry: {limit: -1, backoff: {duration: 5, factor: 1.5, maxDuration: 3m}}
health:
  - {apiVersion: vault.example.io/v1, kind: Vault, cel: object.ok}
  - {group: example.io, kind: Widget, lua: return hs}
smoke:
  - condition: {apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: ameide, conditions: {Accepted: "True", Programmed: true}, timeout: 2m}
  - condition: {apiVersion: v1, kind: Node, name: n, namespace: ""}
  - secret: {name: db, namespace: other, keys: [username, password]}
  - certificate: {secret: envoy, issuedBy: [ca, pki/root], subject: envoy}
  - job: {name: migrate}
  - endpoint: {service: keycloak}
  - http: {url: "https://keycloak:8443/health", status: 204}
  - tcp: {address: "pg:5432"}
  - cel: {apiVersion: apps/v1, kind: Deployment, expression: "objects.size() > 0"}
`

func decode(t *testing.T, text string, place descriptor.Place) (model.Component, []finding.Finding, error) {
	t.Helper()
	v, err := yamldoc.ParseOne("component.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return descriptor.Decode(v, place, descriptor.Context{
		Tree: &repofs.Tree{Root: dir, Repository: dir}, Environment: "dev",
		Bands: []plan.Band{{Name: "small", From: 0, To: 19}, {Name: "foundation", From: 100, To: 199}, {Name: "platform", From: 300, To: 399}},
	})
}

func TestEveryField(t *testing.T) {
	got, findings, err := decode(t, everything, descriptor.Place{Domain: "ignored"})
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	at := func(line int) finding.Position { return finding.Position{File: "component.yaml", Line: line} }
	limit := -1
	want := model.Component{
		Name: "platform-gateway-smoke", Environment: "dev", Project: "platform", Domain: "platform", Namespace: "ameide",
		Phase: 399, Waves: []int{-3}, Type: model.Smoke, Enabled: true, Gate: "The gateway is programmed.",
		Labels:    map[string]string{"team": "identity", "tier": "1"},
		Requires:  []model.Requirement{{Text: "platform-gateway", Position: at(11)}, {Text: "crd/gateways.gateway.networking.k8s.io", Position: at(12)}},
		Validates: []model.Requirement{{Text: "platform-gateway", Position: at(13)}},
		Sources: []model.Source{
			{
				Kind: model.Chart, Path: "sources/charts/smoke", ReleaseName: "gateway", SkipCRDs: true, Position: at(14),
				ValueFiles: []model.ValueFile{{Path: "a.yaml", Optional: true, Position: at(18)}, {Path: "b.yaml", Position: at(18)}},
				Values:     map[string]any{"image": map[string]any{"tag": 1.5}}, Parameters: map[string]string{"replicas": "2"},
			},
			{Kind: model.Kustomize, Path: "sources/k", Position: at(22)},
			{Kind: model.Manifests, Path: "sources/m", Position: at(23)},
		},
		SyncOptions: []string{"CreateNamespace=true"},
		IgnoreDifferences: []model.IgnoreDifference{{
			Group: "apps", Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}, JQPathExpressions: []string{".a[]"}, ManagedFieldsManagers: []string{"kcm"},
		}},
		Timeout: 90 * time.Second,
		Retry:   model.Retry{Limit: &limit, Duration: 5 * time.Second, Factor: 1.5, MaxDuration: 3 * time.Minute},
		Health: []model.HealthCheck{
			{Group: "vault.example.io", Kind: "Vault", CEL: "object.ok", Position: at(35)},
			{Group: "example.io", Kind: "Widget", Lua: "return hs", Position: at(36)},
		},
		Smoke: []model.Check{
			{Kind: model.CheckCondition, Group: "gateway.networking.k8s.io", ObjectKind: "Gateway", Namespace: "ameide", Name: "ameide", Conditions: map[string]string{"Accepted": "True", "Programmed": "true"}, Timeout: 2 * time.Minute, Position: at(38)},
			{Kind: model.CheckCondition, ObjectKind: "Node", Name: "n", Conditions: map[string]string{"Ready": "True"}, Position: at(39)},
			{Kind: model.CheckSecret, ObjectKind: "Secret", Namespace: "other", Name: "db", Keys: []string{"username", "password"}, Position: at(40)},
			{Kind: model.CheckCertificate, ObjectKind: "Secret", Namespace: "ameide", Name: "envoy", IssuedBy: []string{"ca", "pki/root"}, Subject: "envoy", Position: at(41)},
			{Kind: model.CheckJob, Group: "batch", ObjectKind: "Job", Namespace: "ameide", Name: "migrate", Position: at(42)},
			{Kind: model.CheckEndpoint, ObjectKind: "Service", Namespace: "ameide", Name: "keycloak", Position: at(43)},
			{Kind: model.CheckHTTP, Namespace: "ameide", URL: "https://keycloak:8443/health", Status: 204, Position: at(44)},
			{Kind: model.CheckTCP, Namespace: "ameide", Address: "pg:5432", Position: at(45)},
			{Kind: model.CheckCEL, Group: "apps", ObjectKind: "Deployment", Namespace: "ameide", Expression: "objects.size() > 0", Position: at(46)},
		},
		Position: at(1),
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(model.Component{}, "Fields")); diff != "" {
		t.Error(diff)
	}
	for field, line := range map[string]int{
		"name": 1, "rolloutPhase": 5, "requires[1]": 12, "chart.valueFiles[1]": 18, "retry.backoff.factor": 33, "smoke[2].secret.keys[0]": 40,
	} {
		if p := got.At(field); p != at(line) {
			t.Errorf("%s is at %v, not line %d", field, p, line)
		}
	}
}

func TestTypeFollowsTheSlot(t *testing.T) {
	tests := map[string]model.Type{
		"100": model.Namespaces, "110": model.CRDs, "120": model.Operator, "130": model.Secrets,
		"140": model.Config, "150": model.Runtime, "155": model.Bootstrap, "160": model.Bootstrap,
		"199": model.Smoke, "115": model.Runtime,
		// A band of twenty phases has no slots, and 200 is in no band at all.
		"010": model.Runtime, "210": model.Runtime,
	}
	for phase, want := range tests {
		c, _, err := decode(t, "name: a\nmanifests: m\nrolloutPhase: \""+phase+"\"\n", descriptor.Place{})
		if err != nil || c.Type != want {
			t.Errorf("%s is %s, not %s (%v)", phase, c.Type, want, err)
		}
	}
}

func TestOlderNames(t *testing.T) {
	tests := map[string]struct {
		text   string
		phase  model.Phase
		domain string
	}{
		"wave with prefix":          {"wave: wave35", 35, "folder"},
		"wave as text":              {`wave: "35"`, 35, "folder"},
		"wave as number":            {"wave: 05", 5, "folder"},
		"leading zero, not octal":   {"rolloutPhase: 010", 10, "folder"},
		"the newer name wins":       {"wave: \"35\"\nrolloutPhase: \"350\"", 350, "folder"},
		"tier":                      {"tier: apps", model.NoPhase, "apps"},
		"the newer name wins, tier": {"tier: apps\ndomain: data", model.NoPhase, "data"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, findings, err := decode(t, "name: a\nmanifests: m\n"+tt.text+"\n", descriptor.Place{Domain: "folder"})
			if err != nil || len(findings) > 0 || c.Phase != tt.phase || c.Domain != tt.domain {
				t.Errorf("got phase %v, domain %s, %v, %v", c.Phase, c.Domain, findings, err)
			}
			if len(c.Unknown) > 0 {
				t.Errorf("unknown: %v", c.Unknown)
			}
			if tt.phase != model.NoPhase && c.At("rolloutPhase").Line < 3 {
				t.Errorf("the phase is at %v", c.At("rolloutPhase"))
			}
		})
	}
}

// TestOlderNamesOfRequires: each counts, and what names no components is a field of others.
func TestOlderNamesOfRequires(t *testing.T) {
	c, findings, err := decode(t, "name: a\nmanifests: m\nrequires: [v]\ndependsOn: [w]\ndepends_on: [x]\nneeds: [y]\ndependencies: [{name: z, version: 1.0.0}]\n", descriptor.Place{})
	if err != nil || len(findings) > 0 {
		t.Fatal(findings, err)
	}
	if diff := cmp.Diff([]string{"v", "w", "x", "y"}, required(c)); diff != "" {
		t.Error(diff)
	}
	if c.Unknown["dependencies"] == nil {
		t.Errorf("the dependencies of somebody else are lost: %v", c.Unknown)
	}
}

// TestShapesOfOlderNames are told where they hold no names, and those of others are not.
func TestShapesOfOlderNames(t *testing.T) {
	for text, want := range map[string]string{
		"dependencies: {base: true}":                                   "dependencies is a map, not a list of names of components, so that nothing of it is read; write requires: [<component>, ...]",
		"dependencies: [{component: base}]":                            "dependencies is a list of more than names, not a list of names",
		"dependencies: [{name: base, namespace: x}]":                   "dependencies is a list of more than names",
		"dependencies: {components: [base]}":                           "dependencies is a map",
		"needs: {base: {condition: service_healthy}}":                  "needs is a map",
		"depends_on: {base: {condition: service_healthy}}":             "depends_on is a map",
		"dependsOn: {base: \"1\"}":                                     "dependsOn is a map",
		"dependencies: [{name: z, version: 1.0.0}, {name: y}]":         "",
		"dependencies: [{name: z, repository: \"https://a.example\"}]": "",
		"dependencies: {z: {version: 1.0.0}}":                          "",
		"dependencies: {z: ^1.0.0}":                                    "",
		"needs: {cpu: 2}":                                              "",
	} {
		c, findings, err := decode(t, "name: a\nmanifests: m\n"+text+"\n", descriptor.Place{})
		switch {
		case err != nil || len(c.Requires) > 0 || (want == "") != (len(findings) == 0):
			t.Errorf("%s: requires %v; %v, %v", text, c.Requires, findings, err)
		case want != "" && (findings[0].Rule != descriptor.RuleUnknown || findings[0].Severity != finding.Warning || !strings.Contains(findings[0].Message, want)):
			t.Errorf("%s: %v", text, findings)
		}
	}
}

func required(c model.Component) []string {
	var names []string
	for _, r := range c.Requires {
		names = append(names, r.Text)
	}
	return names
}

// TestFormsOfRequires: a name alone, and maps with a name, count as a list of names does.
func TestFormsOfRequires(t *testing.T) {
	for _, key := range []string{"requires", "dependsOn", "needs"} {
		for _, value := range []string{"base", "[base]", "[{name: base}]", "{name: base}", "[{name: base}, other]"} {
			c, findings, err := decode(t, "name: a\nmanifests: m\n"+key+": "+value+"\n", descriptor.Place{})
			if got := required(c); err != nil || len(findings) > 0 || len(got) == 0 || got[0] != "base" || c.Requires[0].Position.Line != 3 {
				t.Errorf("%s: %s requires %v; %v, %v", key, value, c.Requires, findings, err)
			}
		}
		c, findings, err := decode(t, "name: a\nmanifests: m\n"+key+":\n", descriptor.Place{})
		if err != nil || len(findings) > 0 || len(c.Requires) > 0 {
			t.Errorf("%s without a value requires %v; %v, %v", key, c.Requires, findings, err)
		}
	}
}

// TestWrongRequires: what is wrong in requires is told at its place, and the rest counts.
func TestWrongRequires(t *testing.T) {
	for value, want := range map[string]string{
		"[{name: b}, {name: c, foo: d}, e]": "requires[1] has more than a name, and nothing else is known there: foo; write the name alone: c",
		"[b, {component: c}, e]":            "requires[1] is a map, not text; write the name of a component",
		"[b, [c], e]":                       "requires[1] is a list, not text",
		"[b, '', e]":                        "requires[1] is empty",
		"[b, null, e]":                      "requires[1] is empty",
		"{name: b, foo: d}":                 "requires has more than a name, and nothing else is known there: foo; write the name alone: b",
		"{component: b}":                    "requires is a map, not a list",
	} {
		c, findings, err := decode(t, "name: a\nmanifests: m\nrequires: "+value+"\n", descriptor.Place{})
		if err != nil || len(findings) != 1 || findings[0].Rule != descriptor.RuleInvalid || !strings.Contains(findings[0].Message, want) {
			t.Errorf("%s: %v, %v", value, findings, err)
		}
		if got := strings.Join(required(c), " "); got != "b e" && value[0] == '[' || got != "" && value[0] == '{' {
			t.Errorf("%s requires %s", value, got)
		}
	}
}

// TestNamesOfOtherLadders are told with the right one.
func TestNamesOfOtherLadders(t *testing.T) {
	for text, want := range map[string]string{
		"rollout-phase: 10": "did you mean rolloutPhase?", "sync_wave: 1": "did you mean syncWave?", "healthChecks: []": "did you mean health?",
		"maxUpdate: 2": "did you mean maxUpdate of a step in ladder.yaml?", "wave: -10": "a sync wave of Argo CD is syncWave: -10",
		"max_update: 2": "did you mean maxUpdate of a step in ladder.yaml?", "maxupdate: 2": "did you mean maxUpdate of a step in ladder.yaml?",
		"dependson: [b]": "did you mean requires?", "depends-on: [b]": "did you mean requires?", "dependsOn: [{component: b}]": "write requires: [<component>, ...]",
		"phase: 10": "did you mean rolloutPhase?", "Wave: 3": "did you mean wave?", "component-type: crds": "did you mean componentType?",
		"requirs: [b]": "did you mean requires?", "requires: [{component: b}]": "",
	} {
		_, findings, err := decode(t, "name: a\nmanifests: m\n"+text+"\n", descriptor.Place{})
		if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Fix.Summary, want) {
			t.Errorf("%s: %v, %v", text, findings, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(everything)
	f.Add("name: a\nchart: {path: ../../x, valueFiles: [{}, 1, [], {path: [a]}]}\nsmoke: [{}, [], {job: 1}]\n")
	f.Add("name: a\nrolloutPhase: {}\nwave: []\nlabels: {a: {}}\nretry: []\nhealth: {}\n")
	f.Add("name: &a [x]\nproject: *a\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		v, err := yamldoc.ParseOne("component.yaml", []byte(text))
		if err != nil {
			return
		}
		c, findings, err := descriptor.Decode(v, descriptor.Place{}, descriptor.Context{Tree: &repofs.Tree{Root: dir, Repository: dir}, Environment: "dev"})
		placed := func(at finding.Position) bool { return at.File == "component.yaml" && at.Line > 0 }
		if err != nil {
			input := repofs.InputErrors(err)
			if len(input) == 0 {
				t.Fatalf("not an InputError: %v", err)
			}
			for _, e := range input {
				if !placed(e.Position) || e.Message == "" {
					t.Fatalf("an error without a place: %#v", e)
				}
			}
		}
		for _, found := range findings {
			if !placed(found.Position) || found.Message == "" || found.Rule == "" {
				t.Fatalf("a finding without a place: %#v", found)
			}
		}
		if err != nil {
			return
		}
		if c.Name == "" || c.Type == "" || c.Phase < model.NoPhase || c.Phase > model.MaxPhase {
			t.Fatalf("accepted %+v", c)
		}
		for _, s := range c.Sources {
			if strings.HasPrefix(s.Path, "..") || strings.HasPrefix(s.Path, "/") {
				t.Fatalf("a source outside the repository: %q", s.Path)
			}
		}
	})
}

func TestDuplicateNamesBothPlaces(t *testing.T) {
	first, _, err1 := decode(t, "name: a\nmanifests: m\n", descriptor.Place{})
	second, _, err2 := decode(t, "# moved\nname: a\nmanifests: m\n", descriptor.Place{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	f := descriptor.Duplicate(first, second)
	if f.Position.Line != 2 || len(f.Evidence) != 2 || f.Evidence[0].Line != 1 || f.Evidence[1].Line != 2 {
		t.Errorf("got %+v", f)
	}
}

// TestValuesAloneAreNoSource: a descriptor beside values, whose chart was forgotten, is
// told, and not a component that applies nothing.
func TestValuesAloneAreNoSource(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "values.yaml"), []byte("replicas: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := yamldoc.ParseOne("component.yaml", []byte("name: a\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = descriptor.Decode(v, descriptor.Place{}, descriptor.Context{Tree: &repofs.Tree{Root: dir, Repository: dir}})
	if err == nil || !strings.Contains(err.Error(), "component a has no source") {
		t.Errorf("error = %v", err)
	}
}

// TestKeysBesideSources: keys that mean the source of a component and are not read are told
// with the place where they count, and those of others are not.
func TestKeysBesideSources(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"redis/Chart.yaml": "{apiVersion: v2, name: redis, version: 1.0.0}\n", "plain/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
		"other/b.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	const counts = "path is not read: it counts only without chart, kustomize and manifests; "
	for text, want := range map[string]string{
		"chart: redis\nvalues: {a: outside}":                    "values is not read: only values of chart count; write chart.values",
		"chart: {path: redis}\nvalues: [a.yaml]":                "values is not read: only values of chart count; write chart.valueFiles",
		"chart: {path: redis}\nvalueFiles: [a.yaml]":            "valueFiles is not read: only values of chart count; write chart.valueFiles",
		"path: redis\nvalueFiles: [a.yaml]":                     "valueFiles is not read: only values of chart count; write values: [<file>, ...]",
		"path: redis\nvalues: {}\nvalueFiles: [a.yaml]":         "write chart: {path: redis, valueFiles: ...}",
		"path: redis\nhelm: {valueFiles: [a.yaml]}":             "helm is not read: a descriptor has no such field; write values: [<file>, ...]",
		"path: redis\nhelm: {releaseName: a, valuesObject: {}}": "write chart: {path: redis, releaseName: ..., values: ...}",
		"chart: redis\nhelm: {valueFiles: [a.yaml], values: x}": "write chart.valueFiles, chart.values",
		"chart: redis\nhelm: {fileParameters: []}":              "write the values themselves: chart.values",
		"manifests: plain\nvalues: [a.yaml]":                    "values is not read: values are for a chart, and plain is none; leave values out",
		"path: plain\nhelm: {values: x}":                        "helm is not read: values are for a chart, and plain is none; leave helm out",
		"smoke: [{endpoint: {service: a}}]\nvalues: {a: 1}":     "values is not read: values are for a chart, and the component has no source",
		"chart: redis\npath: plain":                             counts + "write manifests: {path: plain}, or leave it out",
		"manifests: plain\npath: ./other":                       counts + "leave it out",
		// Fields of others, and what says nothing else.
		"chart: redis\npath: redis":                "",
		"chart: redis\npath: /login":               "",
		"chart: redis\npath: not/there":            "",
		"chart: redis\npath: {base: a}":            "",
		"chart: redis\nvalues: small":              "",
		"chart: redis\nvalues:":                    "",
		"chart: redis\nhelm: true":                 "",
		"chart: redis\nhelm: {chart: a, repo: b}":  "",
		"chart: redis\nvalueFiles: {dev: a.yaml}":  "",
		"path: redis\nvalues: [redis/Chart.yaml]":  "",
		"smoke: [{endpoint: {service: a}}]\npath:": "",
	} {
		v, err := yamldoc.ParseOne("component.yaml", []byte("name: a\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, findings, err := descriptor.Decode(v, descriptor.Place{}, descriptor.Context{Tree: &repofs.Tree{Root: dir, Repository: dir}})
		switch {
		case err != nil || (want == "") != (len(findings) == 0):
			t.Errorf("%q: %v, %v", text, findings, err)
		case want != "" && (len(findings) > 1 || findings[0].Rule != descriptor.RuleUnknown || findings[0].Severity != finding.Warning || !strings.Contains(findings[0].Message, want)):
			t.Errorf("%q: %v", text, findings)
		}
	}
}
