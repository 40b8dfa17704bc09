package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

const root = "../.."

// table reads the rows of the table below a heading of docs/seed-ladder.md.
func table(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "seed-ladder.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/seed-ladder.md has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("the table %q has %d lines", heading, len(rows))
	}
	return rows[2:]
}

// copied copies the two Ameide examples into one repository and returns the
// folder of the examples.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ameide", "ameide-tiers"} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, "examples", name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}

func loaded(t *testing.T, dir string) *analysis.Result {
	t.Helper()
	r, err := analysis.Load(context.Background(), dir, analysis.Options{Environment: "dev", Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unrendered) > 0 {
		t.Fatalf("not rendered: %v", r.Unrendered[0])
	}
	return r
}

// judged lints an environment: "severity rule component provider", with "-" for
// no provider.
func judged(t *testing.T, dir string) map[string]bool {
	t.Helper()
	lines := map[string]bool{}
	for _, f := range lint.Run(loaded(t, dir).Lint(), lint.Options{}) {
		provider := f.Provider
		if provider == "" {
			provider = "-"
		}
		lines[fmt.Sprintf("%s %s %s %s", f.Severity, f.Rule, f.Component, provider)] = true
	}
	return lines
}

// The ladder as it was first written: every component that was moved has a
// finding where it stood.
func TestSeedLadderPhases(t *testing.T) {
	found := judged(t, fixtures.AmeideAsWritten(t, root))
	listed := map[string]bool{}
	for _, row := range table(t, "Phases") {
		listed[row[0]] = true
		if want := fmt.Sprintf("%s %s %s %s", row[3], row[2], row[4], row[5]); !found[want] {
			t.Errorf("%s at %s: no finding %q", row[0], row[1], want)
		}
	}
	for _, move := range fixtures.AmeideMoves(t, root) {
		if !listed[move[0]] {
			t.Errorf("%s was moved, and the table does not list it", move[0])
		}
	}
}

// edits restore what was first written where not a phase was corrected, one row
// of the table each.
var edits = map[string]func(t *testing.T, dir string){
	"foundation-operators-smoke validates every operator": func(t *testing.T, dir string) {
		insert(t, dir, "foundation/operators-smoke", "validates", "foundation-clickhouse-operator")
	},
	"foundation-bootstrap-smoke validates all bundles": func(t *testing.T, dir string) {
		insert(t, dir, "foundation/bootstrap-smoke", "validates", "foundation-vault-secrets-observability")
	},
	"apps require foundation-vault-secrets-platform": func(t *testing.T, dir string) {
		insert(t, dir, "apps/core/graph", "requires", "foundation-vault-secrets-platform")
	},
	"data-temporal-namespace-bootstrap at 440": func(t *testing.T, dir string) {
		write(t, dir, "environments/dev/components/data/extended/temporal-namespace-bootstrap/component.yaml",
			"name: data-temporal-namespace-bootstrap\ndomain: data-extended\nnamespace: ameide\nrolloutPhase: \"440\"\n"+
				"componentType: bootstrap\nrequires: [data-temporal]\nmanifests: {path: sources/manifests/temporal-namespaces}\n")
		write(t, dir, "sources/manifests/temporal-namespaces/names.yaml",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: temporal-namespaces, namespace: ameide}\n")
	},
	"platform-gateway holds every route": func(t *testing.T, dir string) {
		write(t, dir, "sources/charts/gateway/templates/graph.yaml",
			"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: graph-route, namespace: ameide}\n"+
				"spec: {parentRefs: [{name: ameide}], rules: [{backendRefs: [{name: graph, port: 8080}]}]}\n")
	},
	"nobody makes www-ameide-auth": func(t *testing.T, dir string) {
		if err := os.Remove(filepath.Join(dir, "sources/charts/keycloak-realm/templates/secret.yaml")); err != nil {
			t.Fatal(err)
		}
	},
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// insert adds a name to a list of a descriptor.
func insert(t *testing.T, dir, component, field, name string) {
	t.Helper()
	path := filepath.Join(dir, "environments/dev/components", component, "component.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(content, []byte("\n"+field+":\n"), []byte("\n"+field+":\n  - "+name+"\n"), 1)
	if bytes.Equal(changed, content) {
		t.Fatalf("%s has no list %s", component, field)
	}
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Requirements that were corrected: with each of them back as it was written,
// lint finds what is wrong with it; corrected, it does not.
func TestSeedLadderRequirements(t *testing.T) {
	right := judged(t, filepath.Join(copied(t), "ameide"))
	seen := map[string]bool{}
	for _, row := range table(t, "Requirements") {
		edit, ok := edits[row[0]]
		if !ok {
			if row[1] != "-" {
				t.Errorf("nothing restores %q", row[0])
			}
			continue
		}
		seen[row[0]] = true
		t.Run(row[0], func(t *testing.T) {
			dir := filepath.Join(copied(t), "ameide")
			edit(t, dir)
			want := fmt.Sprintf("%s %s %s %s", row[2], row[1], row[3], row[4])
			if !judged(t, dir)[want] {
				t.Errorf("no finding %q", want)
			}
			if right[want] {
				t.Errorf("the corrected ladder has the finding %q, too", want)
			}
		})
	}
	if len(seen) != len(edits) {
		t.Errorf("the table lists %d of %d", len(seen), len(edits))
	}
}

// declaredLists are the lists of a descriptor that declare edges.
var declaredLists = regexp.MustCompile(`(?m)^(requires|validates):.*\n(  +- .*\n)*`)

// inferredEdges are the edges of an example without what its descriptors declare.
func inferredEdges(t *testing.T, dir string) map[string]bool {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "environments"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, declaredLists.ReplaceAll(content, nil), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	edges := map[string]bool{}
	for _, e := range loaded(t, dir).Edges {
		if e.Basis == finding.Declared {
			t.Fatalf("%s -> %s is still declared", e.From, e.To)
		}
		edges[e.From+" -> "+e.To] = true
	}
	return edges
}

// The edges that were once missing from the descriptors: the manifests prove
// those that the table says are inferred, and no others of it.
func TestSeedMissingEdges(t *testing.T) {
	dir := copied(t)
	inferred := inferredEdges(t, filepath.Join(dir, "ameide-tiers"))
	for e := range inferredEdges(t, filepath.Join(dir, "ameide")) {
		inferred[e] = true
	}
	var rows int
	for _, row := range table(t, "Missing edges") {
		for consumer := range strings.SplitSeq(row[0], ", ") {
			for provider := range strings.SplitSeq(row[1], ", ") {
				rows++
				edge := consumer + " -> " + provider
				switch how := row[2]; {
				case how == "inferred" && !inferred[edge]:
					t.Errorf("%s is not inferred", edge)
				case how == "declared" && inferred[edge]:
					t.Errorf("%s is inferred, and the table says it cannot be", edge)
				case !slices.Contains([]string{"inferred", "declared", "gone"}, how):
					t.Errorf("%s: %q is no way to know an edge", edge, how)
				}
			}
		}
	}
	if rows < 60 {
		t.Errorf("%d edges", rows)
	}
}
