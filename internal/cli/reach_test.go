package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

type trap struct{ *fixtures.Trap }

// TestNothingIsReachedOffline runs commands over repositories that name what is
// outside of them in every way that kustomize has. Programs on the path, and a server,
// must not be reached, and every bad component is told of beside the good one.
func TestNothingIsReachedOffline(t *testing.T) {
	p := trap{fixtures.NewTrap(t)}
	top := t.TempDir()
	other := filepath.Join(top, "other")
	fixtures.Write(t, other, "base/kustomization.yaml", "resources: [a.yaml]\n")
	fixtures.Write(t, other, "base/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"}} {
		command := exec.Command("git", append([]string{"-C", other}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v %s", args, err, out)
		}
	}
	few, all := filepath.Join(top, "few"), filepath.Join(top, "all")
	told := p.Repository(t, few, func(form string, spelling int) bool { return spelling == 0 && (form == "http" || form == "FILE") })
	t.Setenv("PATH", p.Bin)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(top, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(top, "state"))
	if testing.Short() {
		p.judged(t, few, told)
		return
	}
	for _, args := range [][]string{
		{"lint", few, "-e", "all", "--offline", "--fail-on", "none"}, // the kustomizations of Applications
		{"plan", few, "--offline"},
		{"inventory", few},
		{"render", "helmrepo-http4-0", few, "--offline"},
		{"diff", "env:default", "env:default", few, "--offline"},
		{"import", "argocd", few, "--offline", "--out", filepath.Join(top, "out")},
		{"import", "flux", few, "--out", filepath.Join(top, "flux")},
		{"import", "helmfile", few, "--out", filepath.Join(top, "helmfile")},
		{"import", "waves", few, "--out", filepath.Join(top, "waves")},
	} {
		p.run(t, args)
	}
	p.judged(t, all, p.Repository(t, all, func(string, int) bool { return true }))
}

// judged lints a repository and wants every bad component among what was not
// rendered, and not the good one.
func (p trap) judged(t *testing.T, dir string, told map[string]bool) {
	t.Helper()
	var result struct {
		Unrendered []struct{ Component string } `json:"unrendered"`
		Summary    struct{ Components int }     `json:"summary"`
	}
	out := p.run(t, []string{"lint", dir, "--root", "apps", "--offline", "--format", "json", "--fail-on", "none"})
	if err := json.Unmarshal(out, &result); err != nil {
		t.Fatal(err)
	}
	if result.Summary.Components != len(told)+1 {
		t.Errorf("%d components of %d", result.Summary.Components, len(told)+1)
	}
	bad := map[string]bool{}
	for _, u := range result.Unrendered {
		bad[u.Component] = true
	}
	for name, wanted := range told {
		if bad[name] != wanted {
			t.Errorf("%s: what is said of it is %v, want %v", name, bad[name], wanted)
		}
	}
	if bad["good"] {
		t.Error("the good component is not rendered")
	}
}

// run runs a command, and fails where it reached anything or shows what it must not.
func (p trap) run(t *testing.T, args []string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main("ladder", append(args, "--progress", "none"), "test", &stream.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv})
	t.Logf("%s: exit code %d, %d bytes; %.300s", args[0], code, out.Len(), errs.String())
	p.Check(t, args)
	for _, line := range strings.Split(out.String()+errs.String(), "\n") {
		if strings.Contains(line, "hunter2") || strings.Contains(line, "goroutine ") {
			t.Errorf("%v shows a password or a stack trace: %.300s", args, line)
		}
	}
	return out.Bytes()
}
