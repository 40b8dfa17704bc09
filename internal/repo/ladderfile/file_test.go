package ladderfile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func parse(t *testing.T, text string) *ladderfile.File {
	t.Helper()
	f, err := ladderfile.Parse("ladder.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEmptyIsDefault(t *testing.T) {
	want := ladderfile.Default()
	want.Ladder.Position = finding.Position{File: "ladder.yaml", Line: 1}
	if diff := cmp.Diff(want, parse(t, "# nothing\n")); diff != "" {
		t.Error(diff)
	}
}

func TestOverrides(t *testing.T) {
	f := parse(t, `
defaults: {timeout: 5m, retry: {limit: 0, backoff: {factor: 3}}, maxInFlight: 4}
durations: {types: {operator: 90s}, components: {vault: 2m}}
environments:
  prod: {values: ["a/{{name}}.yaml"], kubeVersion: v1.33, apiVersions: [a/v1], path: overlays/prod}
  dev:
lint:
  rules: {a: off, b: warning}
  suppress: [{rule: a, component: x, reason: Known.}]
`)
	if len(f.Findings) > 0 {
		t.Fatal(f.Findings)
	}
	zero := 0
	want := model.Retry{Limit: &zero, Duration: 5 * time.Second, Factor: 3, MaxDuration: 3 * time.Minute}
	if diff := cmp.Diff(want, f.Ladder.Retry); diff != "" {
		t.Error(diff)
	}
	if f.Ladder.Timeout != 5*time.Minute || f.Ladder.MaxInFlight != 4 || f.Durations["vault"] != 2*time.Minute {
		t.Errorf("got %v %v %v", f.Ladder.Timeout, f.Ladder.MaxInFlight, f.Durations)
	}
	if got := f.Ladder.Durations; got[model.Operator] != 90*time.Second || got[model.Runtime] != time.Minute {
		t.Errorf("durations %v", got)
	}
	environments := []plan.Environment{
		{Name: "dev"},
		{
			Name: "prod", KubeVersion: "1.33", APIVersions: []string{"a/v1"},
			Values: []model.ValueFile{{Path: "a/{{name}}.yaml", Optional: true, Position: finding.Position{File: "ladder.yaml", Line: 5}}},
		},
	}
	if diff := cmp.Diff(environments, f.Ladder.Environments); diff != "" {
		t.Error(diff)
	}
	if f.Folders["prod"].Overlay != "overlays/prod" {
		t.Errorf("folders %v", f.Folders)
	}
	lint := ladderfile.Lint{
		Rules:    map[string]string{"a": "off", "b": "warning"},
		Suppress: []ladderfile.Suppression{{Rule: "a", Component: "x", Reason: "Known.", Position: finding.Position{File: "ladder.yaml", Line: 9}}},
	}
	if diff := cmp.Diff(lint, f.Lint); diff != "" {
		t.Error(diff)
	}
}

func TestCatalogue(t *testing.T) {
	f := parse(t, "catalogue:\n- ladder/*.yaml\n- chart: web\n  version: 1.0.0\n- [a]\n")
	if len(f.Catalogue) != 2 || f.Catalogue[0].Files.Path != "ladder/*.yaml" || f.Catalogue[0].Files.Position.Line != 2 ||
		f.Catalogue[1].Entry.Position.Line != 3 {
		t.Errorf("read %+v", f.Catalogue)
	}
	if len(f.Findings) != 1 || f.Findings[0].Position.Line != 5 {
		t.Errorf("findings %v", f.Findings)
	}
}

func TestMaxUpdateFollowsTheSlot(t *testing.T) {
	tests := map[model.Phase]int{
		0: 3, 10: 3, 20: 2, 99: 2, 110: 3, 120: 2, 130: 4, 140: 4, 150: 6, 155: 2, 160: 2, 199: 2, 145: 4, 650: 10, 640: 4, 651: 10,
	}
	for phase, want := range tests {
		got := ladderfile.MaxUpdate(phase, ladderfile.DefaultBands(), ladderfile.DefaultSlots())
		if got != (plan.MaxUpdate{Count: want, Set: true}) {
			t.Errorf("%v: got %+v, want %d", phase, got, want)
		}
	}
}

func TestStepsOfTiers(t *testing.T) {
	f := parse(t, `
tiers: [foundation, data]
steps:
  - {phases: ["110"]}
  - {phases: ["210"], tier: foundation}
  - {phases: ["220"], tier: nowhere}
  - {phases: ["350"]}
`)
	var got []string
	for _, s := range f.Ladder.Steps {
		got = append(got, s.Set)
	}
	if diff := cmp.Diff([]string{"foundation", "foundation", "nowhere", ""}, got); diff != "" {
		t.Error(diff)
	}
	if f.Ladder.Layout != plan.Tiers || len(f.Findings) != 1 || f.Findings[0].Position.Line != 6 {
		t.Errorf("layout %s, findings %v", f.Ladder.Layout, f.Findings)
	}
}

func TestDeriveSteps(t *testing.T) {
	components := []model.Component{
		{Phase: 250, Domain: "data"}, {Phase: 10, Domain: "foundation"}, {Phase: 250, Domain: "data", Enabled: true},
		{Phase: model.NoPhase}, {Phase: 10, Domain: "data"}, {Phase: 5, PreArgo: true}, {Phase: 7, Waves: []int{1}},
	}
	count := func(n int) plan.MaxUpdate { return plan.MaxUpdate{Count: n, Set: true} }
	tests := map[plan.Layout][]plan.LadderStep{
		plan.Single: {{Phases: []model.Phase{10}, MaxUpdate: count(3)}, {Phases: []model.Phase{250}, MaxUpdate: count(6)}},
		plan.Tiers: {
			{Phases: []model.Phase{10}, Set: "foundation", MaxUpdate: count(3)},
			{Phases: []model.Phase{10}, Set: "data", MaxUpdate: count(3)},
			{Phases: []model.Phase{250}, Set: "data", MaxUpdate: count(6)},
		},
	}
	for layout, want := range tests {
		l := ladderfile.Default().Ladder
		l.Layout, l.Sets = layout, []string{"foundation", "data"}
		if diff := cmp.Diff(want, ladderfile.DeriveSteps(l, components)); diff != "" {
			t.Errorf("%s: %s", layout, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"layout: tiers\ntiers: [a]\nsteps: [{phases: [1, a, []], maxUpdate: {}}, 3]\n",
		"bands: [{name: a, from: 1, to: 2, types: [crds, b, []]}, {}]\nenvironments: {a: [], b: {values: 3}, ../c: }\n",
		"defaults: {retry: {backoff: []}}\ndurations: {types: [], components: {a: []}}\n",
		"preArgo: [{name: a, requrires: 1}, []]\nlint: {rules: {a: off}, suppress: [{}]}\nsimulation: {rules: {}}\n",
		"[a]", "layout: &a {b: *a}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := ladderfile.Parse("ladder.yaml", []byte(text))
		placed := func(at finding.Position) bool { return at.File == "ladder.yaml" && at.Line > 0 }
		if err != nil {
			for _, e := range repofs.InputErrors(err) {
				if placed(e.Position) {
					return
				}
			}
			t.Fatalf("an error without a place: %v", err)
		}
		for _, found := range file.Findings {
			if !placed(found.Position) || found.Message == "" || found.Rule == "" {
				t.Fatalf("a finding without a place: %#v", found)
			}
		}
		for _, s := range file.Ladder.Steps {
			if len(s.Phases) == 0 || !s.MaxUpdate.Set || s.MaxUpdate.Count < 0 {
				t.Fatalf("accepted the step %+v", s)
			}
		}
		for _, b := range file.Ladder.Bands {
			if b.Name == "" || b.To < b.From {
				t.Fatalf("accepted the band %+v", b)
			}
		}
	})
}
