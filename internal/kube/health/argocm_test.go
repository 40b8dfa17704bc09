package health_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

func TestFromArgoCM(t *testing.T) {
	const script = "return {status = 'Healthy'}"
	one := func(group, kind, source string) health.Script {
		return health.Script{Group: group, Kind: kind, Lua: script, Source: source}
	}
	for name, tc := range map[string]struct {
		data     map[string]string
		scripts  []health.Script
		problems []string
	}{
		"a key per kind": {map[string]string{
			"url": "https://argocd.example.com", "resource.customizations.health.cert-manager.io_Certificate": script,
			"resource.customizations.health.PersistentVolumeClaim": script,
		}, []health.Script{
			one("", "PersistentVolumeClaim", "resource.customizations.health.PersistentVolumeClaim"),
			one("cert-manager.io", "Certificate", "resource.customizations.health.cert-manager.io_Certificate"),
		}, nil},
		"one key for all kinds": {map[string]string{"resource.customizations": "example.com/Thing:\n  health.lua: |\n    " + script + "\n  actions: |\n    discovery.lua: x\nexample.com/Other:\n  ignoreDifferences: |\n    jsonPointers: [/a]\n"},
			[]health.Script{{Group: "example.com", Kind: "Thing", Lua: script + "\n", Source: "resource.customizations[example.com/Thing]"}}, nil},
		"a key of its own wins": {map[string]string{
			"resource.customizations":                              "{example.com/Thing: {health.lua: 'return {}'}}",
			"resource.customizations.health.example.com_Thing":     script,
			"resource.customizations.actions.example.com_Thing":    "x",
			"resource.customizations.ignoreDifferences.all":        "x",
			"resource.customizations.knownTypeFields.example_Kind": "x",
		}, []health.Script{one("example.com", "Thing", "resource.customizations.health.example.com_Thing")}, nil},
		"one kind before many": {map[string]string{
			"resource.customizations":                            "'*.example.com/*': {health.lua: \"" + script + "\"}",
			"resource.customizations.health.a.example.com_Thing": script,
		}, []health.Script{
			one("a.example.com", "Thing", "resource.customizations.health.a.example.com_Thing"),
			one("*.example.com", "*", "resource.customizations[*.example.com/*]"),
		}, nil},
		"open libraries": {map[string]string{
			"resource.customizations.useOpenLibs.example.com_Thing": "true", "resource.customizations": "{example.com/Other: {health.lua.useOpenLibs: true}}",
		}, nil, []string{
			"resource.customizations.useOpenLibs.example.com_Thing: the libraries of Lua that reach files and programs are refused: a script that needs them fails",
			"resource.customizations[example.com/Other]: the libraries of Lua that reach files and programs are refused: a script that needs them fails",
		}},
		"wrong": {map[string]string{
			"resource.customizations": "[a]", "resource.customizations.health.a_b_c": script, "resource.customizations.healht.a_b": script,
		}, nil, []string{
			`resource.customizations: wrong: is no map of kinds`, `resource.customizations.healht.a_b: wrong: there are no customizations "healht"`,
			`resource.customizations.health.a_b_c: wrong: "a_b_c" is not of the form <group>_<kind>`,
		}},
		"a script that does not compile": {map[string]string{"resource.customizations.health.a_b": "hs = {}\nreturn {"},
			[]health.Script{{Group: "a", Kind: "b", Lua: "hs = {}\nreturn {", Source: "resource.customizations.health.a_b"}},
			[]string{"resource.customizations.health.a_b: wrong: parse Lua resource.customizations.health.a_b: resource.customizations.health.a_b at EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			scripts, problems, err := health.FromArgoCM(t.Context(), tc.data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.scripts, scripts); diff != "" {
				t.Error(diff)
			}
			if len(problems) != len(tc.problems) {
				t.Fatalf("problems = %v", problems)
			}
			for i, p := range problems {
				text := p.Key + ": "
				if p.Wrong {
					text += "wrong: "
				}
				if text += p.Message; !strings.HasPrefix(text, tc.problems[i]) {
					t.Errorf("problem %q, want %q", text, tc.problems[i])
				}
			}
		})
	}
}

// The scripts of argocd-cm go before those that Argo CD ships and what is built
// in, and after those of a descriptor; they reach neither files nor programs.
func TestScriptsOfArgoCM(t *testing.T) {
	scripts, problems, err := health.FromArgoCM(t.Context(), map[string]string{
		"resource.customizations.health.apps_Deployment":             "return {status = 'Suspended', message = 'ours'}",
		"resource.customizations.health.cert-manager.io_Certificate": "return {status = 'Degraded', message = 'ours'}",
		"resource.customizations.health.example.com_Open":            "return {status = 'Healthy', message = io.open('/etc/passwd'):read()}",
		"resource.customizations.health.example.com_Endless":         "while true do end",
		"resource.customizations.health.example.com_Broken":          "return {",
		"resource.customizations":                                    "'*.wild.com/*': {health.lua: \"return {status = 'Progressing', message = obj.kind}\"}",
	})
	if err != nil || len(problems) != 1 {
		t.Fatalf("problems = %v, error = %v", problems, err)
	}
	a := health.New(health.WithScripts(scripts))
	own, err := a.With(t.Context(), []model.HealthCheck{{Group: "apps", Kind: "Deployment", Lua: "return {status = 'Healthy'}"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		assessor *health.Assessor
		object   string
		want     rollout.Health
		message  string
	}{
		"built in":        {a, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, status: {}}`, rollout.Suspended, "ours"},
		"shipped":         {a, `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}, status: {}}`, rollout.Degraded, "ours"},
		"of a descriptor": {own, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, status: {}}`, rollout.Healthy, ""},
		"pattern":         {a, `{apiVersion: a.wild.com/v1, kind: Thing, metadata: {name: a}, status: {}}`, rollout.Progressing, "Thing"},
		"no pattern":      {a, `{apiVersion: wild.com/v1, kind: Thing, metadata: {name: a}}`, rollout.Healthy, ""},
		"files":           {a, `{apiVersion: example.com/v1, kind: Open, metadata: {name: a}, status: {}}`, rollout.Unknown, "resource.customizations.health.example.com_Open"},
		"endless":         {a, `{apiVersion: example.com/v1, kind: Endless, metadata: {name: a}, status: {}}`, rollout.Unknown, "ran longer than 1s"},
		"broken":          {a, `{apiVersion: example.com/v1, kind: Broken, metadata: {name: a}, status: {}}`, rollout.Unknown, "resource.customizations.health.example.com_Broken"},
	} {
		if name == "endless" && testing.Short() {
			continue // it uses a limit up
		}
		got := tc.assessor.Assess(t.Context(), object(t, tc.object))
		if got.Health != tc.want || !strings.Contains(got.Message, tc.message) {
			t.Errorf("%s: %s %q", name, got.Health, got.Message)
		}
	}
}

// A script sees of a CustomResourceDefinition everything but its schemas, and the
// object keeps them.
func TestScriptsSeeNoSchemas(t *testing.T) {
	crd := object(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: g, versions: [{name: v1, schema: {openAPIV3Schema: {type: object}}}]}}`)
	a := health.New(health.WithScripts([]health.Script{{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Source: "test", Lua: `
local v = obj.spec.versions[1]
return {status = "Degraded", message = obj.spec.group .. v.name .. tostring(v.schema)}`}}))
	if got := a.Assess(t.Context(), crd); got.Message != "gv1nil" {
		t.Errorf("the script saw %q", got.Message)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if versions[0].(map[string]any)["schema"] == nil {
		t.Error("the schema is gone")
	}
}
