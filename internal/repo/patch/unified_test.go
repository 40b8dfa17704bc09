package patch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/repo/patch"
)

// gitApply applies a diff to a file, as the diff says it, and returns the file afterwards.
func gitApply(t rapid.TB, name, before, diff string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"apply"}
	if strings.HasPrefix(diff, "# git apply needs --unidiff-zero") {
		args = append(args, "--unidiff-zero")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply: %v\n%s\nof\n%s\non\n%s", err, out, diff, before)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(after)
}

// TestDiffApplies gives git the diffs of any changes: of files with and without secrets, and with
// and without a line end behind the last line.
func TestDiffApplies(t *testing.T) {
	line := rapid.SampledFrom([]string{"kind: Application", "metadata:", "  name: web", "spec:", "  size: 1", "  password: hunter2", "", "  list:", "  - a", "---", "# remark"})
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(line, 0, 20).Draw(t, "before")
		var after []string
		for _, l := range lines {
			switch rapid.IntRange(0, 9).Draw(t, "edit") {
			case 0:
			case 1:
				after = append(after, l, "  added: 1")
			case 2:
				after = append(after, "  changed: 1")
			default:
				after = append(after, l)
			}
		}
		join := func(lines []string) string {
			text := strings.Join(lines, "\n")
			if len(lines) > 0 && rapid.Bool().Draw(t, "ended") {
				text += "\n"
			}
			return text
		}
		c := patch.Change{File: "a file.yaml", Before: []byte(join(lines)), After: []byte(join(after))}
		diff := c.Diff()
		if string(c.Before) == string(c.After) {
			if diff != "" {
				t.Fatalf("a diff of nothing:\n%s", diff)
			}
			return
		}
		if len(c.After) == 0 {
			return // git takes the file away
		}
		if strings.HasPrefix(diff, "#") && !strings.HasSuffix(string(c.Before), "\n") {
			return // without lines around, git takes a last line without an end for any that begins with it
		}
		if got := gitApply(t, c.File, string(c.Before), diff); got != string(c.After) {
			t.Fatalf("%q\nwant %q\nof\n%s", got, c.After, diff)
		}
	})
}

// TestDiffOfSecrets holds what stands around a change in a file with credentials.
func TestDiffOfSecrets(t *testing.T) {
	before := text("apiVersion: v1", "kind: Application", "metadata:", "  name: web", "  finalizers:", "    - a", "spec:", "  values: |", "    metadata:", "    password: hunter2")
	tests := map[string]struct{ old, new, want string }{
		"keys and names": {"  name: web\n", "  name: web\n  annotations:\n    b: c\n", text("--- a/a.yaml", "+++ b/a.yaml", "@@ -2,4 +2,6 @@", " kind: Application", " metadata:", "   name: web", "+  annotations:", "+    b: c", "   finalizers:")},
		"values":         {"    - a\n", "    - b\n", text("--- a/a.yaml", "+++ b/a.yaml", "@@ -3,5 +3,5 @@", " metadata:", "   name: web", "   finalizers:", "-    - a", "+    - b", " spec:")},
		"a text":         {"  values: |\n", "  values: |\n    x: 1\n", text("# git apply needs --unidiff-zero: lines that may hold a secret are left out", "--- a/a.yaml", "+++ b/a.yaml", "@@ -8,0 +9 @@", "+    x: 1")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := patch.Change{File: "a.yaml", Before: []byte(before), After: []byte(strings.Replace(before, test.old, test.new, 1))}
			if diff := c.Diff(); diff != test.want {
				t.Errorf("%s\nwant:\n%s", diff, test.want)
			}
		})
	}
}
