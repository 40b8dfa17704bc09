package byhand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// TestFunctions reads what functions of a script do with the arguments of their calls.
func TestFunctions(t *testing.T) {
	script := `#!/bin/sh
ensure_ns() {
  kubectl create namespace "$1" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
}
function secret() {
  local ns="${1}" name="$2"
  kubectl -n "$ns" create secret generic "$name" --from-literal=a=b
}
unused() {
  kubectl create namespace "$1"
}
for ns in data web; do
  ensure_ns "$ns"
done
ensure_ns other && secret other token
ensure_ns "$OPEN"
`
	var got []string
	for _, n := range namespaces(newText("run.sh", []byte(script))) {
		got = append(got, n.Name)
	}
	if diff := cmp.Diff([]string{"data", "web", "other"}, got); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	got = nil
	for _, o := range objects(newText("run.sh", []byte(script))) {
		got = append(got, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	if diff := cmp.Diff([]string{"Secret data/*", "Secret web/*", "Secret other/token"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestRemarks reads the comments of manifests, which tell what they need.
func TestRemarks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("bootstrap/00-namespace.yaml", "# Applied by hand, once: `oc apply -f bootstrap/00-namespace.yaml`\napiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n")
	write("apps/web.yaml", "# oc apply -f apps/web.yaml\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n")
	tree, err := repofs.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	told := Find(t.Context(), tree)
	if len(told.Namespaces) != 1 || told.Namespaces[0].Name != "web" || len(told.Files) != 0 || len(told.Shown) != 1 || told.Shown[0].Address != "apps/web.yaml" {
		t.Errorf("got namespaces %v, files %v, shown %v", told.Namespaces, told.Files, told.Shown)
	}
}
