package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

// platform is a copy of an example that a test may break.
type platform struct {
	t   *testing.T
	dir string
}

// copyOf copies an example into a folder of the test.
func copyOf(t *testing.T, example string) platform {
	t.Helper()
	dir := filepath.Join(t.TempDir(), filepath.Base(example))
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(repositoryRoot(t), example))); err != nil {
		t.Fatal(err)
	}
	return platform{t, dir}
}

// partOf copies an example and leaves of its dev environment one component with
// everything that it requires.
func partOf(t *testing.T, example, component string) platform {
	t.Helper()
	dir, _ := fixtures.Part(t, repositoryRoot(t), example, component, requirements(t, example))
	return platform{t, dir}
}

// descriptor is the file of a component in dev.
func (p platform) descriptor(component string) string {
	p.t.Helper()
	var found string
	name := regexp.MustCompile(`(?m)^name: ` + regexp.QuoteMeta(component) + `$`)
	err := filepath.WalkDir(filepath.Join(p.dir, "environments", "dev"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "component.yaml" {
			return err
		}
		if text, err := os.ReadFile(path); err == nil && name.Match(text) {
			found = path
		}
		return nil
	})
	if err != nil || found == "" {
		p.t.Fatalf("no descriptor of %s: %v", component, err)
	}
	return found
}

// edit replaces text in a file; the text must be there.
func (p platform) edit(file, old, replacement string) {
	p.t.Helper()
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		p.t.Fatalf("%s does not hold %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), old, replacement)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// move gives a component another phase.
func (p platform) move(component, from, to string) {
	p.t.Helper()
	p.edit(p.descriptor(component), `rolloutPhase: "`+from+`"`, `rolloutPhase: "`+to+`"`)
}

// write writes a file that is not there yet.
func (p platform) write(file, text string) {
	p.t.Helper()
	file = filepath.Join(p.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p platform) remove(component string) {
	p.t.Helper()
	if err := os.Remove(p.descriptor(component)); err != nil {
		p.t.Fatal(err)
	}
}

const (
	certManagerValues = "sources/values/shared/foundation-cert-manager.yaml"
	// certManagerRefuses is what the API server says of a fail-closed webhook that
	// has no ready pod.
	certManagerRefuses = `webhook "?webhook\.cert-manager\.io"?.*no endpoints available for service "cert-manager-webhook"`
)

// webhookLater makes the Deployment of cert-manager's webhook a component of its
// own, which comes after the first Certificates. The configuration of the
// webhook, which is fail-closed, comes before them, as it did.
func webhookLater(p platform) {
	p.t.Helper()
	const name = "foundation-cert-manager-webhook"
	text, err := os.ReadFile(filepath.Join(p.dir, certManagerValues))
	if err != nil {
		p.t.Fatal(err)
	}
	start := strings.Index(string(text), "  - name: cert-manager-webhook\n    appName: webhook\n")
	end := strings.Index(string(text), "clusterRules:\n")
	if start < 0 || end < start {
		p.t.Fatalf("%s has no Deployment of the webhook before the cluster rules", certManagerValues)
	}
	deployment := string(text[start:end])
	p.edit(certManagerValues, deployment, "")
	p.write("sources/values/shared/"+name+".yaml", "deployments:\n"+deployment)
	p.write("environments/dev/components/foundation/operators/cert-manager-webhook/component.yaml", `
name: `+name+`
domain: foundation
namespace: cert-manager
rolloutPhase: "140"
componentType: operator
chart: {path: sources/charts/operator, releaseName: cert-manager}
`)
}

// TestMistakesAreCaught breaks the example platform the way platforms are
// broken in production. The rehearsal must fail at the component that suffers,
// and name the object and the reason.
func TestMistakesAreCaught(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		breakIt   func(p platform)
		component string
		object    string // part of the object's name, "Kind/namespace/name"
		reason    string // regular expression
		long      bool   // in the long tests only: it is like another one, or is made under Argo CD in each run
	}{
		"CRD package after its user": {
			func(p platform) { p.move("data-crds-clickhouse", "210", "260") },
			"data-clickhouse", "ClickHouseInstallation/", `ClickHouseInstallation.*(CRD|no matches)`, false,
		},
		"SecretStore before Vault": {
			func(p platform) { p.move("foundation-vault-secret-store", "156", "140") },
			"foundation-vault-secret-store", "external-secrets.io/ClusterSecretStore//vault",
			`ClusterSecretStore vault: unable to validate store: Service vault/vault not found`, false,
		},
		"storage config after a PVC user": {
			func(p platform) { p.move("foundation-managed-storage", "140", "160") },
			"foundation-vault-core", "vault", `(?i)persistentvolumeclaim|storage ?class`, true,
		},
		"webhook operator after its objects": {
			func(p platform) { p.move("foundation-cert-manager", "120", "140") },
			"foundation-vault-webhook-certs", "cert-manager.io/Certificate/vault/vault-agent-injector",
			`Certificate vault-agent-injector: Waiting for certificate`, true,
		},
		"webhook without endpoints": {
			// Nothing has the labels that the Service of the webhook selects.
			func(p platform) { p.edit(certManagerValues, "target: webhook\n", "target: nobody\n") },
			"foundation-vault-webhook-certs", "cert-manager.io/Certificate/vault/vault-agent-injector", certManagerRefuses, false,
		},
		"webhook after its objects": {
			webhookLater,
			"foundation-vault-webhook-certs", "cert-manager.io/Certificate/vault/vault-agent-injector", certManagerRefuses, true,
		},
		"Secret producer after its consumer": {
			func(p platform) { p.move("foundation-vault-secrets-observability", "530", "599") },
			"platform-loki", "loki", `secret "[a-z0-9-]+" not found`, false,
		},
		"missing namespace": {
			func(p platform) {
				p.edit("sources/values/shared/foundation-namespaces.yaml", "  - {name: vault}\n", "")
			},
			"foundation-vault-webhook-certs", "/vault/", `namespaces? "?vault"? .*not (found|exist)`, true,
		},
		"missing CRD": {
			func(p platform) { p.remove("data-crds-temporal") },
			"data-temporal", "temporal.io/", `Temporal.*(CRD|no matches)`, true,
		},
	}
	for name, tc := range cases {
		if tc.long && !*long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// What the mistake is about is a part of the example; the long tests break all of it.
			p := partOf(t, "examples/ameide", tc.component)
			if *long {
				p = copyOf(t, "examples/ameide")
			}
			tc.breakIt(p)
			r, out := rehearsal(t, p.dir, ".", "-e", "dev", "--least-timeout", "5s")
			if out.code != 1 && out.code != 4 || r.Result != "failed" && r.Result != "timed-out" {
				t.Fatalf("exit code %d, result %q: the mistake was not caught", out.code, r.Result)
			}
			wantCulprit(t, r, tc.component, tc.object, tc.reason)
		})
	}
}

