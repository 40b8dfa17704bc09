package importer_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/confine/confinetest"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// TestMain runs fewer cases of properties than the library would: each writes and
// reads a repository. -rapid.checks asks for more.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(confinetest.Main(m))
}

// unpack writes a txtar archive into a folder that is a Git repository.
func unpack(t testing.TB, archive string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(t, filepath.Join(dir, filepath.FromSlash(f.Name)), string(f.Data))
	}
	return dir
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fataler is what tests and properties have in common.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// importHelmfile imports the state files at a path of a repository into a folder of it.
func importHelmfile(t fataler, dir, path, out string, groups bool) *importer.Result {
	t.Helper()
	tree, err := repofs.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	tree = &repofs.Tree{Root: tree.Repository, Repository: tree.Repository}
	target, err := importer.NewTarget(filepath.Join(dir, out))
	if err != nil {
		t.Fatal(err)
	}
	p, err := importer.FromHelmfile(context.Background(), tree, importer.HelmfileOptions{Options: helmfile.Options{Path: path}, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	result, err := importer.Finish(context.Background(), p, target, importer.FinishOptions{Groups: groups})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// phasesOf are the places of the components of an environment, as they are read.
func phasesOf(t fataler, dir, environment string) map[string]string {
	t.Helper()
	p, err := repo.Open(context.Background(), dir, repo.Options{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, c := range p.Components {
		out[c.Name] = c.Order()
	}
	return out
}

func seed(t *testing.T) string {
	t.Helper()
	dir := unpack(t, "")
	for _, from := range []string{"helmfiles", "helmfile-environments.yaml"} {
		if err := os.CopyFS(filepath.Join(dir, "x"), os.DirFS("testdata")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "x", from), filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "x")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestSeedByRoles imports the state files of a platform that was moved by hand to a
// single ladder: by roles the import gives the ladder that people chose, but for the
// differences that are listed with their reasons.
func TestSeedByRoles(t *testing.T) {
	dir := seed(t)
	importHelmfile(t, dir, "helmfiles", "platform", false)
	chosen := map[string]string{
		"namespaces": "010", "cert-manager": "120", "external-secrets": "120", "managed-storage": "140", "coredns-config": "140",
		"vault-core": "150", "vault-bootstrap": "155", "vault-secret-store": "155", "bootstrap-smoke": "199", "operators-smoke": "199",
		"crds-redis": "210", "cloudnative-pg": "220", "redis-operator": "220", "clickhouse-operator": "220", "strimzi-operator": "220",
		"clickhouse": "250", "kafka-cluster": "250", "redis-failover": "250", "minio": "250", "postgres-clusters": "250", "db-migrations": "260", "data-plane-smoke": "299",
		"crds-gateway": "310", "envoy-gateway": "320", "keycloak-operator": "320", "cert-manager-config": "330", "gateway": "340",
		"keycloak": "350", "keycloak-realm": "355", "control-plane-smoke": "399", "auth-smoke": "399", "secrets-smoke": "399",
		"temporal": "450", "pgadmin": "450", "temporal-namespace-bootstrap": "455", "data-plane-ext-smoke": "499",
		"crds-prometheus": "510", "vault-secrets-observability": "530", "grafana-datasources": "540",
		"grafana": "550", "loki": "550", "tempo": "550", "otel-collector": "550", "alloy-logs": "550", "langfuse": "550", "prometheus": "550",
		"langfuse-bootstrap": "550", "observability-smoke": "599",
		"platform": "650", "graph": "650", "transformation": "650", "threads": "650", "workflows": "650", "agents": "650", "inference": "650",
		"www-ameide": "650", "www-ameide-platform": "650", "platform-smoke": "699",
		"argocd": "", "neo4j": "",
	}
	differences := map[string][2]string{ // chosen by people, imported
		"vault-secret-store":  {"155", "156"}, // it needs vault-bootstrap, which stands at 155
		"db-migrations":       {"260", "255"}, // both are slots of bootstraps after the runtimes
		"cert-manager-config": {"330", "340"}, // its name says config; that it holds issuers is in the chart
		"envoy-gateway":       {"320", "341"}, // it needs cert-manager-config
		"gateway":             {"340", "350"}, // nothing says that it is a config
		"secrets-smoke":       {"399", "199"}, // it stands in the file of the foundation's secrets
		"grafana":             {"550", "551"}, // it needs loki, tempo and prometheus
		"alloy-logs":          {"550", "551"}, // it needs loki
		"langfuse-bootstrap":  {"550", "555"}, // it is a bootstrap
		"threads":             {"650", "651"}, // it needs graph
		"www-ameide":          {"650", "651"}, // it needs platform
		"www-ameide-platform": {"650", "651"}, // it needs platform
		"argocd":              {"", "150"},    // Argo CD was bootstrapped; it is not installed
		"neo4j":               {"", "250"},    // it was parked
	}
	got := map[string][2]string{}
	imported := phasesOf(t, filepath.Join(dir, "platform"), "dev")
	for name, phase := range imported {
		if want, ok := chosen[name]; !ok || want != phase {
			got[name] = [2]string{want, phase}
		}
	}
	if diff := cmp.Diff(differences, got); diff != "" {
		t.Error(diff)
	}
	if len(imported) != len(chosen) {
		t.Errorf("%d components, not %d", len(imported), len(chosen))
	}
}

// TestSeedByFiles keeps the order of the numbers.
func TestSeedByFiles(t *testing.T) {
	dir := seed(t)
	result := importHelmfile(t, dir, "helmfiles", "platform", true)
	last := model.NoPhase
	group := map[int][]*importer.Component{}
	for _, c := range result.Platform.Components {
		group[c.Group] = append(group[c.Group], c)
	}
	for i, g := range result.Platform.Groups {
		most := last
		for _, c := range group[i] {
			if c.Phase <= last {
				t.Errorf("%s of %s stands at %s, before the end of the file before (%s)", c.Name, g.Name, c.Phase, last)
			}
			most = max(most, c.Phase)
		}
		last = most
	}
	if c := result.Platform.Components[slices.IndexFunc(result.Platform.Components, func(c *importer.Component) bool { return c.Name == "gateway" })]; c.Phase/10 < 22 || c.Phase/10 > 23 {
		t.Errorf("gateway of 22-control-plane stands at %s", c.Phase)
	}
	lintsClean(t, filepath.Join(dir, "platform"))
}

// lintsClean fails for findings beyond notes.
func lintsClean(t *testing.T, dir string) {
	t.Helper()
	all, err := analysis.LoadAll(context.Background(), dir, analysis.Options{Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		for _, f := range lint.Run(one.Lint(), lint.Options{}) {
			if f.Severity != finding.Info {
				t.Errorf("%s: %s [%s]", f.Position, f.Message, f.Rule)
			}
		}
	}
}

// TestNoNeedIsLost: whatever the releases, every needs between two releases of an
// environment is a requirement of the descriptor, and the consumer stands in a later
// phase, in both orders.
func TestNoNeedIsLost(t *testing.T) {
	words := []string{"api", "redis-operator", "crds", "smoke", "namespaces", "bootstrap", "secrets", "grafana", "config", "keycloak", "db"}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 25).Draw(t, "releases")
		numbers := rapid.IntRange(1, 6).Draw(t, "files")
		type release struct {
			name, namespace string
			file            int
			needs           []int
		}
		all := make([]release, n)
		for i := range all {
			all[i] = release{
				name:      fmt.Sprintf("%s-%d", rapid.SampledFrom(words).Draw(t, "word"), i),
				namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"),
				file:      rapid.IntRange(0, numbers-1).Draw(t, "file"),
			}
		}
		// A release needs those before it in the order of the files, so that there is
		// no circle and no contradiction.
		slices.SortStableFunc(all, func(a, b release) int { return a.file - b.file })
		texts := make([]string, numbers)
		for i := range all {
			r := &all[i]
			text := fmt.Sprintf("  - name: %s\n    namespace: %s\n    chart: oci://charts.example/%s\n    version: 1.0.0\n", r.name, r.namespace, r.name)
			for j := range i {
				if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					r.needs = append(r.needs, j)
				}
			}
			if len(r.needs) > 0 {
				text += "    needs:\n"
				for _, j := range r.needs {
					if all[j].namespace == r.namespace && rapid.Bool().Draw(t, "short") {
						text += "      - " + all[j].name + "\n"
					} else {
						text += "      - " + all[j].namespace + "/" + all[j].name + "\n"
					}
				}
			}
			texts[r.file] += text
		}
		groups := rapid.Bool().Draw(t, "groups")
		dir, err := os.MkdirTemp("", "needs-*")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		for i, text := range texts {
			file := filepath.Join(dir, "helmfile.d", fmt.Sprintf("%d0-file.yaml", i+1))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("releases:\n"+text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		importHelmfile(t, dir, ".", "platform", groups)
		p, err := repo.Open(context.Background(), filepath.Join(dir, "platform"), repo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		read := map[string]model.Component{}
		for _, c := range p.Components {
			read[c.Name] = c
		}
		for _, r := range all {
			for _, j := range r.needs {
				from, to := read[r.name], read[all[j].name]
				if !slices.ContainsFunc(from.Requires, func(q model.Requirement) bool { return q.Text == to.Name }) {
					t.Fatalf("%s does not require %s", from.Name, to.Name)
				}
				if from.Phase <= to.Phase {
					t.Fatalf("%s (%s) does not come after %s (%s)", from.Name, from.Phase, to.Name, to.Phase)
				}
			}
		}
	})
}

// TestSmokesCloseNoCircle: each of two smokes leads to the component that the other
// would be given to validate. Only one of them gets it.
func TestSmokesCloseNoCircle(t *testing.T) {
	dir := unpack(t, `
-- helmfile.yaml --
releases:
  - {name: first-smoke, namespace: a, chart: ./charts/any}
  - {name: api, namespace: a, chart: ./charts/any, needs: [first-smoke]}
  - {name: second-smoke, namespace: a, chart: ./charts/any}
  - {name: web, namespace: a, chart: ./charts/any, needs: [second-smoke]}
-- charts/any/Chart.yaml --
apiVersion: v2
name: any
version: 1.0.0
-- charts/any/templates/job.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: test, image: "busybox:1.36"}]}}}
`)
	importHelmfile(t, dir, ".", "platform", true)
	p, err := repo.Open(context.Background(), filepath.Join(dir, "platform"), repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := map[string][]string{} // what each has to come after
	for _, c := range p.Components {
		for _, r := range slices.Concat(c.Requires, c.Validates) {
			before[c.Name] = append(before[c.Name], r.Text)
		}
	}
	var path []string
	var visit func(name string)
	visit = func(name string) {
		if slices.Contains(path, name) {
			t.Fatalf("a circle: %v", append(path, name))
		}
		path = append(path, name)
		for _, other := range before[name] {
			visit(other)
		}
		path = path[:len(path)-1]
	}
	for name := range before {
		visit(name)
	}
	if !slices.Contains(before["first-smoke"], "web") {
		t.Errorf("first-smoke validates %v, not web", before["first-smoke"])
	}
	lintsClean(t, filepath.Join(dir, "platform"))
}

func TestLayersOfValues(t *testing.T) {
	dir := unpack(t, `
-- helmfile.yaml.gotmpl --
environments:
  dev: {values: [{n: 1}]}
  prod: {values: [{n: 2}]}
---
releases:
  - name: web
    namespace: apps
    chart: ./charts/web
    values:
      - values/common.yaml
      - same: true
      - own.yaml.gotmpl
      - values/last.yaml
      - replicas: {{ .Values.n }}
    set: [{name: image.tag, value: v1}, {name: list, values: [a, b]}]
    setString: [{name: port, value: "8080"}]
-- values/common.yaml --
# kept as it is
a: 1
-- values/last.yaml --
b: 2
-- own.yaml.gotmpl --
env: {{ .Environment.Name | quote }}
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 0.1.0
-- charts/web/templates/config.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  values: {{ .Values | toJson | quote }}
`)
	importHelmfile(t, dir, "helmfile.yaml.gotmpl", "platform", false)
	for env, want := range map[string]string{
		"dev":  `{"a":1,"b":2,"env":"dev","image":{"tag":"v1"},"list":["a","b"],"port":"8080","replicas":1,"same":true}`,
		"prod": `{"a":1,"b":2,"env":"prod","image":{"tag":"v1"},"list":["a","b"],"port":"8080","replicas":2,"same":true}`,
	} {
		_, objects, err := analysis.One(context.Background(), filepath.Join(dir, "platform"), "web", analysis.Options{Environment: env, Offline: true, NoCache: true})
		if err != nil || len(objects) != 1 {
			t.Fatalf("%d objects, %v", len(objects), err)
		}
		got := objects[0].Object["data"].(map[string]any)["values"].(string)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", env, diff)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "platform/sources/values/files/values/common.yaml"))
	if err != nil || !strings.Contains(string(data), "# kept as it is") {
		t.Errorf("the file of values is %q, %v", data, err)
	}
}
