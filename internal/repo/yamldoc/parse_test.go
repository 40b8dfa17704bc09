package yamldoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func TestPositions(t *testing.T) {
	const text = `# a comment
name: a

chart:
  path: x
  valueFiles:
    - one.yaml
    - {path: two.yaml,
       optional: true}
requires: [b,
  c]
`
	v, err := yamldoc.ParseOne("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	v.Walk(func(path string, at finding.Position) {
		if at.File != "f.yaml" {
			t.Errorf("%s is in %s", path, at.File)
		}
		got[path] = at.Line
	})
	want := map[string]int{
		"name": 2, "chart": 4, "chart.path": 5, "chart.valueFiles": 6,
		"chart.valueFiles[0]": 7, "chart.valueFiles[1]": 8, "chart.valueFiles[1].path": 8, "chart.valueFiles[1].optional": 9,
		"requires": 10, "requires[0]": 10, "requires[1]": 11,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v.Position != (finding.Position{File: "f.yaml", Line: 2}) {
		t.Errorf("the document is at %v", v.Position)
	}
}

func TestAny(t *testing.T) {
	v, err := yamldoc.ParseOne("f", []byte(`
text: hello
quoted: "350"
octal: 010
int: 7
big: 18446744073709551615
float: 1.5
infinite: .inf
yes: true
nothing:
date: 2025-11-20
list: [a, {b: 1}]
base: &base {x: 1, y: 2}
merged:
  <<: *base
  y: 3
alias: *base
`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"text": "hello", "quoted": "350", "octal": int64(8), "int": int64(7), "big": 1.8446744073709552e19,
		"float": 1.5, "infinite": ".inf", "yes": true, "nothing": nil, "date": "2025-11-20",
		"list":   []any{"a", map[string]any{"b": int64(1)}},
		"base":   map[string]any{"x": int64(1), "y": int64(2)},
		"merged": map[string]any{"x": int64(1), "y": int64(3)},
		"alias":  map[string]any{"x": int64(1), "y": int64(2)},
	}
	if diff := cmp.Diff(want, v.Any()); diff != "" {
		t.Error(diff)
	}
	if got := v.TextAt("octal"); got != "010" {
		t.Errorf("the text of 010 is %q: phases would change", got)
	}
}

// bomb is the billion laughs: every level holds the one before ten times.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < levels; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.Join([]string{alias, alias, alias, alias, alias, alias, alias, alias, alias, alias}, ", "))
	}
	return b.String()
}

