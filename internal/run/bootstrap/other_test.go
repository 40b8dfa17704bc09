package bootstrap_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/run/bootstrap"
)

// TestKilled kills the command itself at random points, which leaves it no time
// for anything, and has the next run end what they began.
func TestKilled(t *testing.T) {
	w := newWorld(t)
	w.startController()
	kubeconfig := w.plane.Kubeconfig
	command := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, planetest.Binary(t), append([]string{
			"bootstrap", "--config", filepath.Join(w.dir, "bootstrap", "dev.yaml"), "--kubeconfig", kubeconfig, "--no-cache",
		}, args...)...)
		cmd.Env = append(os.Environ(), "BOOT_TOKEN="+canaryToken, "BOOT_USER="+canaryUser, "BOOT_SEAL="+canarySeal)
		return cmd
	}
	random := rand.New(rand.NewSource(7))
	for range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(100+random.Intn(1400))*time.Millisecond)
		out, _ := command(ctx).CombinedOutput() // killed, or done already
		cancel()
		w.said.Write(out)
	}
	out, err := command(t.Context(), "--format", "json").Output()
	var b report.Bootstrap
	if err != nil || json.Unmarshal(out, &b) != nil || b.Result != report.BootstrapSucceeded {
		t.Fatalf("%v\n%s", err, out)
	}
	w.said.Write(out)
	w.checkObjects()
	w.checkCanaries()
}

// TestDownload pins what is downloaded by its digest.
func TestDownload(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "platform", "bootstrap", "argocd", "install.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/install.yaml":
			_, _ = answer.Write(text)
		case "/elsewhere":
			http.Redirect(answer, r, "http://example.com/install.yaml", http.StatusFound)
		default:
			http.NotFound(answer, r)
		}
	}))
	defer server.Close()
	sum := sha256.Sum256(text)
	right := "sha256:" + hex.EncodeToString(sum[:])
	cache := t.TempDir()
	for _, tc := range []struct {
		name, path, digest string
		offline            bool
		message            string
		asked              int
	}{
		{"offline before", "/install.yaml", right, true, "was not downloaded before, and --offline forbids it now", 0},
		{"wrong digest", "/install.yaml", digest, false, "has the digest " + right + ", and not " + digest, 1},
		{"not there", "/none.yaml", right, false, "the server answers 404", 1},
		{"redirected into the clear", "/elsewhere", right, false, "it leads to http://example.com/install.yaml, which is not encrypted", 1},
		{"right", "/install.yaml", right, false, "", 1},
		{"kept", "/install.yaml", right, true, "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
			copyPlatform(t, w.dir)
			w.edit("bootstrap/dev.yaml", "manifest: {path: bootstrap/argocd/install.yaml}", "manifest: {url: '"+server.URL+tc.path+"', digest: '"+tc.digest+"'}")
			asked = 0
			b := w.run(t.Context(), func(o *bootstrap.Options) {
				o.Load = analysis.Options{CacheDir: cache, Offline: tc.offline}
				o.Connect = func(context.Context, string, string) (*bootstrap.Access, error) {
					return nil, &bootstrap.UnreachableError{Err: errors.New("nobody asks")}
				}
			})
			sources := stage(b, "sources")
			if tc.message == "" {
				// The next stage comes.
				if sources.State != report.StageDone || b.Result != report.BootstrapUnreachable {
					t.Errorf("%s: %s", sources.State, sources.Message)
				}
			} else if b.Result != report.BootstrapFailed || !strings.Contains(sources.Message, tc.message) {
				t.Errorf("result %s: %s", b.Result, sources.Message)
			}
			if asked != tc.asked {
				t.Errorf("the server was asked %d times, not %d", asked, tc.asked)
			}
		})
	}
}

// TestWrongDigestOfFile refuses a file of the repository that has changed.
func TestWrongDigestOfFile(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	w.edit("bootstrap/dev.yaml", "{path: bootstrap/argocd/install.yaml}", "{path: bootstrap/argocd/install.yaml, digest: '"+digest+"'}")
	b := w.run(t.Context(), nil)
	if got := stage(b, "sources"); b.Result != report.BootstrapFailed || !strings.Contains(got.Message, "bootstrap/argocd/install.yaml has the digest sha256:") {
		t.Errorf("result %s: %s", b.Result, got.Message)
	}
}

