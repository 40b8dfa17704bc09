package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// fieldsThatLoad are the ways in which a kustomization names something that is
// loaded; %s is an address. Files beside the kustomization are named in comments.
var fieldsThatLoad = map[string]string{
	"resources":            "resources: ['%s']",
	"bases":                "bases: ['%s']",
	"components":           "components: ['%s']",
	"crds":                 "crds: ['%s']",
	"configurations":       "configurations: ['%s']",
	"generators":           "generators: ['%s']",
	"transformers":         "transformers: ['%s']",
	"validators":           "validators: ['%s']",
	"patches":              "patches: [{path: '%s'}]",
	"patchesStrategic":     "patchesStrategicMerge: ['%s']",
	"patchesJson":          "patchesJson6902: [{path: '%s', target: {version: v1, kind: ConfigMap, name: a}}]",
	"replacements":         "replacements: [{path: '%s'}]",
	"openapi":              "openapi: {path: '%s'}",
	"configMapFiles":       "configMapGenerator: [{name: b, files: ['%s']}]",
	"configMapKeyedFiles":  "configMapGenerator: [{name: b, files: ['k=%s']}]",
	"configMapEnvs":        "configMapGenerator: [{name: b, envs: ['%s']}]",
	"configMapEnv":         "configMapGenerator: [{name: b, env: '%s'}]",
	"secretFiles":          "secretGenerator: [{name: b, files: ['%s']}]",
	"secretEnvs":           "secretGenerator: [{name: b, envs: ['%s']}]",
	"secretEnv":            "secretGenerator: [{name: b, env: '%s'}]",
	"helmRepo":             "helmCharts: [{name: c, repo: '%s', version: 1.0.0}]",
	"helmValues":           "helmCharts: [{name: local, valuesFile: '%s'}]",
	"helmMoreValues":       "helmCharts: [{name: local, additionalValuesFiles: ['%s']}]",
	"helmHome":             "helmGlobals: {chartHome: '%s'}\nhelmCharts: [{name: c}]",
	"oldInflator":          "helmChartInflationGenerator: [{chartName: c, chartRepoUrl: '%s', chartVersion: 1.0.0}]",
	"inlinePatch":          "transformers: [\"{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: '%s', target: {kind: ConfigMap}}\\n\"]",
	"inlineStrategic":      "transformers: [\"{apiVersion: builtin, kind: PatchStrategicMergeTransformer, metadata: {name: p}, paths: ['%s']}\\n\"]",
	"inlineJson":           "transformers: [\"{apiVersion: builtin, kind: PatchJson6902Transformer, metadata: {name: p}, path: '%s', target: {kind: ConfigMap, name: a}}\\n\"]",
	"inlineReplacement":    "transformers: [\"{apiVersion: builtin, kind: ReplacementTransformer, metadata: {name: p}, replacements: [{path: '%s'}]}\\n\"]",
	"inlineConfigMap":      "generators: [\"{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: p}, files: ['%s']}\\n\"]",
	"inlineConfigMapEnv":   "generators: [\"{apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: p}, env: '%s'}\\n\"]",
	"inlineSecret":         "generators: [\"{apiVersion: builtin, kind: SecretGenerator, metadata: {name: p}, envs: ['%s']}\\n\"]",
	"inlineInflator":       "generators: [\"{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: p}, name: c, repo: '%s', version: 1.0.0}\\n\"]",
	"inlineInflatorValues": "generators: [\"{apiVersion: builtin, kind: HelmChartInflationGenerator, metadata: {name: p}, name: local, valuesFile: '%s'}\\n\"]",
	"execFunction":         "transformers: [\"{apiVersion: x/v1, kind: X, metadata: {name: x, annotations: {config.kubernetes.io/function: 'exec: {path: /bin/sh}'}}}\\n\"] # %s",
	"starlarkFunction":     "generators: [\"{apiVersion: x/v1, kind: X, metadata: {name: x, annotations: {config.kubernetes.io/function: 'starlark: {url: \\\"%s\\\"}'}}}\\n\"]",
	"containerFunction":    "generators: [\"{apiVersion: x/v1, kind: X, metadata: {name: x, annotations: {config.kubernetes.io/function: 'container: {image: \\\"%s\\\"}'}}}\\n\"]",
}

