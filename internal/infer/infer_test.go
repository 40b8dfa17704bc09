package infer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/plan"
)

// scenario reads a scenario: a file "order" with one line per component, in
// order: its name and namespace, then words: "disabled", "unrendered",
// "creates-namespace", "requires=x", "validates=x"; a file "NAME.yaml" with the
// objects of a component; and a file "edges" with what must come out.
func scenario(t *testing.T, archive *txtar.Archive) (in Input, want string) {
	t.Helper()
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	in.Objects = map[string][]manifest.Object{}
	scopes := manifest.NewScopes()
	for i, line := range strings.Split(strings.TrimSpace(files["order"]), "\n") {
		words := strings.Fields(line)
		c := component.Component{Name: words[0], Namespace: words[1], Phase: component.Phase(10 * i), Enabled: true, Position: finding.Position{File: words[0] + "/component.yaml", Line: 1}}
		rendered := true
		for _, w := range words[2:] {
			verb, what, _ := strings.Cut(w, "=")
			r := component.Requirement{Text: what, Position: finding.Position{File: "order", Line: i + 1}}
			switch verb {
			case "disabled":
				c.Enabled, rendered = false, false
			case "unrendered":
				rendered = false
			case "creates-namespace":
				c.SyncOptions = []string{"CreateNamespace=true"}
			case "requires":
				c.Requires = append(c.Requires, r)
			case "validates":
				c.Validates = append(c.Validates, r)
			default:
				t.Fatalf("unknown word %q", w)
			}
		}
		in.Components = append(in.Components, c)
		if rendered {
			in.Objects[c.Name] = []manifest.Object{}
		}
	}
	for _, c := range in.Components {
		name := c.Name + ".yaml"
		parsed, err := manifest.Parse([]byte(files[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range parsed {
			scopes.Add(p.Object)
			in.Objects[c.Name] = append(in.Objects[c.Name], manifest.Object{Unstructured: p.Object, Origin: manifest.Origin{File: name, Line: p.Line}})
		}
	}
	for _, c := range in.Components {
		for j, o := range in.Objects[c.Name] {
			gvk := o.GroupVersionKind()
			if scopes.ClusterWide(gvk.Group, gvk.Kind) {
				continue
			}
			in.Objects[c.Name][j].Target = o.GetNamespace()
			if o.GetNamespace() == "" {
				in.Objects[c.Name][j].Target = c.Namespace
			}
		}
	}
	return in, strings.TrimSpace(files["edges"])
}

func describe(edges []plan.Edge, findings []finding.Finding) string {
	var b strings.Builder
	for _, e := range edges {
		first := e.Evidence[0]
		fmt.Fprintf(&b, "%s -> %s %s %s: %s at %s:%d %s\n", e.From, e.To, e.Strength, e.Basis, e.Reason, first.File, first.Line, first.Field)
	}
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %s %s: %s; %s\n", f.Severity, f.Rule, f.Position, f.Message, f.Fix.Summary)
	}
	return strings.TrimSpace(b.String())
}

func TestScenarios(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			in, want := scenario(t, txtar.Parse(data))
			edges, findings := Edges(in)
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(describe(edges, findings), "\n")); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
			for _, e := range edges {
				for _, evidence := range e.Evidence {
					if evidence.Text == "" || evidence.File == "" {
						t.Errorf("%s -> %s: evidence %+v says nothing", e.From, e.To, evidence)
					}
				}
			}
		})
	}
}

// TestOrderOfObjectsDoesNotMatter shuffles the objects of every component: the
// same edges come out, whichever object is the evidence.
func TestOrderOfObjectsDoesNotMatter(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		in, _ := scenario(t, txtar.Parse(data))
		pairs := func(in Input) []string {
			edges, _ := Edges(in)
			var out []string
			for _, e := range edges {
				out = append(out, fmt.Sprint(e.From, e.To, e.Strength, e.Basis))
			}
			return out
		}
		want := pairs(in)
		rapid.Check(t, func(t *rapid.T) {
			shuffled := Input{Components: in.Components, Objects: map[string][]manifest.Object{}}
			for _, c := range in.Components {
				if objects, ok := in.Objects[c.Name]; ok {
					shuffled.Objects[c.Name] = rapid.Permutation(slices.Clone(objects)).Draw(t, c.Name)
				}
			}
			if diff := cmp.Diff(want, pairs(shuffled)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestDeclared(t *testing.T) {
	got := describe(Declared([]component.Component{
		{Name: "a", Requires: []component.Requirement{{Text: "b"}, {Text: "secret/x/y"}, {Text: "a"}, {Text: "typo"}}},
		{Name: "b"}, {Name: "smoke", Validates: []component.Requirement{{Text: "a"}}, Requires: []component.Requirement{{Text: "a"}}},
	}), nil)
	want := "a -> b hard declared: requires at :0 requires[0]\nsmoke -> a hard declared: requires, and 1 more at :0 requires[0]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

func TestClusterHost(t *testing.T) {
	for address, want := range map[string]string{
		"http://vault.vault:8200": "vault/vault", "https://vault.vault.svc:8200/x": "vault/vault", "http://a.b.svc.cluster.local": "b/a",
		"https://vault.example.com": "", "http://vault:8200": "", "vault.vault": "", "https://a.b.c.d": "", "%": "",
	} {
		name, ns, ok := clusterHost(address)
		got := ""
		if ok {
			got = ns + "/" + name
		}
		if got != want {
			t.Errorf("clusterHost(%q) = %q, want %q", address, got, want)
		}
	}
}
