package byhand

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// What a script writes into a file and another one applies counts, and so do variables of
// their own files.
func TestKept(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"render.sh": "out=\"$(mktemp -d)\"\ncurl -fsSL \\\n  \"https://example.org/v$VERSION/crds.yaml\" \\\n  -o \"$out/bootstrap/crds.yaml\"\n" +
			"helm template cilium cilium --repo https://c.example.org --include-crds >\"$out/bootstrap/cilium.yaml\"\n" +
			"wget https://example.org/other.yaml -O other.yaml\n",
		"install.sh": "VERSION=1\nkubectl apply -f \"$ROOT/.rendered/bootstrap/crds.yaml\"\nkubectl apply -f .rendered/bootstrap/cilium.yaml\n" +
			"kubectl delete -f other.yaml\nhelm template web web --repo https://w.example.org | kubectl apply -f -\n",
		"tf/main.tf": "resource \"kubernetes_namespace\" \"a\" {\n  metadata {\n    name = \"certs\"\n  }\n}\n" +
			"resource \"helm_release\" \"b\" {\n  name = \"b\"\n  namespace = \"kept\"\n}\n" +
			"resource \"helm_release\" \"c\" {\n  name = \"c\"\n  namespace = \"made\"\n  create_namespace = true\n}\n",
		"justfile": "vault_ns := \"vault\"\n\nup:\n    kubectl create namespace {{vault_ns}} --dry-run=client -o yaml | kubectl apply -f -\n" +
			"    helm upgrade --install db db --repo https://d.example.org -n {{db_ns}} --create-namespace\n    kubectl create ns {{other}}\ndb_ns := 'databases'\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	told := Find(t.Context(), &repofs.Tree{Root: root, Repository: root})
	var got []string
	for _, one := range told.Instructions {
		got = append(got, one.Position.String()+" "+one.Address)
	}
	for _, one := range told.Releases {
		got = append(got, fmt.Sprint(one.Position.String(), " ", one.Chart, " of ", one.Repository, " ", one.SkipCRDs))
	}
	for _, one := range told.Namespaces {
		got = append(got, one.Position.String()+" Namespace "+one.Name)
	}
	slices.Sort(got)
	want := []string{
		"install.sh:2 https://example.org/v$VERSION/crds.yaml",
		"install.sh:3 cilium of https://c.example.org false",
		"install.sh:5 https://w.example.org",
		"install.sh:5 web of https://w.example.org true",
		"justfile:4 Namespace vault",
		"justfile:5 Namespace databases",
		"justfile:5 db of https://d.example.org false",
		"tf/main.tf:1 Namespace certs",
		"tf/main.tf:10 Namespace made",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestVariables(t *testing.T) {
	known := variablesOf([]byte("A=1\nexport B=\"two words\"\nC := 3 # a remark\nD=4\nD=5\nI=1\nfor I in 2 3; do\nJ=1\nJ=$(date)\nE=$(date)\nF ?= six\nif [ \"$G\" = x ]; then\n"))
	for written, want := range map[string]string{
		"$A ${A} $(A) {{A}} {{ .A }}": "1 1 1 1 1", "${B}": "two words", "{{C}}": "3", "$D": "$D", "$I $J": "$I $J", "$E": "$E", "$F/$G": "six/$G", "${H:-eight}/${A:-9}": "eight/1", "'{{.Values.x}}'": "'{{.Values.x}}'",
	} {
		if got := known.fill(written); got != want {
			t.Errorf("%s: got %q, want %q", written, got, want)
		}
	}
}

// What variables add to the commands of a file is bounded.
func TestVariablesBounded(t *testing.T) {
	line := "kubectl " + strings.Repeat("$A", 100_000)
	content := []byte("A=" + strings.Repeat("x", maxValue) + "\n" + strings.Repeat(line+"\n", 3))
	var total int
	for _, c := range commands("run.sh", content) {
		total += len(c.text)
	}
	if most := len(content) + maxFilled; total > most {
		t.Errorf("commands of %d bytes out of %d", total, len(content))
	}
}

// Files that commands fetch again and again, and others apply, are bounded as others are.
func TestKeptBounded(t *testing.T) {
	root := t.TempDir()
	script := strings.Repeat("curl https://example.org/a.yaml -o out/a.yaml\n", 2_000) + strings.Repeat("kubectl apply -f out/a.yaml\n", 2_000)
	if err := os.WriteFile(filepath.Join(root, "run.sh"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if told := Find(t.Context(), &repofs.Tree{Root: root, Repository: root}); len(told.Instructions) == 0 || len(told.Instructions) > maxApplied {
		t.Errorf("%d instructions", len(told.Instructions))
	}
}

// The values of variables are in no output.
func TestShown(t *testing.T) {
	for _, one := range instructions(newText("run.sh", []byte("TOKEN=secret\nkubectl apply -f https://dl.example.org/$TOKEN/crds.yaml\n"))) {
		if one.Address != "https://dl.example.org/secret/crds.yaml" || one.Shown != "https://dl.example.org/$TOKEN/crds.yaml" {
			t.Errorf("%+v", one)
		}
	}
}

// An argument that stands many times in a function does not make its commands larger than the bound.
func TestWithArgumentsIsBounded(t *testing.T) {
	const size = 200
	long := strings.Repeat("x", size)
	if got := withArguments("kubectl apply -f \"$1\"", []string{long}); got != "kubectl apply -f \""+long+"\"" {
		t.Errorf("a short function: %q", got)
	}
	if got := withArguments("local a=\"$1\"\nlocal b=\"$2\"\n"+strings.Repeat("$a$b", maxBody/4), []string{long, long}); got != "" {
		t.Errorf("%d bytes of a function", len(got))
	}
	if got := withArguments("kubectl apply -f $1", []string{strings.Repeat("x", maxValue+1)}); got != "kubectl apply -f $1" {
		t.Errorf("a value that is too long was filled in: %d bytes", len(got))
	}
}
