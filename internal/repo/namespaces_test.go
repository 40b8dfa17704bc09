package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo"
)

// Argo CD runs before it reads its first Application; what a repository applies
// before Argo CD brings its namespace itself.
func TestNamespacesOfArgoCD(t *testing.T) {
	const app = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: gitops}\nspec:\n  source: {repoURL: https://example.com/x.git, path: config}\n  destination: {namespace: a}\n" +
		"---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: b, namespace: <NAMESPACE>}\nspec:\n  source: {repoURL: https://example.com/x.git, path: config}\n  destination: {namespace: a}\n" +
		"---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: c}\nspec:\n  source: {repoURL: https://example.com/x.git, path: config}\n  destination: {namespace: a}\n"
	for name, tc := range map[string]struct {
		ladder string
		want   []string
	}{
		"nothing before it":   {"", []string{"argocd", "gitops"}},
		"something before it": {"preArgo:\n  - {name: first, path: config/config.yaml}\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"apps/apps.yaml": app, "config/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"}
			if tc.ladder != "" {
				files["ladder.yaml"] = tc.ladder
			}
			for file, text := range files {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			p, err := repo.Open(t.Context(), dir, repo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, p.Namespaces); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
