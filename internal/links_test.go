package internal

import (
	"os/exec"
	"strings"
	"testing"
)

// the modules of a control plane, which take minutes to compile.
var heavy = []string{"k8s.io/kubernetes/", "go.etcd.io/etcd/server/", "sigs.k8s.io/kwok/"}

// TestOnlyThePlaneIsHeavy holds that package controlplane and the command alone
// link a control plane, and the command not with the tag noplane.
func TestOnlyThePlaneIsHeavy(t *testing.T) {
	const module = "github.com/rollout-ladder/ladder/"
	lookAtSources(t)
	linking := func(arguments ...string) (packages []string) {
		t.Helper()
		list := exec.Command("go", append([]string{"list", "-test", "-f", "{{.ImportPath}}: {{join .Deps \" \"}}"}, arguments...)...)
		list.Dir = ".."
		out, err := list.CombinedOutput()
		if err != nil {
			t.Fatalf("go list: %v\n%s", err, out)
		}
		for line := range strings.Lines(string(out)) {
			name, deps, _ := strings.Cut(strings.TrimSpace(line), ": ")
			for _, prefix := range heavy {
				if strings.Contains(" "+deps, " "+prefix) {
					packages = append(packages, strings.TrimPrefix(name, module))
					break
				}
			}
		}
		return packages
	}
	for _, name := range linking("./...") {
		folder, _, _ := strings.Cut(name, " ") // a test variant names its test after it
		if folder = strings.TrimSuffix(folder, ".test"); folder != "cmd/ladder" && folder != "internal/plane/controlplane" {
			t.Errorf("%s links a control plane", name)
		}
	}
	if found := linking("-tags", "noplane", "./cmd/ladder", "./internal/cli/..."); len(found) > 0 {
		t.Errorf("with the tag noplane, a control plane is linked by %v", found)
	}
}
