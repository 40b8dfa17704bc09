package infer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// world of a scenario: what goes in, and what must come out.
type worldOf struct {
	in    Input
	files map[string]string
}

// scenario reads an archive: a file "order" with one line per component: its name
// and namespace, then words: "disabled", "unrendered", "creates-namespace",
// "phase=n" (else ten more than the one before), "requires=x", "validates=x"; a
// file "NAME.yaml" with the objects of a component; a file "NAME.known" with what
// the catalogue knows of it, as JSON; a file "PACKAGE.package" with what is known of a
// package of OLM, as JSON; a file "unassessed" with kinds whose health
// nobody assesses; and the files "edges", "dependencies", "missing" and "lacks" with
// what must come out.
func scenario(t *testing.T, archive *txtar.Archive) worldOf {
	t.Helper()
	w := worldOf{files: map[string]string{}}
	for _, f := range archive.Files {
		w.files[f.Name] = string(f.Data)
	}
	w.in.Objects = map[string][]manifest.Object{}
	known := map[string]Known{}
	scopes := manifest.NewScopes()
	for i, line := range strings.Split(strings.TrimSpace(w.files["order"]), "\n") {
		words := strings.Fields(line)
		c := model.Component{Name: words[0], Namespace: words[1], Phase: model.Phase(10 * i), Enabled: true, Position: finding.Position{File: words[0] + "/component.yaml", Line: 1}}
		rendered := true
		for _, word := range words[2:] {
			verb, what, _ := strings.Cut(word, "=")
			r := model.Requirement{Text: what, Position: finding.Position{File: "order", Line: i + 1}}
			switch verb {
			case "disabled":
				c.Enabled, rendered = false, false
			case "unrendered":
				rendered = false
			case "creates-namespace":
				c.SyncOptions = []string{"CreateNamespace=true"}
			case "phase":
				n, _ := strconv.Atoi(what)
				c.Phase = model.Phase(n)
			case "requires":
				c.Requires = append(c.Requires, r)
			case "validates":
				c.Validates = append(c.Validates, r)
			default:
				t.Fatalf("unknown word %q", word)
			}
		}
		w.in.Components = append(w.in.Components, c)
		if rendered {
			w.in.Objects[c.Name] = []manifest.Object{}
		}
		if text := w.files[c.Name+".known"]; text != "" {
			var k Known
			if err := json.Unmarshal([]byte(text), &k); err != nil {
				t.Fatal(err)
			}
			known[c.Name] = k
		}
		name := c.Name + ".yaml"
		parsed, err := manifest.Parse([]byte(w.files[name]))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range parsed {
			scopes.Add(p.Object)
			w.in.Objects[c.Name] = append(w.in.Objects[c.Name], manifest.Object{Unstructured: p.Object, Origin: manifest.Origin{File: name, Line: p.Line}})
		}
	}
	for _, c := range w.in.Components {
		land(w.in.Objects[c.Name], c.Namespace, scopes)
	}
	w.in.Package = func(name string) (k KnownPackage, ok bool) {
		text, ok := w.files[name+".package"]
		if !ok {
			return k, false
		}
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		return k, true
	}
	w.in.Catalogue = func(c model.Component) (Known, bool) {
		k, ok := known[c.Name]
		return k, ok
	}
	if text, ok := w.files["unassessed"]; ok {
		w.in.Assessed = func(group, kind string) bool { return !slices.Contains(strings.Fields(text), group+"/"+kind) }
	}
	return w
}

// land fills in where objects land.
func land(objects []manifest.Object, namespace string, scopes *manifest.Scopes) {
	for j, o := range objects {
		gvk := o.GroupVersionKind()
		if scopes.ClusterWide(gvk.Group, gvk.Kind) {
			continue
		}
		objects[j].Target = o.GetNamespace()
		if o.GetNamespace() == "" {
			objects[j].Target = namespace
		}
	}
}