func TestRefusals(t *testing.T) {
	tests := map[string]struct {
		text string
		line int
		want string
	}{
		"not closed":              {"a: 1\nb: [1,\nc: 2\n", 3, "YAML:"},
		"colon in a value":        {"a: b: c\n", 1, "mapping values are not allowed"},
		"tab":                     {"a:\n\tb: 1\n", 2, "cannot start any token"},
		"duplicate key":           {"a: 1\nb: 2\na: 3\n", 3, `key "a" is written twice, first in line 1`},
		"duplicate key, nested":   {"x:\n  a: 1\n  a: 2\n", 3, `key "a" is written twice, first in line 2`},
		"duplicate key, quoted":   {"a: 1\n\"a\": 2\n", 2, "written twice"},
		"alias bomb":              {bomb(9), 2, "aliases add more than 100000 values"},
		"alias that holds itself": {"a: &a [1, *a]\n", 1, "alias *a contains itself"},
		"alias without an anchor": {"a: 1\nb: *nope\n", 2, "unknown anchor"},
		"deep":                    {strings.Repeat("[", 300) + strings.Repeat("]", 300), 1, "nested more than 200 levels deep"},
		"very deep":               {strings.Repeat("[", 200_000), 1, "YAML:"},
		"map as a key":            {"? {a: 1}\n: 2\n", 1, "a key is a list or a map"},
		"merge of a scalar":       {"a: 1\n<<: 5\n", 2, "a merge key needs a map"},
		"second document":         {"a: 1\n---\nb: 2\n", 3, "a second document"},
		"control character":       {"a: \x01\n", 1, "control characters"},
		"not UTF-8":               {"a: \xff\xfe\n", 1, "YAML:"},
		"too large":               {strings.Repeat("#", yamldoc.MaxSize+1), 0, "larger than 4 MiB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := yamldoc.ParseOne("f.yaml", []byte(tt.text))
			var input *repofs.InputError
			if !errors.As(err, &input) {
				t.Fatalf("got %v", err)
			}
			if input.Position.File != "f.yaml" || input.Position.Line != tt.line || !strings.Contains(input.Message, tt.want) {
				t.Errorf("got %v, want line %d saying %q", input, tt.line, tt.want)
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	tests := map[string]string{
		"empty":                "",
		"only a comment":       "# nothing\n",
		"a marker at each end": "---\na: 1\n---\n",
		"windows line ends":    "a: 1\r\nb: 2\r\n",
		"byte order mark":      "\ufeffa: 1\n",
		"a small bomb":         bomb(4),
		"depth of 190":         strings.Repeat("[", 190) + strings.Repeat("]", 190),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := yamldoc.ParseOne("f.yaml", []byte(text)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	got, err := yamldoc.Parse("f.yaml", []byte("# first\na: 1\n---\n---\nb: 2\n...\n---\n- c\n"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, v := range got {
		lines = append(lines, v.Position.Line)
	}
	if diff := cmp.Diff([]int{2, 5, 8}, lines); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsOfTheWrongType(t *testing.T) {
	v, err := yamldoc.ParseOne("f.yaml", []byte(`
text: [a]
bool: maybe
int: 1.5
float: x
duration: soon
negative: -5s
texts: {a: 1}
items: [a, [b], ""]
map: text
maps: [{}, text]
textMap: {a: b, c: [d]}
fine: 30
off: "false"
`))
	if err != nil {
		t.Fatal(err)
	}
	var problems yamldoc.Problems
	f := yamldoc.Read(v, "x", &problems)
	f.Text("text")
	f.Bool("bool", true)
	f.Int("int")
	f.Float("float")
	f.Duration("duration")
	f.Duration("negative")
	f.Texts("texts")
	f.Texts("items")
	f.Map("map")
	f.Map("map")
	f.Maps("maps")
	f.TextMap("textMap")
	if d := f.Duration("fine"); d.Seconds() != 30 {
		t.Errorf("a bare number is %v", d)
	}
	if f.Bool("off", true) {
		t.Error(`"false" is true`)
	}
	var got []string
	for _, p := range problems.List {
		got = append(got, fmt.Sprintf("%d %s: %s", p.Position.Line, p.Field, p.Message))
	}
	want := []string{
		"2 x.text: x.text is a list, not text",
		`3 x.bool: x.bool is "maybe", not true or false`,
		`4 x.int: x.int is "1.5", not a whole number`,
		`5 x.float: x.float is "x", not a number`,
		`6 x.duration: x.duration is "soon", not a duration such as 90s or 10m`,
		`7 x.negative: x.negative is "-5s", not a duration such as 90s or 10m`,
		"8 x.texts: x.texts is a map, not a list",
		"9 x.items[1]: x.items[1] is a list, not text",
		"9 x.items[2]: x.items[2] is empty",
		"10 x.map: x.map is a scalar, not a map",
		"11 x.maps[1]: x.maps[1] is a scalar, not a map",
		"12 x.textMap.c: x.textMap.c is a list, not text",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(f.Unknown()) != 0 {
		t.Errorf("unknown: %v", f.Unknown())
	}
}

func TestNearest(t *testing.T) {
	words := []string{"layout", "steps", "simulation", "preArgo", "lint"}
	for word, want := range map[string]string{
		"layouts": "layout", "setps": "steps", "simulatoin": "simulation", "preargo": "preArgo",
		"owner": "", "x": "", "lnt": "lint", "": "",
	} {
		if got := yamldoc.Nearest(word, words); got != want {
			t.Errorf("%q is near %q, not %q", word, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a: 1", "a: &a [*a]", "<<: [*x]", "? [a]\n: b", bomb(3), "a: !!binary x", "--- |\n a\n...\n", "\ufeff", "%YAML 1.1\n---\na: 1", "a: !!int \"x\"", "&a a: *a"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := yamldoc.Parse("f.yaml", data)
		if err != nil {
			var input *repofs.InputError
			if !errors.As(err, &input) || input.Position.File != "f.yaml" || input.Position.Line < 1 || input.Message == "" {
				t.Fatalf("an error without a place: %#v", err)
			}
			return
		}
		for _, v := range documents {
			v.Any()
			v.Walk(func(path string, at finding.Position) {
				if at.Line < 1 || at.File != "f.yaml" {
					t.Fatalf("%s has no place: %v", path, at)
				}
			})
		}
	})
}

// TestRepeatedText: what aliases repeat is counted with its length.
func TestRepeatedText(t *testing.T) {
	text := "k: &a " + strings.Repeat("x", 1_000_000) + "\nl: [" + strings.Repeat("*a,", 400) + "*a]\n"
	if _, err := yamldoc.Parse("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "MiB of text") {
		t.Errorf("error %v", err)
	}
	if _, err := yamldoc.Parse("a.yaml", []byte("k: &a "+strings.Repeat("x", 1000)+"\nl: [*a, *a]\n")); err != nil {
		t.Error(err)
	}
}
