package internal

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rollout-ladder/ladder/"

// heavy is what takes long to compile or to link, and the folders that may link it, tests
// included. A folder that ends in "/" is any below it.
var heavy = []struct {
	what string
	// packages begin so; a space is their end.
	packages []string
	in       []string
}{
	{"a control plane", []string{"k8s.io/kubernetes/", "go.etcd.io/etcd/server/", "sigs.k8s.io/kwok/"}, []string{"cmd/ladder", "internal/plane/controlplane"}},
	// Who asks a confined worker, and so all who read and render, links none of what it
	// answers with.
	{"a renderer", []string{"helm.sh/helm/v4/pkg/chart/", "sigs.k8s.io/kustomize/api/", "github.com/google/go-jsonnet "}, []string{
		"cmd/ladder", "internal/worker", "internal/repo/render/helm", "internal/repo/render/kustomize", "internal/repo/render/plain",
		// These test what asks and what answers together.
		"internal/confine/evaluate", "internal/cli", "test/worker", "test/parity", "test/bench",
	}},
	// Helm has all of it for the sake of a version number.
	{"every typed client of Kubernetes", []string{"k8s.io/client-go/kubernetes "}, []string{
		"cmd/ladder", "internal/worker", "internal/repo/render/helm", "internal/repo/render/kustomize", "internal/confine/evaluate", "internal/cli", "test/worker", "test/parity", "test/bench",
		"internal/plane/controlplane/", "internal/simulate/", "test/e2e",
	}},
}

// TestOnlyAFewAreHeavy holds what is linked where, and that the command has no control
// plane with the tag noplane.
func TestOnlyAFewAreHeavy(t *testing.T) {
	lookAtSources(t)
	for name, deps := range linked(t, "./...") {
		folder, variant, _ := strings.Cut(name, " ") // a test variant names its test after it
		folder = strings.TrimSuffix(strings.TrimSuffix(folder, ".test"), "_test")
		for _, h := range heavy {
			if has(deps, h.packages) && !slices.ContainsFunc(h.in, func(in string) bool {
				return folder == in || strings.HasSuffix(in, "/") && strings.HasPrefix(folder+"/", in)
			}) {
				t.Errorf("%s links %s", name, h.what)
			}
		}
		// Nothing but a test asks a worker that is another program.
		test := variant != "" || name != folder || folder == "internal/plane/planetest"
		if !test && has(deps, []string{module + "internal/confine/confinetest "}) {
			t.Errorf("%s links confinetest, which is for tests", name)
		}
	}
	for name, deps := range linked(t, "-tags", "noplane", "./cmd/ladder", "./internal/cli/...") {
		if has(deps, heavy[0].packages) {
			t.Errorf("with the tag noplane, a control plane is linked by %s", name)
		}
	}
}

// linked are packages and tests with all that they link, each followed by a space.
func linked(t *testing.T, arguments ...string) map[string]string {
	t.Helper()
	list := exec.Command("go", append([]string{"list", "-test", "-f", "{{.ImportPath}}: {{join .Deps \" \"}} "}, arguments...)...)
	list.Dir = ".."
	out, err := list.CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, deps, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		all[strings.TrimPrefix(name, module)] = deps
	}
	return all
}

// has reports whether one of some packages is linked.
func has(deps string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(deps, " "+p) })
}