// spelled are the ways to spell the name of a field: kustomize takes them in any
// case.
func spelled(kustomization string) []string {
	key, rest, _ := strings.Cut(kustomization, ":")
	return []string{kustomization, strings.ToUpper(key[:1]) + key[1:] + ":" + rest, strings.ToLower(key) + ":" + rest, strings.ToUpper(key) + ":" + rest}
}

// trap is a server and a folder of programs that must not be reached.
type trap struct {
	address string
	bin     string
	marker  string
	reached atomic.Int64
}

func newTrap(t *testing.T) *trap {
	t.Helper()
	p := &trap{bin: t.TempDir(), marker: filepath.Join(t.TempDir(), "marker")}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.reached.Add(1)
		t.Errorf("%s %s was asked for", r.Method, r.URL)
		w.WriteHeader(http.StatusTeapot)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			p.reached.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	p.address = strings.TrimPrefix(server.URL, "http://")
	for _, name := range []string{"git", "helm", "kustomize", "sh", "bash", "ssh", "docker", "hg", "curl", "true"} {
		text := "#!/bin/sh\necho " + name + " \"$@\" >> " + p.marker + "\nexit 1\n"
		if err := os.WriteFile(filepath.Join(p.bin, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return p
}

// addresses are the ways to name something outside of the repository. repo is a
// repository of Git on this machine.
func (p *trap) addresses(repo string) map[string]string {
	inject := "?ref=--upload-pack=touch%20" + p.marker + ";"
	return map[string]string{
		"http":      "http://" + p.address + "/x.yaml",
		"HTTP":      "HTTP://" + p.address + "/x.yaml",
		"https":     "https://" + p.address + "/x.yaml",
		"httpGit":   "http://" + p.address + "/org/repo.git//base?ref=main",
		"gitHttp":   "git::http://" + p.address + "/org/repo//base?ref=main",
		"file":      "file://" + repo + inject,
		"FILE":      "FILE://" + repo + "//base" + inject,
		"File":      "File://" + repo + ".git//base" + inject,
		"gitFile":   "git::file://" + repo + "//base" + inject,
		"GITFILE":   "GIT::FILE://" + repo + "//base" + inject,
		"ext":       "ext::sh -c touch% " + p.marker,
		"scp":       "git@" + strings.Split(p.address, ":")[0] + ":org/repo.git//base" + inject,
		"ssh":       "ssh://git@" + p.address + "/org/repo.git//base" + inject,
		"github":    "github.com/org/repo//base?ref=--upload-pack=x",
		"absolute":  repo,
		"metadata":  "http://169.254.169.254/latest/meta-data",
		"outside":   "../../../../../../../../../../../etc",
		"oci":       "oci://" + p.address + "/charts",
		"userinfo":  "https://user:hunter2@" + p.address + "/x.yaml",
		"backslash": "http:\\\\\\\\" + p.address + "\\\\x.yaml",
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// hostile writes a repository with a component for every field, spelling and wanted
// form of address, each at the top and below a base, and an Application whose own
// kustomization has them. It returns the components, and whether they are bad.
func (p *trap) hostile(t *testing.T, dir string, wanted func(form string) bool) (components map[string]bool) {
	t.Helper()
	components = map[string]bool{}
	repo := filepath.Join(dir, "..", "other")
	write(t, dir, "charts/local/Chart.yaml", "{apiVersion: v2, name: local, version: 1.0.0}\n")
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"
	for field, pattern := range fieldsThatLoad {
		for form, address := range p.addresses(repo) {
			if !wanted(form) {
				continue
			}
			for i, text := range spelled(fmt.Sprintf(pattern, address)) {
				if i > 0 && form != "http" && form != "FILE" {
					continue // the spelling of the field decides what is looked at, not the address
				}
				name := strings.ToLower(fmt.Sprintf("%s-%s%d-%d", field, form, len(form), i))
				if form == strings.ToUpper(form) {
					name += "-upper"
				}
				folder := "k/" + name
				if !strings.HasPrefix(strings.ToLower(text), "resources") {
					text = "resources: [a.yaml]\n" + text
				}
				write(t, dir, folder+"/a.yaml", object)
				write(t, dir, folder+"/kustomization.yaml", text+"\n")
				write(t, dir, "apps/"+name+".yaml", application(name, folder))
				components[name] = field != "inlineConfigMapEnv" // kustomize does not look at it
				if form != "http" && form != "FILE" && form != "httpGit" {
					continue
				}
				write(t, dir, "nested/"+name+"/kustomization.yaml", "resources: [../../"+folder+"]\n")
				write(t, dir, "apps/nested-"+name+".yaml", application("nested-"+name, "nested/"+name))
				components["nested-"+name] = components[name]
				// A kustomization of Applications that has them.
				write(t, dir, "roots/"+name+"/app.yaml", application("root-"+name, "good"))
				write(t, dir, "roots/"+name+"/kustomization.yaml", strings.ReplaceAll(text, "a.yaml", "app.yaml")+"\n")
			}
		}
	}
	write(t, dir, "good/a.yaml", object)
	write(t, dir, "apps/good.yaml", application("good", "good"))
	return components
}

func application(name, path string) string {
	return fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://example.com/own.git", path: %s, targetRevision: HEAD}
  destination: {server: "https://kubernetes.default.svc", namespace: x}
`, name, path)
}

// TestNothingIsReachedOffline runs commands over repositories that name what is
// outside of them in every way that kustomize has. Programs on the path, and a server,
// must not be reached, and every bad component is told of beside the good one.
func TestNothingIsReachedOffline(t *testing.T) {
	p := newTrap(t)
	top := t.TempDir()
	other := filepath.Join(top, "other")
	write(t, other, "base/kustomization.yaml", "resources: [a.yaml]\n")
	write(t, other, "base/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "x"}} {
		command := exec.Command("git", append([]string{"-C", other}, args...)...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v %s", args, err, out)
		}
	}
	few, all := filepath.Join(top, "few"), filepath.Join(top, "all")
	told := p.hostile(t, few, func(form string) bool { return form == "http" || form == "FILE" })
	t.Setenv("PATH", p.bin)
	t.Setenv("XDG_CACHE_HOME", filepath.Join(top, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(top, "state"))
	p.judged(t, few, told)
	for _, args := range [][]string{
		{"lint", few, "-e", "all", "--offline", "--fail-on", "none"}, // the kustomizations of Applications
		{"plan", few, "--offline"},
		{"inventory", few},
		{"render", "good", few, "--offline"},
		{"diff", "env:default", "env:default", few, "--offline"},
		{"import", "argocd", few, "--offline", "--out", filepath.Join(top, "out")},
	} {
		p.run(t, args)
	}
	if !testing.Short() {
		p.judged(t, all, p.hostile(t, all, func(string) bool { return true }))
	}
}

// judged lints a repository and wants every bad component among what was not
// rendered, and not the good one.
func (p *trap) judged(t *testing.T, dir string, told map[string]bool) {
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
func (p *trap) run(t *testing.T, args []string) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	code := Main("ladder", append(args, "--progress", "none"), "test", &stream.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: os.Getenv})
	t.Logf("%s: exit code %d, %d bytes; %.300s", args[0], code, out.Len(), errs.String())
	if text, err := os.ReadFile(p.marker); err == nil {
		t.Fatalf("%v runs programs:\n%.2000s", args, text)
	}
	if n := p.reached.Load(); n > 0 {
		t.Fatalf("%v reaches the server %d times", args, n)
	}
	for _, line := range strings.Split(out.String()+errs.String(), "\n") {
		if strings.Contains(line, "hunter2") || strings.Contains(line, "goroutine ") {
			t.Errorf("%v shows a password or a stack trace: %.300s", args, line)
		}
	}
	return out.Bytes()
}