func (w worldOf) lines() *manifest.Lines {
	return manifest.NewLines(func(file string) ([]byte, error) { return []byte(w.files[file]), nil })
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

// describeDependencies prints one line for each dependency, with the line of the
// field that requires, and where it is not in wave 0 of the sync the place.
func (w worldOf) describeDependencies(all []dependency.Dependency) string {
	lines := w.lines()
	end := func(e dependency.End) string {
		text := e.Component
		if e.Object.Kind != "" {
			text += " " + e.Object.Kind + "/" + e.Object.Name
		}
		if e.Place.Hook != 1 || e.Place.Wave != 0 {
			text += fmt.Sprintf(" [%d,%d]", e.Place.Hook, e.Place.Wave)
		}
		return text
	}
	var b strings.Builder
	for _, d := range all {
		at := lines.Evidence(d.Evidence)[0]
		mark := ""
		if d.Hint {
			mark = " hint"
		}
		if d.Basis != finding.Rendered {
			mark += " " + string(d.Basis)
		}
		fmt.Fprintf(&b, "%s -> %s: %s %s %s%s: %s at %s:%d\n", end(d.Consumer), end(d.Provider), d.Rule, d.Strength, d.Effect, mark, d.Reason, at.File, at.Line)
	}
	return strings.TrimSpace(b.String())
}

func (w worldOf) describeMissing(all []dependency.Missing) string {
	lines := w.lines()
	var b strings.Builder
	for _, m := range all {
		at := lines.Evidence(m.Evidence)[0]
		fmt.Fprintf(&b, "%s: %s %s managed=%t unrendered=%v: %s at %s:%d\n", m.Consumer.Component, m.Rule, m.Required.Human(), m.Managed, m.Unrendered, m.Reason, at.File, at.Line)
	}
	return strings.TrimSpace(b.String())
}

func (w worldOf) describeLacks(all []dependency.Lack) string {
	lines := w.lines()
	var b strings.Builder
	for _, l := range all {
		at := lines.Evidence(l.Evidence)[0]
		fmt.Fprintf(&b, "%s -> %s: %s %s: %s of %v, provided %d times, at %s:%d\n", l.Consumer.Component, l.Provider.Component, l.Rule, l.Strength,
			l.Reason, l.Has, len(l.Evidence)-1, at.File, at.Line)
	}
	return strings.TrimSpace(b.String())
}

func scenarios(t *testing.T) map[string]*txtar.Archive {
	t.Helper()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	out := map[string]*txtar.Archive{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(name), ".txtar")] = txtar.Parse(data)
	}
	return out
}

func TestScenarios(t *testing.T) {
	for name, archive := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			w := scenario(t, archive)
			r := Infer(w.in)
			for file, got := range map[string]string{
				"edges": describe(r.Edges, r.Findings), "dependencies": w.describeDependencies(r.Dependencies), "missing": w.describeMissing(r.Missing),
				"lacks": w.describeLacks(r.Lacks),
			} {
				want, ok := w.files[file]
				if !ok {
					continue
				}
				if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
			for _, d := range r.Dependencies {
				for _, e := range d.Evidence {
					if e.Text == "" || e.File == "" || e.Line == 0 {
						t.Errorf("%s -> %s: evidence %+v says nothing", d.Consumer.Component, d.Provider.Component, e)
					}
				}
			}
		})
	}
}

// TestOrderDoesNotMatter shuffles the components of every scenario and the
// objects of every component: the same result comes out, byte by byte.
func TestOrderDoesNotMatter(t *testing.T) {
	for name, archive := range scenarios(t) {
		in := scenario(t, archive).in
		want, err := json.Marshal(Infer(in))
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			shuffled := in
			shuffled.Components = rapid.Permutation(slices.Clone(in.Components)).Draw(t, "components")
			shuffled.Objects = map[string][]manifest.Object{}
			for _, c := range in.Components {
				if objects, ok := in.Objects[c.Name]; ok {
					shuffled.Objects[c.Name] = rapid.Permutation(slices.Clone(objects)).Draw(t, c.Name)
				}
			}
			got, err := json.Marshal(Infer(shuffled))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// FuzzInfer gives inference any objects: it must come to an end without a panic.
func FuzzInfer(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if strings.HasSuffix(file.Name, ".yaml") {
				f.Add(file.Data)
			}
		}
	}
	f.Add([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: 3, annotations: [x]}\n---\napiVersion: a/b/c\nkind: X\nspec: 5\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := manifest.Parse(data)
		if err != nil {
			return
		}
		scopes := manifest.NewScopes()
		in := Input{Objects: map[string][]manifest.Object{}}
		for i, name := range []string{"a", "b"} {
			in.Components = append(in.Components, model.Component{Name: name, Namespace: name, Phase: model.Phase(i), Enabled: true})
		}
		for i, p := range parsed {
			scopes.Add(p.Object)
			name := in.Components[i%2].Name
			in.Objects[name] = append(in.Objects[name], manifest.Object{Unstructured: p.Object, Origin: manifest.Origin{File: "x", Line: p.Line}})
		}
		for _, c := range in.Components {
			land(in.Objects[c.Name], c.Namespace, scopes)
		}
		lines := manifest.NewLines(func(string) ([]byte, error) { return data, nil })
		for _, d := range Infer(in).Dependencies {
			lines.Evidence(d.Evidence)
		}
	})
}
