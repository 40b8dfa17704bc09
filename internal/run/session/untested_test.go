package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
)

// TestUntested: a smoke that cannot fail is told, unless somebody says why.
func TestUntested(t *testing.T) {
	descriptor := "name: store-smoke\nrolloutPhase: \"299\"\ncomponentType: smoke\nvalidates: [store]\nmanifests: {path: smoke}\n"
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
			dir := t.TempDir()
			for file, text := range map[string]string{
				"ladder.yaml": c.ladder,
				"environments/dev/components/store-smoke/component.yaml": c.descriptor,
				"smoke/job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: ask, namespace: default}\n" +
					"spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: \"a:1\", command: [sh, -c, \"" + c.command + "\"]}]}}}\n",
			} {
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
			if found := Untested(loaded); len(found) != c.told || c.told > 0 && found[0].Component != "store-smoke" {
				t.Errorf("found %v", found)
			}
		})
	}
}
