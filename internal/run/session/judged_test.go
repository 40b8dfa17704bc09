package session

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestJudgedSmokes: a smoke that cannot fail is told, unless somebody says why.
func TestJudgedSmokes(t *testing.T) {
	descriptor := "name: store-smoke\nrolloutPhase: \"299\"\ncomponentType: smoke\nmanifests: {path: smoke}\n"
	for name, c := range map[string]struct {
		ladder, descriptor string
		command            string
		told               int
	}{
		"it cannot fail":        {"{}", descriptor, "wget http://store || true", 1},
		"it can":                {"{}", descriptor, "wget http://store", 0},
		"a comment says why":    {"{}", "# ladder:ignore smoke-tests-nothing judged by hand\n" + descriptor, "exit 0", 0},
		"the ladder says why":   {"lint: {suppress: [{rule: smoke-tests-nothing, component: store-smoke, reason: judged by hand}]}", descriptor, "exit 0", 0},
		"the rule is not asked": {"lint: {rules: {smoke-tests-nothing: off}}", descriptor, "exit 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t, map[string]string{
				"ladder.yaml": c.ladder,
				"environments/dev/components/store-smoke/component.yaml": c.descriptor,
				"smoke/job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: ask, namespace: default}\n" +
					"spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: \"a:1\", command: [sh, -c, \"" + c.command + "\"]}]}}}\n",
			})
			if found := Judged(loaded, rollout.Phases); len(found) != c.told || c.told > 0 && found[0].Component != "store-smoke" {
				t.Errorf("found %v", found)
			}
		})
	}
}

// TestJudgedOrder: components that require each other, or what nobody has, are told, unless
// somebody says why.
func TestJudgedOrder(t *testing.T) {
	for name, c := range map[string]struct {
		ladder, requires string
		want             []string
	}{
		"all is well":                 {"{}", "[]", nil},
		"they require each other":     {"{}", "[api]", []string{"cycle"}},
		"nobody has it":               {"{}", "[nosuch]", []string{"unknown-requirement"}},
		"the ladder says why":         {"lint: {suppress: [{rule: unknown-requirement, component: db, reason: of another team}]}", "[nosuch]", nil},
		"the rule is not asked":       {"lint: {rules: {cycle: off}}", "[api]", nil},
		"what a rollout shows itself": {"{}", "[late]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"ladder.yaml": c.ladder, "site/site.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site, namespace: default}\n"}
			for component, rest := range map[string]string{
				"db": "rolloutPhase: \"250\"\nrequires: " + c.requires, "api": "rolloutPhase: \"250\"\nrequires: [db]", "late": "rolloutPhase: \"350\"",
			} {
				files["environments/dev/components/"+component+"/component.yaml"] = "name: " + component + "\n" + rest + "\nmanifests: {path: site}\n"
			}
			var got []string
			for _, f := range Judged(load(t, files), rollout.Phases) {
				if f.Severity == finding.Error {
					got = append(got, f.Rule)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("errors %v, want %v", got, c.want)
			}
		})
	}
}

func load(t *testing.T, files map[string]string) *analysis.Result {
	t.Helper()
	dir := t.TempDir()
	for file, text := range files {
		file = filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := analysis.Load(t.Context(), dir, analysis.Options{Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// That nobody has a phase is no error where requirements alone order.
func TestJudgedWithoutPhases(t *testing.T) {
	files := map[string]string{
		"environments/dev/components/web/component.yaml": "name: web\ndomain: apps\nnamespace: default\n",
		"environments/dev/components/web/web.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	}
	for policy, want := range map[rollout.Policy]int{rollout.Phases: 1, rollout.Serial: 1, rollout.Edges: 0} {
		if found := Judged(load(t, files), policy); len(found) != want || want > 0 && found[0].Rule != "phase-missing" {
			t.Errorf("%s: %v", policy, found)
		}
	}
}
