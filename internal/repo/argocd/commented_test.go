package argocd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// TestCommentsAreBounded has more comments than are looked for.
func TestCommentsAreBounded(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"first", "last"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := repofs.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# - first\n")
	for i := range maxCommented {
		fmt.Fprintf(&b, "# - %d\n", i)
	}
	b.WriteString("# - last\n")
	r := &Repository{tree: tree, commented: map[string][]string{}}
	r.noteCommented("kustomization.yaml", []byte(b.String()))
	if !slices.Equal(r.commented["first"], []string{"."}) || r.commented["last"] != nil {
		t.Errorf("noted %v", r.commented)
	}
}
