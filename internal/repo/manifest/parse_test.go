package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string // "line kind/name"
		err  string
	}{
		"documents": {
			text: "# head\napiVersion: v1\nkind: A\nmetadata: {name: x}\n---\n\n# note\n---\n\napiVersion: v1\nkind: B\nmetadata:\n  name: z\n",
			want: []string{"2 A/x", "10 B/z"},
		},
		"marker with content and end marker": {
			text: "--- {apiVersion: v1, kind: A, metadata: {name: x}}\n...\n# c\n--- # comment\napiVersion: v1\nkind: B\n",
			want: []string{"1 A/x", "5 B/"},
		},
		"dashes in a block are no marker": {
			text: "apiVersion: v1\nkind: A\ndata:\n  x: |\n    a\n    ---\n    b\n----: 1\n",
			want: []string{"1 A/"},
		},
		"lists are flattened": {
			text: "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: x}}\n- apiVersion: v1\n  kind: BList\n  items: [{metadata: {name: z}}]\n---\napiVersion: v1\nkind: List\nitems: []\n",
			want: []string{"1 A/x", "1 B/z"},
		},
		"JSON":           {text: `{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}`, want: []string{"1 A/x"}},
		"Windows lines":  {text: "apiVersion: v1\r\nkind: A\r\n---\r\napiVersion: v1\r\nkind: B\r\n", want: []string{"1 A/", "4 B/"}},
		"nothing":        {text: "---\n---\n# only a comment\n---\nnull\n---\n{}\n"},
		"scalar":         {text: "a: 1\n---\nhello\n", err: "line 1: document is not a Kubernetes object: it has no apiVersion and kind"},
		"second is bad":  {text: "apiVersion: v1\nkind: A\n---\n\n- x\n", err: "line 5: document is not a Kubernetes object"},
		"syntax":         {text: "apiVersion: v1\nkind: A\n---\na: 1\nb: }\n", err: "line 4: "},
		"key":            {text: "apiVersion: v1\nkind: A\n---\n\n# of a chart\na: 1\nname: {{ .Values.name }}\n", err: "line 7: a map or a list stands as a key; a value that begins with { is text only in quotes"},
		"metadata":       {text: "apiVersion: v1\nkind: A\nmetadata: [x]\n", err: "line 1: metadata of A is not a mapping"},
		"item":           {text: "apiVersion: v1\nkind: List\nitems: [1]\n", err: "line 1: item 0 of List is not a Kubernetes object"},
		"aliases":        {text: "a: &a {b: 1}\napiVersion: v1\nkind: A\nc: *a\n", want: []string{"1 A/"}},
		"lists in lists": {text: strings.Repeat(`{"apiVersion": "v1", "kind": "List", "items": [`, 20) + strings.Repeat("]}", 20), err: "nested more than 8 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			parsed, err := Parse([]byte(test.text))
			if test.err != "" {
				var syntax *SyntaxError
				if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want a *SyntaxError with %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range parsed {
				got = append(got, fmt.Sprintf("%d %s/%s", p.Line, p.Object.GetKind(), p.Object.GetName()))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNumbersAreThoseOfKubernetes(t *testing.T) {
	parsed, err := Parse([]byte("apiVersion: v1\nkind: A\nspec: {i: 3, f: 1.5, big: 9007199254740993, on: yes, list: [1]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"i": int64(3), "f": 1.5, "big": int64(9007199254740993), "true": true, "list": []any{int64(1)}}
	if diff := cmp.Diff(want, parsed[0].Object.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// bomb expands to ten to the power of levels.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: A\nl0: &l0 [x]\n")
	for i := 1; i <= levels; i++ {
		fmt.Fprintf(&b, "l%d: &l%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*l%d,", i-1), 10), ","))
	}
	return b.String()
}

func TestAliasBombIsRefused(t *testing.T) {
	_, err := Parse([]byte("---\n# c\n" + bomb(9)))
	var syntax *SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(err.Error(), "aliases expand") {
		t.Fatalf("error %v, want one about aliases", err)
	}
	if syntax.Line < 8 || syntax.Line > 14 {
		t.Errorf("line %d is not one of the bomb's", syntax.Line)
	}
	if err := CheckAliases([]byte("a: &a [*a]\n")); err == nil {
		t.Error("an alias of itself is let through")
	}
	if err := CheckAliases([]byte(bomb(3))); err != nil {
		t.Errorf("small aliases are refused: %v", err)
	}
}

func TestLocator(t *testing.T) {
	text := "# c\na: 1\n---\nkind: B\nspec:\n  list:\n  - name: x\n    value: 1\n  - name: y\n    value: 2\n"
	l := NewLocator([]byte(text))
	for path, want := range map[string]int{
		"kind": 4, "spec": 5, "spec.list[1].value": 10, "spec.list[0]": 7, "spec.list[7].value": 6, "spec.nothing": 5, "nothing": 4,
	} {
		if got := l.Line(4, path); got != want {
			t.Errorf("Line(%q) = %d, want %d", path, got, want)
		}
	}
	if got := l.Line(3, "kind"); got != 0 {
		t.Errorf("a document that is not there has line %d", got)
	}
}

// eager is Locator.Line of a locator that parses every document.
func eager(data []byte, document int, path string) int {
	first := true
	for _, doc := range Split(data) {
		var node yamlv3.Node
		if err := yamlv3.Unmarshal(doc.Text, &node); err != nil || len(node.Content) == 0 {
			continue
		}
		before := doc.Line - leading(doc.Text) - 1
		if node.Content[0].Line+before == document || document == 1 && first {
			return before + descend(node.Content[0], splitPath(path))
		}
		first = false
	}
	return 0
}

func TestLocatorParsesWhatItMust(t *testing.T) {
	for _, text := range []string{
		"# c\na: 1\n---\nkind: B\nspec: {a: b}\n", "&a\na: 1\n---\n!!map\n# c\nb: 1\n", "--- !!map\na: b\n", "---\n{a: [}\n---\n\n\nb: 1\n...\n# c\n",
		"--- {a: b}\n--- |\n a\n b\n", "%YAML 1.1\n---\n  a: 1\n  b:\n    c: 2\n", "\ufeffa: 1\n", "? a\n: b\n---\n- a: 1\n- b\n", "\"a\": 1\n---\n'b': 2\n",
	} {
		for line := range strings.Count(text, "\n") + 2 {
			for _, path := range []string{"a", "b.c", "kind", "[0].a"} {
				if got, want := NewLocator([]byte(text)).Line(line, path), eager([]byte(text), line, path); got != want {
					t.Errorf("%q: Line(%d, %s) = %d, want %d", text, line, path, got, want)
				}
			}
		}
	}
}

func TestScopes(t *testing.T) {
	s := NewScopes()
	for kind, want := range map[[2]string]bool{
		{"", "Namespace"}: true, {"", "Secret"}: false, {"rbac.authorization.k8s.io", "ClusterRole"}: true,
		{"postgresql.cnpg.io", "Cluster"}: false, {"cert-manager.io", "ClusterIssuer"}: true, {"example.com", "Wide"}: false,
	} {
		if got := s.ClusterWide(kind[0], kind[1]); got != want {
			t.Errorf("ClusterWide(%s) = %v", kind, got)
		}
	}
	parsed, err := Parse([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wides.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Wide, plural: wides}, versions: [{name: v2, served: true}, {name: v1, served: true}, {name: v0, served: false}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	clone := s.Clone()
	s.Add(parsed[0].Object)
	if !s.ClusterWide("example.com", "Wide") || clone.ClusterWide("example.com", "Wide") {
		t.Error("the scope of the CRD is not learnt, or by the clone too")
	}
	crd, _ := ReadCRD(parsed[0].Object)
	if diff := cmp.Diff(CRD{Group: "example.com", Kind: "Wide", Plural: "wides", ClusterWide: true, Versions: []string{"v1", "v2"}}, crd); diff != "" {
		t.Errorf("CRD (-want +got):\n%s", diff)
	}
}

// FuzzParse: whatever the text, reading ends, every object has a kind and a
// line of the text, and locating any field does not fail.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"apiVersion: v1\nkind: A\n", "---\n...\n--- x", "a: &a [*a]", bomb(3), "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{}]}", "\t", "%YAML 1.1\n---\na: !!binary x", "? - a\n: b", "a: {<<: *x}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := strings.Count(string(data), "\n") + 1
		parsed, err := Parse(data)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		locator := NewLocator(data)
		for _, p := range parsed {
			if p.Object.GetKind() == "" || p.Line < 1 || p.Line > lines {
				t.Fatalf("object %v at line %d of %d", p.Object, p.Line, lines)
			}
			if at := locator.Line(p.Line, "metadata.name"); at > lines {
				t.Fatalf("field at line %d of %d", at, lines)
			}
			_ = p.Object.GetName()
		}
		// What is not parsed has no field at the line.
		for line := range min(lines, 50) {
			if got, want := NewLocator(data).Line(line+1, "metadata.name"), eager(data, line+1, "metadata.name"); got != want {
				t.Fatalf("line %d: %d, want %d", line+1, got, want)
			}
		}
	})
}

// A block of text at the end of a file keeps a line break, whether the file ends with one
// or not: Kubernetes clients read line by line. Source: k8s.io/apimachinery,
// pkg/util/yaml, LineReader.
func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: A\ndata: |\n  a\n  b":     "a\nb\n",
		"apiVersion: v1\nkind: A\ndata: |\n  a\n  b\n":   "a\nb\n",
		"apiVersion: v1\nkind: A\ndata: |-\n  a\n  b":    "a\nb",
		"apiVersion: v1\nkind: A\ndata: |+\n  a\n  b\n":  "a\nb\n",
		"apiVersion: v1\nkind: A\ndata: |\n  a\n---\n{}": "a\n",
	} {
		parsed, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed[0].Object.Object["data"]; got != want {
			t.Errorf("%q: data %q, want %q", text, got, want)
		}
	}
}
