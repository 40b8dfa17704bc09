package settings_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// Readiness expressions mean in Argo CD's Lua what they mean in CEL, errors
// included.
func TestExpressionsMeanTheSame(t *testing.T) {
	objects := []string{
		"",
		"status: {}",
		"status: {ok: true, n: 3, phase: Up, list: [1, 2], map: {a: 1, b: {c: x}}}",
		"status: {ok: false, n: 0, phase: Down, list: [], map: {}}",
		"status: {ok: yes, n: 2.5, phase: '3', list: [a, b, 3], map: {b: {c: y}}}",
		`status: {conditions: [{type: Ready, status: "True"}]}`,
		`status: {conditions: [{type: Other, status: "True"}, {type: Ready, status: "False"}]}`,
		`status: {conditions: [{status: "True"}, {type: Ready, status: "True"}]}`,
		"status: {list: [{n: 1}, {n: 5}], other: [{n: 1}, {n: 5}], phase: 7}",
	}
	expressions := []string{
		"true", "false",
		"has(object.status) && has(object.status.ok) && object.status.ok",
		"object.status.ok", "!object.status.ok", "object.status.ok || object.status.n == 3", "object.status.n == 3 || object.status.ok",
		"object.status.ok && object.status.n > 0", "object.status.n > 0 && object.status.ok", "object.status.missing || true", "true || object.status.missing", "false && object.status.missing",
		"object.status.missing && false", "object.status.n >= 2.5", "object.status.n < 3 && object.status.n <= 2.5", "object.status.n != 3",
		`object.status.phase == "Up"`, `object.status.phase != "Up"`, `object.status.phase in ["Up", "Down"]`, `object.status.phase == 3`,
		`has(object.status.conditions) && object.status.conditions.exists(c, c.type == "Ready" && c.status == "True")`,
		`object.status.conditions.all(c, c.status == "True")`, `object.status.conditions.exists(c, has(c.type) && c.type == "Ready")`,
		"size(object.status.list) == 2", "object.status.list.size() > 0", "size(object.status.map) == 0", "size(object.status.phase) == 2",
		"object.status.list[0] == 1", "object.status.list[1] == 2", "object.status.list[5] == 2", `object.status.map["a"] == 1`, `object.status.map["b"].c == "x"`,
		`"a" in object.status.map`, `"b" in object.status.list`, "1 in object.status.list", "has(object.status.map.b) && has(object.status.map.b.c)",
		"object.status.n + 1 == 4", "object.status.n * 2 == 6", "object.status.n - 1 == 2", "-object.status.n == -3", `object.status.phase + "!" == "Up!"`,
		"object.status.ok ? object.status.n == 3 : object.status.n == 0", "object.status.list == object.status.other", `object.status.list == [1, 2]`, "object.status.list == []",
		"object.status.list.exists(x, x == 2)", "object.status.list.all(x, x > 0)", "object.status.list.exists(x, x.n == 5)", "object.status.map.exists(k, k == \"a\")",
		"object.metadata.generation == 3", "object.spec == object.spec", "(object.status.ok && object.status.n == 3) || object.status.phase == \"Down\"",
		"!(object.status.n == 3) && object.status.phase == \"Down\"", "object.status.list.exists(x, object.status.list.all(y, y <= x))",
	}
	gk := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	for _, expression := range expressions {
		t.Run(expression, func(t *testing.T) {
			check := model.HealthCheck{Group: gk.Group, Kind: gk.Kind, CEL: expression}
			r := build(t, settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{check}}}})
			if len(r.Notes) > 0 {
				t.Fatal(r.Notes)
			}
			native, err := health.New().With(t.Context(), []model.HealthCheck{check})
			if err != nil {
				t.Fatal(err)
			}
			argo := assessor(t, r)
			for _, text := range objects {
				obj := state(t, gk, text)
				want := rollout.Progressing
				if holds, _, err := evaluate.CEL(t.Context(), expression, "object", obj.Object); err != nil {
					t.Fatal(err)
				} else if holds {
					want = rollout.Healthy
				}
				if want == rollout.Healthy && strings.Contains(text, "Ready") && native.Assess(t.Context(), obj).Health != rollout.Healthy {
					want = rollout.Progressing // its own condition says so
				}
				if got := native.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("a rehearsal says of %q %s, not %s", text, got.Health, want)
				}
				if got := argo.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("%q is %s (%s), want %s", text, got.Health, got.Message, want)
				}
				if got, message := inArgo(t, r.Settings.Data["resource.customizations.health.example.com_Thing"], obj.Object); got != string(want) {
					t.Errorf("with the libraries of Argo CD %q is %s (%s), want %s", text, got, message, want)
				}
			}
		})
	}
}

