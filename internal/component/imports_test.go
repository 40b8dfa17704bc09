package component

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestCoreImportsStandardLibraryOnly keeps the core pure: what it imports,
// directly or not, is the standard library and the core itself.
func TestCoreImportsStandardLibraryOnly(t *testing.T) {
	const module = "github.com/rollout-ladder/ladder/internal/"
	core := []string{"address", "argo", "component", "dag", "dependency", "finding", "fluxcd", "lint", "plan", "report", "rollout"}
	inCore := map[string]bool{}
	var listed []string
	for _, name := range core {
		inCore[module+name] = true
		if _, err := os.Stat("../" + name + "/doc.go"); err == nil {
			listed = append(listed, module+name)
		}
	}
	args := append([]string{"list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}} {{join .Imports \",\"}}{{end}}"}, listed...)
	cmd := exec.Command("go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	if len(out) == 0 {
		t.Fatal("go list found nothing")
	}
	for line := range strings.Lines(string(out)) {
		path, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path != "" && !inCore[path] && !strings.HasPrefix(path, "vendor/") {
			t.Errorf("the core imports %s", path)
		}
		for _, forbidden := range []string{"os", "net", "net/http", "os/exec"} {
			if inCore[path] && strings.Contains(","+imports+",", ","+forbidden+",") {
				t.Errorf("%s imports %s: the core does no I/O", path, forbidden)
			}
		}
	}
}