// TestMissingValues tells all that is missing at once, and changes nothing.
func TestMissingValues(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	write(t, filepath.Join(w.dir, "secret", "registry-password"), "")
	if err := os.Remove(filepath.Join(w.dir, "secret", "id_ed25519")); err != nil {
		t.Fatal(err)
	}
	_, err := bootstrap.Run(t.Context(), w.options(func(o *bootstrap.Options) {
		o.LookupEnv = func(name string) (string, bool) { return "", name == "BOOT_SEAL" }
		o.Connect = func(context.Context, string, string) (*bootstrap.Access, error) {
			t.Error("the cluster was reached")
			return nil, errors.New("no")
		}
	}))
	var got []string
	for _, e := range repo.InputErrors(err) {
		got = append(got, strings.ReplaceAll(e.Error(), w.dir+"/", ""))
	}
	want := []string{
		"bootstrap/dev.yaml:11: repositories[0].password: the environment variable BOOT_TOKEN is not set (set it, or take the value from a file: {file: PATH})",
		"bootstrap/dev.yaml:15: repositories[1].sshPrivateKey: the file secret/id_ed25519 cannot be read: no such file or directory",
		"bootstrap/dev.yaml:21: pullSecrets[0].registries[0].username: the environment variable BOOT_USER is not set (set it, or take the value from a file: {file: PATH})",
		"bootstrap/dev.yaml:22: pullSecrets[0].registries[0].password: the file secret/registry-password is empty",
		"bootstrap/dev.yaml:27: secrets[0].data.key: the environment variable BOOT_SEAL is empty (set it, or take the value from a file: {file: PATH})",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestProblemsAtOnce has what is wrong in several parts of a configuration told in one run.
func TestProblemsAtOnce(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	w.edit("bootstrap/dev.yaml", "manifest: {path: bootstrap/argocd/install.yaml}", "manifest: {path: bootstrap/none.yaml}")
	w.edit("bootstrap/dev.yaml", "settings: [bootstrap/argocd/settings.yaml]", "settings: [bootstrap/root.yaml, bootstrap/unset.yaml]")
	w.edit("bootstrap/dev.yaml", "paths: [bootstrap/root.yaml]", "paths: [bootstrap/gone.yaml, bootstrap/lost.yaml]")
	w.edit("bootstrap/dev.yaml", "wait: {grace: 2s}", "wait: {bands: [nosuch, neither]}\ncluster:\n  create: {tool: k3d, name: dev, config: bootstrap/k3d.yaml}")
	_, err := bootstrap.Run(t.Context(), w.options(func(o *bootstrap.Options) {
		o.LookupEnv = func(name string) (string, bool) {
			if name == "BOOT_SEAL" {
				return "", false
			}
			return environment(name)
		}
	}))
	var got []string
	for _, e := range repo.InputErrors(err) {
		message, _, _ := strings.Cut(strings.TrimPrefix(e.Error(), w.dir+"/"), " (")
		got = append(got, message)
	}
	want := []string{
		`bootstrap/dev.yaml:30: wait.bands: there is no band "nosuch"`,
		`bootstrap/dev.yaml:30: wait.bands: there is no band "neither"`,
		"bootstrap/dev.yaml:32: cluster.create.config: bootstrap/k3d.yaml does not exist",
		"bootstrap/dev.yaml:29: bootstrap/gone.yaml does not exist",
		"bootstrap/dev.yaml:29: bootstrap/lost.yaml does not exist",
		"bootstrap/dev.yaml:5: bootstrap/none.yaml does not exist",
		"bootstrap/root.yaml:1: argocd.settings are ConfigMaps, not a AppProject",
		"bootstrap/root.yaml:8: argocd.settings are ConfigMaps, not a Application",
		"bootstrap/dev.yaml:6: bootstrap/unset.yaml does not exist",
		"bootstrap/dev.yaml:27: secrets[0].data.key: the environment variable BOOT_SEAL is not set",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestUnreachable ends at the stage that reaches the cluster.
func TestUnreachable(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	for name, tc := range map[string]struct {
		connect func(context.Context, string, string) (*bootstrap.Access, error)
		stage   string
	}{
		"at first": {func(context.Context, string, string) (*bootstrap.Access, error) {
			return nil, &bootstrap.UnreachableError{Err: errors.New("connection refused")}
		}, "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			b := w.run(t.Context(), func(o *bootstrap.Options) { o.Connect, o.ShowAdminPassword = tc.connect, true })
			if b.Result != report.BootstrapUnreachable || states(b)[tc.stage] != report.StageFailed || states(b)["platform"] != report.StageNotReached {
				t.Errorf("result %s: %v", b.Result, states(b))
			}
			if want := []string{"the password of admin is not known: the cluster was not reached"}; !slices.Equal(b.Warnings, want) {
				t.Errorf("warnings %q, want %q", b.Warnings, want)
			}
		})
	}
}

// TestClusterTools makes clusters with commands that stand in for k3d and kind,
// and write down what they were given.
func TestClusterTools(t *testing.T) {
	const script = `#!/bin/sh
echo "$(basename $0) $*" >> "$TOOL_LOG"
env >> "$TOOL_LOG.env"
case "$*" in
  "cluster list --output json") cat "$TOOL_STATE" ;;
  "get clusters") cat "$TOOL_STATE" ;;
  *fail*) echo "no room for it, canary-token-4f1d" >&2; exit 3 ;;
esac
`
	for name, tc := range map[string]struct {
		create, state string
		dryRun, reset bool
		want          []string
		result        string
		message       string
	}{
		"k3d anew":       {"{tool: k3d, name: dev, config: bootstrap/k3d.yaml, args: [--wait]}", "[]", false, false, []string{"k3d cluster list --output json", "k3d cluster create dev --config ROOT/bootstrap/k3d.yaml --wait"}, report.BootstrapFailed, "it is not there"},
		"k3d there":      {"{tool: k3d, name: dev}", `[{"name":"dev","serversRunning":1}]`, false, false, []string{"k3d cluster list --output json"}, report.BootstrapFailed, "it is not there"},
		"k3d stopped":    {"{tool: k3d, name: dev}", `[{"name":"dev","serversRunning":0}]`, false, false, []string{"k3d cluster list --output json", "k3d cluster start dev"}, report.BootstrapFailed, "it is not there"},
		"k3d reset":      {"{tool: k3d, name: dev}", `[{"name":"dev","serversRunning":1}]`, false, true, []string{"k3d cluster list --output json", "k3d cluster delete dev", "k3d cluster create dev"}, report.BootstrapFailed, "it is not there"},
		"k3d dry run":    {"{tool: k3d, name: dev}", "[]", true, false, []string{"k3d cluster list --output json"}, report.BootstrapPlanned, ""},
		"reset, dry run": {"{tool: k3d, name: dev}", `[{"name":"dev","serversRunning":1}]`, true, true, []string{"k3d cluster list --output json"}, report.BootstrapPlanned, ""},
		"kind anew":      {"{tool: kind, name: dev}", "other\n", false, false, []string{"kind get clusters", "kind create cluster --name dev"}, report.BootstrapFailed, "it is not there"},
		"kind there":     {"{tool: kind, name: dev}", "other\ndev\n", false, false, []string{"kind get clusters"}, report.BootstrapFailed, "it is not there"},
		"that fails":     {"{tool: kind, name: fail}", "", false, false, []string{"kind get clusters", "kind create cluster --name fail"}, report.BootstrapFailed, "kind create cluster: no room for it, [redacted]"},
		"not a list":     {"{tool: k3d, name: dev}", "usage", false, false, []string{"k3d cluster list --output json"}, report.BootstrapFailed, "k3d: its list of clusters cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
			copyPlatform(t, w.dir)
			write(t, filepath.Join(w.dir, "bootstrap", "k3d.yaml"), "kind: Simple\n")
			w.edit("bootstrap/dev.yaml", "timeout: 4m", "cluster:\n  create: "+tc.create)
			bin := t.TempDir()
			for _, tool := range []string{"k3d", "kind"} {
				write(t, filepath.Join(bin, tool), script)
				if err := os.Chmod(filepath.Join(bin, tool), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			log := filepath.Join(bin, "log")
			write(t, filepath.Join(bin, "state"), tc.state)
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			t.Setenv("TOOL_LOG", log)
			t.Setenv("TOOL_STATE", filepath.Join(bin, "state"))
			t.Setenv("BOOT_TOKEN", canaryToken)
			b := w.run(t.Context(), func(o *bootstrap.Options) {
				o.DryRun, o.ResetCluster = tc.dryRun, tc.reset
				o.Connect = func(_ context.Context, kubeconfig, name string) (*bootstrap.Access, error) {
					if want := strings.Fields(strings.NewReplacer("{tool: ", "", ", name: ", "-", "}", "", ",", "").Replace(tc.create))[0]; name != want || kubeconfig != "" {
						t.Errorf("context %q, want %q", name, want)
					}
					return nil, errors.New("it is not there")
				}
			})
			text, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), w.dir, "ROOT")), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if b.Result != tc.result || !strings.Contains(stage(b, "cluster").Message, tc.message) {
				t.Errorf("result %s: %s", b.Result, stage(b, "cluster").Message)
			}
			environment, err := os.ReadFile(log + ".env")
			if err != nil || strings.Contains(string(environment), canaryToken) {
				t.Errorf("the tool is given the secret: %v", err)
			}
		})
	}
}

// TestFilesOfRoot tells how the files that Argo CD reads differ from what is applied, where a run
// comes to have it read them.
func TestFilesOfRoot(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	w.edit("bootstrap/dev.yaml", "paths: [bootstrap/root.yaml]", "generate: true")
	w.edit("bootstrap/dev.yaml", "timeout: 4m", "cluster:\n  create: {tool: k3d, name: dev}")
	bin := t.TempDir()
	write(t, filepath.Join(bin, "k3d"), "#!/bin/sh\necho '[]'\n")
	if err := os.Chmod(filepath.Join(bin, "k3d"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	dryRun := func(o *bootstrap.Options) { o.DryRun, o.Image = true, "registry.example.com/ladder:1" }
	expect := func(b report.Bootstrap, result string, want ...string) {
		t.Helper()
		if b.Result != result || !slices.Equal(b.Warnings, append([]string{}, want...)) {
			t.Errorf("result %s, warnings %q, want %s, %q", b.Result, b.Warnings, result, want)
		}
	}
	expect(w.run(t.Context(), dryRun), report.BootstrapPlanned,
		"argocd/dev has none of the files that Argo CD reads: write them with ladder generate -e dev, and push them")

	w.edit("bootstrap/dev.yaml", "cluster:\n  create: {tool: k3d, name: dev}", "timeout: 4m")
	expect(w.run(t.Context(), func(o *bootstrap.Options) {
		dryRun(o)
		o.Connect = func(context.Context, string, string) (*bootstrap.Access, error) {
			return nil, &bootstrap.UnreachableError{Err: errors.New("connection refused")}
		}
	}), report.BootstrapUnreachable)

	w.edit("bootstrap/dev.yaml", "timeout: 4m", "cluster:\n  create: {tool: k3d, name: dev}")
	write(t, filepath.Join(w.dir, "argocd", "dev", "root.yaml"), "# of somebody\n")
	b := w.run(t.Context(), dryRun)
	if len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "of the files below argocd/dev are not as ladder generate would write them") {
		t.Errorf("warnings %q", b.Warnings)
	}
}

// TestToolMissing says how to do without the command.
func TestToolMissing(t *testing.T) {
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "platform")}
	copyPlatform(t, w.dir)
	w.edit("bootstrap/dev.yaml", "timeout: 4m", "cluster:\n  create: {tool: k3d, name: dev}")
	t.Setenv("PATH", t.TempDir())
	b := w.run(t.Context(), nil)
	const want = "k3d: the command is not installed; install it, or name a cluster that runs: cluster: {context: k3d-dev}"
	if got := stage(b, "cluster"); b.Result != report.BootstrapFailed || got.Message != want {
		t.Errorf("result %s: %s", b.Result, got.Message)
	}
}