// An expression comes on top of the script of its kind, be it Ladder's or Argo
// CD's, and does not replace it.
func TestExpressionsComeOnTop(t *testing.T) {
	for name, test := range map[string]struct {
		gk     schema.GroupKind
		cel    string
		states map[string]rollout.Health
	}{
		"a kind of ours": {schema.GroupKind{Group: "temporal.io", Kind: "TemporalCluster"}, `object.status.version == "1"`, map[string]rollout.Health{
			"": rollout.Progressing, `status: {version: "1"}`: rollout.Progressing,
			`status: {conditions: [{type: Ready, status: "True"}]}`:                                      rollout.Progressing,
			`status: {version: "1", conditions: [{type: Ready, status: "True"}]}`:                        rollout.Healthy,
			`status: {version: "1", observedGeneration: 2, conditions: [{type: Ready, status: "True"}]}`: rollout.Progressing,
		}},
		"a kind of Argo CD's": {schema.GroupKind{Group: "cert-manager.io", Kind: "Certificate"}, "object.status.revision > 1", map[string]rollout.Health{
			"": rollout.Progressing, `status: {revision: 2}`: rollout.Progressing,
			`status: {revision: 1, conditions: [{type: Ready, status: "True"}]}`:                                                                                       rollout.Progressing,
			`status: {revision: 2, conditions: [{type: Ready, status: "True"}]}`:                                                                                       rollout.Healthy,
			`status: {revision: 2, conditions: [{type: Ready, status: "True", observedGeneration: 2}]}`:                                                                rollout.Progressing,
			`status: {revision: 2, conditions: [{type: Issuing, status: "False", reason: Failed, message: "no way"}, {type: Ready, status: "False", reason: Failed}]}`: rollout.Degraded,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			check := model.HealthCheck{Group: test.gk.Group, Kind: test.gk.Kind, CEL: test.cel}
			r := build(t, settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{check}}}})
			native, err := health.New().With(t.Context(), []model.HealthCheck{check})
			if err != nil {
				t.Fatal(err)
			}
			argo := assessor(t, r)
			for text, want := range test.states {
				obj := state(t, test.gk, text)
				if got := argo.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("%q is %s (%s), want %s", text, got.Health, got.Message, want)
				}
				if got := native.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("a rehearsal says of %q %s (%s), want %s", text, got.Health, got.Message, want)
				}
				if got, _ := inArgo(t, r.Settings.Data["resource.customizations.health."+test.gk.Group+"_"+test.gk.Kind], obj.Object); got != string(want) {
					t.Errorf("with the libraries of Argo CD %q is %s, want %s", text, got, want)
				}
			}
		})
	}
}

// What Lua cannot say is refused, not translated into something else.
func TestExpressionsThatAreRefused(t *testing.T) {
	for expression, want := range map[string]string{
		`object.status.phase.matches("^U")`:              "the function matches",
		`object.status.phase.contains("U")`:              "the function contains",
		"object.status.n / 2 == 1":                       "the function /",
		"object.status.list.map(x, x).size() == 1":       "the function map",
		"object.status.x == null":                        "a value of type null_type",
		`{"a": 1} == object.status.map`:                  "a map or message",
		"object.status.list.exists(object, object == 1)": "hides object",
		"self.ok":                            "the variable self",
		`duration("1s") < object.status.n`:   "the function duration",
		"object.?status.ok.orValue(true)":    "cannot be said",
		"object" + strings.Repeat(".a", 100): "depth",
	} {
		check := model.HealthCheck{Group: "example.com", Kind: "Thing", CEL: expression}
		r := build(t, settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{check}}}})
		if len(r.Notes) != 1 || !r.Notes[0].Lost || !strings.Contains(r.Notes[0].Message, want) {
			t.Errorf("%s: got %+v, want one about %q", expression, r.Notes, want)
		}
		if len(r.Settings.Data) > 0 {
			t.Errorf("%s: there is a script: %v", expression, r.Settings.Data)
		}
	}
}

// No text of an expression ends a string or a function of the script.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{`object.status.phase == "a\"b\\c\n\u00e9"`, `object.status["end) os.exit("] == 1`, "object.status.list.exists(x, x.y == -1)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if err := evaluate.CheckCEL(t.Context(), expression, "object"); err != nil {
			return
		}
		r, err := settings.Build(t.Context(), settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{{Group: "g.io", Kind: "K", CEL: expression}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, problems, err := health.FromArgoCM(t.Context(), r.Settings.Data); err != nil || len(problems) > 0 {
			t.Fatalf("%q: %v %v\n%v", expression, err, problems, r.Settings.Data)
		}
	})
}
