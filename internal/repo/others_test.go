package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo"
)

// TestUnreadTerraformIsTold: a repository without a platform says what it could not read for one.
func TestUnreadTerraformIsTold(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"main.tf":  "# kind: Application, argoproj.io\nresource \"kubernetes_namespace\" \"web\" {\n  metadata { name = \"web\" }\n}\n",
		"large.tf": strings.Repeat("# x\n", 2<<20),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := repo.Open(t.Context(), dir, repo.Options{})
	if err == nil || !strings.Contains(err.Error(), "main.tf:1") || !strings.Contains(err.Error(), "but Terraform for Argo CD, which is not read: large.tf: is larger than 4 MiB") {
		t.Errorf("got %v", err)
	}
}