// wantCulprit fails unless the report blames a component with an object and a
// reason.
func wantCulprit(t *testing.T, r report.Rollout, component, object, reason string) {
	t.Helper()
	c, ok := byName(r)[component]
	if !ok || c.State != "failed" && c.State != "timed-out" {
		for _, other := range r.Components {
			if other.State == "failed" || other.State == "timed-out" {
				t.Logf("%s %s: %s: %s", other.Name, other.State, other.Object, other.Message)
			}
		}
		t.Fatalf("%s is %q, want failed or timed-out", component, c.State)
	}
	if !strings.Contains(c.Object, object) {
		t.Errorf("%s: the object is %q, want one with %q", component, c.Object, object)
	}
	if !regexp.MustCompile(reason).MatchString(c.Message) {
		t.Errorf("%s: the reason is %q, want %q", component, c.Message, reason)
	}
}

// TestFailureStopsItsDependentsOnly makes Keycloak fail: what needs it stays
// blocked and says so, everything else becomes Healthy.
func TestFailureStopsItsDependentsOnly(t *testing.T) {
	t.Parallel()
	const failing = "platform-keycloak"
	p := partOf(t, "examples/ameide", "apps-platform")
	if *long {
		p = copyOf(t, "examples/ameide")
	}
	r, out := rehearsal(t, p.dir, ".", "-e", "dev",
		"--fail", failing+"=never-ready", "--on-failure", "continue", "--least-timeout", "5s")
	if out.code != 1 || r.Result != "failed" {
		t.Errorf("exit code %d, result %q, want 1 and failed", out.code, r.Result)
	}
	dependents := map[string]bool{}
	for _, name := range blastRadius(t, p.dir, failing) {
		dependents[name] = true
	}
	if len(dependents) < 2 {
		t.Fatalf("%s has %d dependents; the example should have more", failing, len(dependents))
	}
	for _, c := range r.Components {
		switch {
		case c.State == "skipped":
		case c.Name == failing:
			if c.State != "failed" && c.State != "timed-out" {
				t.Errorf("%s is %s", c.Name, c.State)
			}
		case dependents[c.Name]:
			if c.State != "blocked" || len(c.BlockedBy) == 0 || c.BlockedBy[0].Reason == "" {
				t.Errorf("%s needs %s, yet it is %s, blocked by %v", c.Name, failing, c.State, c.BlockedBy)
			}
		case c.State != "healthy":
			t.Errorf("%s does not need %s, yet it is %s: %s %v", c.Name, failing, c.State, c.Message, c.BlockedBy)
		}
	}
}

// TestLadderAsWrittenFails rehearses the example's ladder as it was first
// written down: an ExternalSecret at 130 waits for a store that comes at 155.
func TestLadderAsWrittenFails(t *testing.T) {
	t.Parallel()
	r, out := rehearsal(t, fixtures.AmeideAsWritten(t, repositoryRoot(t)), ".", "-e", "dev", "--least-timeout", "5s")
	if out.code != 1 || r.Result != "failed" {
		t.Fatalf("exit code %d, result %q, want 1 and failed", out.code, r.Result)
	}
	wantCulprit(t, r, "foundation-ghcr-pull-secret", "ExternalSecret/ameide/", "vault")
	warned := false
	for _, e := range r.Against {
		warned = warned || e.From == "foundation-ghcr-pull-secret" && e.To == "foundation-vault-secret-store"
	}
	if !warned {
		t.Errorf("the report does not say that the ladder contradicts the requirement: %v", r.Against)
	}
}
