package byhand

import (
	"context"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// TestTerraformLeftOut: of Terraform that is too large the rest counts, and what was left out is told.
func TestTerraformLeftOut(t *testing.T) {
	const namespace = "resource \"kubernetes_namespace\" \"web\" {\n  metadata { name = \"web\" }\n}\n"
	large := strings.Repeat("# "+strings.Repeat("x", 1022), 5<<10)
	half := strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 3<<10)
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"all of it":    {map[string]string{"a.tf": namespace}, ""},
		"one file":     {map[string]string{"a.tf": namespace, "b.tf": large}, "b.tf: is larger than 4 MiB"},
		"all together": {map[string]string{"a.tf": namespace, "b.tf": half, "c.tf": half, "d.tf": half}, "with d.tf the Terraform of the repository is larger than 8 MiB"},
		"of a test":    {map[string]string{"a.tf": namespace, "testdata/b.tf": large}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, content := range test.files {
				writeFile(t, root, file, content)
			}
			told := Find(context.Background(), &repofs.Tree{Root: root, Repository: root})
			if len(told.Namespaces) != 1 || told.Namespaces[0].Name != "web" {
				t.Errorf("namespaces %v", told.Namespaces)
			}
			if test.want == "" && told.Unread != nil || test.want != "" && (told.Unread == nil || !strings.HasPrefix(told.Unread.Error(), test.want)) {
				t.Errorf("unread: %v, want %s", told.Unread, test.want)
			}
		})
	}
}
