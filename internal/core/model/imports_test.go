package model

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCoreImportsStandardLibraryOnly keeps the core pure: what it imports,
// directly or not, is the standard library and the core itself.
func TestCoreImportsStandardLibraryOnly(t *testing.T) {
	const core = "github.com/rollout-ladder/ladder/internal/core/"
	cmd := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{join .Imports \",\"}}{{end}}", core+"...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	if !strings.Contains(string(out), core) {
		t.Fatal("go list found nothing")
	}
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		inCore := strings.HasPrefix(path, core)
		if path != "" && !inCore && !strings.HasPrefix(path, "vendor/") {
			t.Errorf("the core imports %s", path)
		}
		for _, forbidden := range []string{"os", "net", "net/http", "os/exec"} {
			if inCore && strings.Contains(","+imports+",", ","+forbidden+",") {
				t.Errorf("%s imports %s: the core does no I/O", path, forbidden)
			}
		}
	}
}
