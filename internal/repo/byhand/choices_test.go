package byhand

import (
	"context"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func TestEither(t *testing.T) {
	const gitops = "kubectl apply -f - <<EOF\nspec:\n  source:\n    path: chart\nEOF\n"
	for name, tc := range map[string]struct {
		up     string
		gitops string
		line   int // of the condition, 0 for none
	}{
		"two branches":            {"if [ \"$G\" = true ]; then\n  ./gitops.sh\nelse\n  ./apps.sh\nfi\n", gitops, 1},
		"one line":                {"set -e\nif $G; then ./gitops.sh; else echo apps; ./apps.sh; fi\n", gitops, 2},
		"another condition":       {"if $A; then ./apps.sh\nelif $B; then\n  if $C; then ./gitops.sh; fi\nfi\n", gitops, 1},
		"a chart of Helm":         {"if $G; then\n./gitops.sh\nelse\n./apps.sh\nfi\n", "helm install root ./chart\n", 1},
		"one branch":              {"if $G; then\n./gitops.sh\n./apps.sh\nfi\n", gitops, 0},
		"two conditions":          {"if $G; then\n./gitops.sh\nfi\nif $A; then\n./apps.sh\nfi\n", gitops, 0},
		"both in one of two":      {"if $G; then\n./gitops.sh\n./apps.sh\nelse\n./apps.sh\nfi\n", gitops, 0},
		"one whatever is chosen":  {"./apps.sh\nif $G; then\n./gitops.sh\nelse\n./apps.sh\nfi\n", gitops, 0},
		"another chart":           {"if $G; then\n./gitops.sh\nelse\n./apps.sh\nfi\n", "kubectl apply -f - <<EOF\n    path: charts\nEOF\n", 0},
		"a condition in comments": {"# if $G; then\n./gitops.sh\n# else\n./apps.sh\n# fi\n", gitops, 0},
	} {
		root := t.TempDir()
		writeFile(t, root, "up.sh", "# needs kubectl\n"+tc.up)
		writeFile(t, root, "gitops.sh", tc.gitops)
		writeFile(t, root, "apps.sh", "kubectl apply -f apps/")
		writeFile(t, root, "chart/Chart.yaml", "name: chart")
		told := Find(context.Background(), &repofs.Tree{Root: root, Repository: root})
		at, ok := told.Either("apps.sh", "chart")
		if want := tc.line > 0; ok != want || ok && (at.File != "up.sh" || at.Line != tc.line+1) {
			t.Errorf("%s: %t, %s, want line %d", name, ok, at, tc.line)
		}
	}
}
