package patch_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
)

const wave = "argocd.argoproj.io/sync-wave"

func set(line int, value string, path ...string) finding.Edit {
	return finding.Edit{File: "a.yaml", Line: line, Op: finding.Set, Path: path, Value: value}
}

func add(line int, value string, path ...string) finding.Edit {
	return finding.Edit{File: "a.yaml", Line: line, Op: finding.Append, Path: path, Value: value}
}

func remove(line int, path ...string) finding.Edit {
	return finding.Edit{File: "a.yaml", Line: line, Op: finding.Remove, Path: path}
}

func text(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestApply(t *testing.T) {
	tests := map[string]struct {
		before string
		edit   finding.Edit
		after  string
		refuse string
	}{
		"quote": {
			before: text("metadata:", "  annotations:", "    "+wave+": 5 # early", "    b: c"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("metadata:", "  annotations:", "    "+wave+`: "5" # early`, "    b: c"),
		},
		"quote whatever it is": {
			before: text("metadata:", "  annotations:", "    "+wave+": -5 # early"),
			edit:   finding.Edit{Line: 3, Op: finding.Quote, Path: []string{"metadata", "annotations", wave}},
			after:  text("metadata:", "  annotations:", "    "+wave+`: "-5" # early`),
		},
		"move": {
			before: text("metadata:", "  name: a", "  "+wave+": 5", "  labels: {}"),
			edit:   finding.Edit{Line: 3, Op: finding.Move, From: []string{"metadata", wave}, Path: []string{"metadata", "annotations", wave}},
			after:  text("metadata:", "  name: a", "  annotations:", "    "+wave+`: "5"`, "  labels: {}"),
		},
		"quote what is not there": {before: "a: 1\n", edit: finding.Edit{Line: 1, Op: finding.Quote, Path: []string{"b"}}, refuse: "there is no b"},
		"move a mapping":          {before: "a: {}\n", edit: finding.Edit{Line: 1, Op: finding.Move, From: []string{"a"}, Path: []string{"b"}}, refuse: "no scalar"},
		"replace what is quoted": {
			before: text("# head", `metadata: {name: a, annotations: {x: 'it''s', `+wave+`: "5"}}`),
			edit:   set(2, `"7"`, "metadata", "annotations", "x"),
			after:  text("# head", `metadata: {name: a, annotations: {x: "7", `+wave+`: "5"}}`),
		},
		"behind letters of several bytes": {
			before: text(`{ä: "ö", phase: 7}`), edit: set(1, "8", "phase"), after: text(`{ä: "ö", phase: 8}`),
		},
		"add an annotation": {
			before: text("metadata:", "  annotations:", "    # about b", "    b: c", "  name: x"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("metadata:", "  annotations:", "    "+wave+`: "5"`, "    # about b", "    b: c", "  name: x"),
		},
		"add annotations": {
			before: text("kind: X", "metadata:", "  name: x # its name", "spec: {}"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("kind: X", "metadata:", "  name: x # its name", "  annotations:", "    "+wave+`: "5"`, "spec: {}"),
		},
		"add annotations where they are empty": {
			before: text("metadata:", "  name: x", "  annotations: # none", "spec: 1"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("metadata:", "  name: x", "  annotations: # none", "    "+wave+`: "5"`, "spec: 1"),
		},
		"add to an empty flow mapping": {
			before: text("metadata:", "  name: x", "  annotations: {}"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("metadata:", "  name: x", "  annotations: {"+wave+`: "5"}`),
		},
		"add to a flow mapping": {
			before: text("metadata: {name: x}"),
			edit:   set(1, `"5"`, "metadata", "annotations", wave),
			after:  text("metadata: {annotations: {" + wave + `: "5"}, name: x}`),
		},
		"add to the root": {
			before: text("# a descriptor", "requires:", "  - b", "name: x", "chart:", "  path: y"),
			edit:   set(2, `"350"`, "rolloutPhase"),
			after:  text("# a descriptor", "requires:", "  - b", "name: x", `rolloutPhase: "350"`, "chart:", "  path: y"),
		},
		"a value that is not written": {
			before: text("name: x", "rolloutPhase:", "chart: {}"),
			edit:   set(1, `"350"`, "rolloutPhase"),
			after:  text("name: x", `rolloutPhase: "350"`, "chart: {}"),
		},
		"the second document, from its head": {
			before: text("metadata: {name: a}", "---", "# the second", "metadata:", "  name: b"),
			edit:   set(2, `"5"`, "metadata", "wave"),
			after:  text("metadata: {name: a}", "---", "# the second", "metadata:", "  name: b", `  wave: "5"`),
		},
		"an item of a List": {
			before: text("kind: List", "items:", "- metadata:", "    name: a", "- metadata:", "    name: b"),
			edit:   set(5, `"5"`, "metadata", "wave"),
			after:  text("kind: List", "items:", "- metadata:", "    name: a", "- metadata:", "    name: b", `    wave: "5"`),
		},
		"without a line end": {
			before: "metadata:\n  name: a", edit: set(1, "5", "metadata", "wave"), after: "metadata:\n  name: a\n  wave: 5",
		},
		"with line ends of Windows": {
			before: "metadata:\r\n  name: a\r\n", edit: set(1, "5", "metadata", "wave"), after: "metadata:\r\n  name: a\r\n  wave: 5\r\n",
		},
		"append to a list": {
			before: text("spec:", "  options:", "    - A=true # first", "  b: c"),
			edit:   add(1, "B=true", "spec", "options"),
			after:  text("spec:", "  options:", "    - A=true # first", "    - B=true", "  b: c"),
		},
		"append to a list at the indent of its key": {
			before: text("spec:", "  options:", "  - A=true", "  b: c"),
			edit:   add(1, "B=true", "spec", "options"),
			after:  text("spec:", "  options:", "  - A=true", "  - B=true", "  b: c"),
		},
		"append to a flow list": {
			before: text("spec: {options: [A=true, \"C\"], b: c}"),
			edit:   add(1, "B=true", "spec", "options"),
			after:  text("spec: {options: [A=true, \"C\", B=true], b: c}"),
		},
		"append to an empty list": {
			before: text("spec:", "  options: []"), edit: add(1, "B=true", "spec", "options"), after: text("spec:", "  options: [B=true]"),
		},
		"append to a list that is not there": {
			before: text("spec:", "  project: x"),
			edit:   add(1, "B=true", "spec", "syncPolicy", "syncOptions"),
			after:  text("spec:", "  syncPolicy:", "    syncOptions:", "      - B=true", "  project: x"),
		},
		"append what is there": {
			before: text("spec:", "  options: ['B=true']"), edit: add(1, "B=true", "spec", "options"), after: text("spec:", "  options: ['B=true']"),
		},
		"remove": {
			before: text("spec:", "  dependsOn: # never", "    - name: a", "      more: {b: c}", "    - name: d", "  # about project", "  project: x"),
			edit:   remove(1, "spec", "dependsOn"),
			after:  text("spec:", "  # about project", "  project: x"),
		},
		"remove with what it leaves empty": {
			before: text("metadata:", "  name: x", "  labels:", "    wave: a", "spec: 1"),
			edit:   remove(1, "metadata", "labels", "wave"),
			after:  text("metadata:", "  name: x", "spec: 1"),
		},
		"no YAML":                    {before: "{{- if .Values.x }}\na: b\n", edit: set(1, "1", "a"), refuse: "not YAML"},
		"a placeholder":              {before: "a:\n  b: {{ .Values.x }}\n", edit: set(1, "1", "a", "c"), refuse: ""},
		"a list":                     {before: "- a\n", edit: set(1, "1", "a"), refuse: "no object"},
		"through a scalar":           {before: "a: b\n", edit: set(1, "1", "a", "c"), refuse: "no mapping"},
		"through an alias":           {before: "x: &x {a: 1}\ny: *x\n", edit: set(1, "2", "y", "a"), refuse: "alias"},
		"through an anchor":          {before: "x: &x {a: 1}\ny: *x\n", edit: set(1, "2", "x", "a"), refuse: "alias"},
		"an anchored scalar":         {before: "x: &x 1\ny: *x\n", edit: set(1, "2", "x"), refuse: "alias"},
		"a scalar over lines":        {before: "x: a\n  b\n", edit: set(1, "2", "x"), refuse: "several lines"},
		"a block scalar":             {before: "x: |\n  b\n", edit: set(1, "2", "x"), refuse: "several lines"},
		"remove what is over lines":  {before: "x: |\n  b\ny: 1\n", edit: remove(1, "x"), refuse: "several lines"},
		"remove what is not there":   {before: "x: 1\n", edit: remove(1, "y"), refuse: "no such entry"},
		"remove from a flow mapping": {before: "x: {a: 1, b: 2}\n", edit: remove(1, "x", "a"), refuse: "lines of its own"},
		"a value that is no scalar":  {before: "x: 1\n", edit: set(1, "{a: b}", "x"), refuse: "no scalar"},
		"a value that ends the line": {before: "x: [1, 2]\n", edit: add(1, "3] # ", "x"), refuse: "something else"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			after, err := patch.Apply(test.before, test.edit)
			if test.after == "" && test.refuse != "" {
				if err == nil || !strings.Contains(err.Error(), test.refuse) {
					t.Fatalf("error %v, want one about %q; text:\n%s", err, test.refuse, after)
				}
				return
			}
			if test.after == "" {
				return // must only not panic
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, after); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func reader(files map[string]string) patch.Read {
	return func(file string) ([]byte, error) {
		content, ok := files[file]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(content), nil
	}
}

func TestCombine(t *testing.T) {
	read := reader(map[string]string{
		"a.yaml": text("metadata:", "  name: a", "---", "metadata:", "  name: b", "spec:", "  dependsOn: [x]", "  c: d"),
		"b.yaml": text("metadata:", "  name: c"),
	})
	other := set(1, "9", "metadata", "wave")
	other.File = "b.yaml"
	changes, refused := patch.Combine(read, [][]finding.Edit{
		{set(1, "1", "metadata", "wave"), other},
		{set(4, "2", "metadata", "wave"), remove(4, "spec", "dependsOn")},
		{set(2, "1", "metadata", "wave")},                       // the same again
		{set(2, "3", "metadata", "wave")},                       // contradicts
		{set(5, "2", "more"), set(4, "2", "spec", "c", "deep")}, // half of it fails
	})
	want := map[string]string{
		"a.yaml": text("metadata:", "  name: a", "  wave: 1", "---", "metadata:", "  name: b", "  wave: 2", "spec:", "  c: d"),
		"b.yaml": text("metadata:", "  name: c", "  wave: 9"),
	}
	got := map[string]string{}
	for _, c := range changes {
		got[c.File] = string(c.After)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, refuse := range []string{"", "", "", "another fix", "no mapping"} {
		switch {
		case refuse == "" && refused[i] != nil:
			t.Errorf("group %d: %v", i, refused[i])
		case refuse != "" && (refused[i] == nil || !strings.Contains(refused[i].Error(), refuse)):
			t.Errorf("group %d: %v, want %q", i, refused[i], refuse)
		}
	}
}

func TestDiff(t *testing.T) {
	read := reader(map[string]string{"a.yaml": text("metadata:", "  name: a")})
	diff, err := patch.Diff(read, []finding.Edit{set(1, "1", "metadata", "wave")})
	if err != nil {
		t.Fatal(err)
	}
	want := text("--- a/a.yaml", "+++ b/a.yaml", "@@ -1,2 +1,3 @@", " metadata:", "   name: a", "+  wave: 1")
	if d := cmp.Diff(want, diff); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	missing := set(1, "1", "a")
	missing.File = "none.yaml"
	if _, err := patch.Diff(read, []finding.Edit{missing}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	get := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	resolve := func(file string) (string, error) { return filepath.Join(dir, file), nil }
	change := func(name, before, after string) patch.Change {
		return patch.Change{File: name, Before: []byte(before), After: []byte(after)}
	}
	put("a", "1")
	put("b", "1")

	if err := patch.Write([]patch.Change{change("a", "1", "2"), change("b", "other", "2")}, resolve); err == nil || get("a") != "1" || get("b") != "1" {
		t.Errorf("a file that changed meanwhile: %v, a=%s b=%s", err, get("a"), get("b"))
	}
	refused := errors.New("outside")
	outside := func(file string) (string, error) {
		if file == "b" {
			return "", refused
		}
		return resolve(file)
	}
	if err := patch.Write([]patch.Change{change("a", "1", "2"), change("b", "1", "2")}, outside); !errors.Is(err, refused) || get("a") != "1" {
		t.Errorf("a refused path: %v, a=%s", err, get("a"))
	}
	if err := patch.Write([]patch.Change{change("a", "1", "2"), change("b", "1", "3")}, resolve); err != nil || get("a") != "2" || get("b") != "3" {
		t.Errorf("%v, a=%s b=%s", err, get("a"), get("b"))
	}
	info, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// FuzzApply: whatever the file, an edit is refused or leaves YAML in which the
// value stands where it should; nothing panics.
func FuzzApply(f *testing.F) {
	f.Add("metadata:\n  name: x\n", 1, "metadata", "wave", uint8(0))
	f.Add("a: {b: [c, 'd']} # e\n---\nkind: List\nitems:\n- a: 1\n", 4, "a", "b", uint8(1))
	f.Add("a:\n- b\n- &x c\n? [k]\n: v\nb: *x\n", 2, "a", "c", uint8(2))
	f.Add("a: |\n  x\r\nb:\r\n", 2, "b", "c", uint8(0))
	f.Add("\r\r+:", 1, "a", "b", uint8(0))
	f.Fuzz(func(t *testing.T, content string, line int, first, second string, op uint8) {
		e := finding.Edit{
			File: "f", Line: line, Path: []string{first, second}, Value: `"v"`,
			Op: []finding.EditOp{finding.Set, finding.Append, finding.Remove, finding.Quote, finding.Move}[op%5], From: []string{second, first},
		}
		after, err := patch.Apply(content, e)
		if err != nil {
			return
		}
		var n yaml.Node
		if err := yaml.Unmarshal([]byte(after), &n); err != nil {
			t.Errorf("no YAML any more: %v\n%q\n%q", err, content, after)
		}
	})
}
