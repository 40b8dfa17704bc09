package flux_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo/flux"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func repository(t testing.TB, archive string) *repofs.Tree {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := repofs.Discover(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func load(tree *repofs.Tree) (*flux.Result, error) {
	renderer := render.New(tree.Root, tree.Repository, render.Options{Offline: true, NoCache: true})
	return flux.Load(context.Background(), tree, flux.Options{Path: ".", Import: true, Renderer: renderer, Set: evaluate.ResourceSet, Objects: func(ctx context.Context, file string, data []byte) ([]manifest.Object, error) {
		return evaluate.Objects(ctx, file, data, time.Minute)
	}})
}

// summary prints Kustomizations and releases on one line each.
func summary(r *flux.Result) []string {
	var out []string
	for _, c := range r.Clusters {
		for _, k := range c.Kustomizations {
			line := fmt.Sprintf("%s: kustomization %s at %s", c.Name, k.Name, k.Path)
			for _, d := range k.DependsOn {
				line += " after " + d.Namespace + "/" + d.Name
			}
			for _, o := range k.Objects {
				line += " " + o.GetKind() + "/" + o.GetName()
			}
			out = append(out, line)
		}
		for _, rel := range c.Releases {
			line := fmt.Sprintf("%s: release %s/%s chart %s%s %s %s", c.Name, rel.Namespace, rel.Name, rel.Path, rel.Repository, rel.Chart, rel.Version)
			for _, d := range rel.DependsOn {
				line += " after " + d.Namespace + "/" + d.Name
			}
			for _, v := range rel.Values {
				line += fmt.Sprint(" ", v)
			}
			out = append(out, line)
		}
	}
	return out
}

func problems(r *flux.Result) []string {
	var out []string
	for _, p := range r.Problems {
		out = append(out, fmt.Sprintf("%s [%s] %s: %s", p.Position, p.Kind, p.Name, p.Message))
	}
	return out
}

const sync = `
-- clusters/dev/sync.yaml --
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/dev, sourceRef: {kind: GitRepository, name: flux-system}}
`

func kustomization(name, path, more string) string {
	return "-- clusters/dev/" + name + ".yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec:\n  path: " + path + "\n  sourceRef: {kind: GitRepository, name: flux-system}\n" + more
}

func config(file, name string) string {
	return "-- " + file + " --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: x}\ndata: {v: \"${V}\"}\n"
}

func TestLoad(t *testing.T) {
	root := "dev: kustomization flux-system at clusters/dev"
	tests := map[string]struct {
		archive  string
		want     []string
		problems []string
	}{
		"nested Kustomizations, dependencies across namespaces": {
			sync + kustomization("a", "./apps", "  dependsOn: [{name: b}, {name: c, namespace: other}]\n") + kustomization("b", "b", "") +
				"-- apps/x/ks.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1beta2\nkind: Kustomization\nmetadata: {name: x, namespace: apps}\nspec: {path: ./x, sourceRef: {kind: GitRepository, name: flux-system}}\n" +
				config("x/c.yaml", "x") + config("b/c.yaml", "b"),
			[]string{
				root,
				"dev: kustomization a at apps after flux-system/b after other/c",
				"dev: kustomization b at b ConfigMap/b",
				"dev: kustomization x at x ConfigMap/x",
			}, nil,
		},
		"patches of a Kustomization count": {
			sync + kustomization("a", "./a", "  patches:\n    - patch: |\n        - {op: replace, path: /spec/chart/spec/version, value: 2.0.0}\n      target: {kind: HelmRelease}\n") +
				"-- a/kustomization.yaml --\nresources: [r.yaml]\n-- a/r.yaml --\n" +
				"apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h, namespace: x}\nspec: {url: https://h.example}\n---\n" +
				"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: x}\nspec: {chart: {spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: h}}}, dependsOn: [{name: q, namespace: y}]}\n",
			[]string{root, "dev: kustomization a at a", "dev: release x/r chart https://h.example c 2.0.0 after y/q"}, nil,
		},
		"variables: written ones are filled in, others are told": {
			sync + kustomization("a", "./a", "  postBuild: {substitute: {V: one}}\n") + kustomization("b", "./b", "  postBuild: {substitute: {W: x}, substituteFrom: [{kind: ConfigMap, name: vars}]}\n") +
				config("a/c.yaml", "a") + config("b/c.yaml", "b"),
			[]string{root, "dev: kustomization a at a ConfigMap/a", "dev: kustomization b at b ConfigMap/b"},
			[]string{
				"clusters/dev/b.yaml:1 [substitution] b: variables of the ConfigMap vars are not filled in",
				"b/c.yaml:1 [substitution] b: the variable V in ConfigMap b is not known",
			},
		},
		"sources elsewhere keep their place": {
			sync + strings.ReplaceAll(kustomization("a", "./a", ""), "kind: GitRepository, name: flux-system", "kind: OCIRepository, name: far"),
			[]string{root, "dev: kustomization a at "},
			[]string{"clusters/dev/a.yaml:1 [source] a: what it applies is in the OCIRepository far, not in this repository"},
		},
		"artifacts copied out of what is synced, which is a folder of the repository": {
			"-- kubernetes/clusters/dev/ks.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: flux-system}\n" +
				"spec: {path: ./clusters/dev, sourceRef: {kind: OCIRepository, name: flux-system}}\n" +
				"-- kubernetes/clusters/dev/artifacts.yaml --\napiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: flux-system}\nspec:\n" +
				"  sources: [{alias: repo, kind: OCIRepository, name: flux-system}, {alias: far, kind: OCIRepository, name: far}]\n" +
				"  artifacts:\n    - {name: a, copy: [{from: \"@repo/apps/a/\", to: \"@artifact/apps/a/\"}]}\n    - {name: b, copy: [{from: \"@far/apps/a/\", to: \"@artifact/\"}]}\n" +
				"-- kubernetes/clusters/dev/apps.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\n" +
				"spec: {path: ./apps/a, sourceRef: {kind: ExternalArtifact, name: a}}\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: b, namespace: flux-system}\n" +
				"spec: {path: ./, sourceRef: {kind: ExternalArtifact, name: b}}\n" +
				config("kubernetes/apps/a/c.yaml", "a"),
			[]string{"dev: kustomization flux-system at kubernetes/clusters/dev", "dev: kustomization a at kubernetes/apps/a ConfigMap/a", "dev: kustomization b at "},
			[]string{"kubernetes/clusters/dev/apps.yaml:6 [source] b: what it applies is in the ExternalArtifact b, not in this repository"},
		},
		"values of ConfigMaps are read, those of Secrets listed": {
			sync + kustomization("a", "./a", "") +
				"-- a/r.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata: {name: r, namespace: x}\nspec:\n  chart: {spec: {chart: ./charts/c, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n  valuesFrom: [{kind: ConfigMap, name: v}, {kind: Secret, name: s}, {kind: ConfigMap, name: none}]\n  values: {b: 2}\n" +
				"-- a/v.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: x}\ndata: {values.yaml: \"a: 1\"}\n-- charts/c/Chart.yaml --\nname: c\n",
			[]string{root, "dev: kustomization a at a ConfigMap/v", "dev: release x/r chart charts/c   map[a:1] map[b:2]"},
			[]string{
				"a/r.yaml:1 [secret] r: values of the Secret s are not carried over",
				"a/r.yaml:1 [values] r: values of the ConfigMap none are not carried over: it is not in the repository",
			},
		},
		"a HelmRepository that the cluster does not apply": {
			sync + kustomization("a", "./a", "") +
				"-- a/r.yaml --\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r, namespace: x}\nspec: {chart: {spec: {chart: c, version: 1.0.0, sourceRef: {kind: HelmRepository, name: h, namespace: flux-system}}}}\n" +
				"-- sources/h.yaml --\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h, namespace: flux-system}\nspec: {url: https://h.example}\n",
			[]string{root, "dev: kustomization a at a", "dev: release x/r chart   "},
			[]string{"a/r.yaml:1 [source] r: its HelmRepository flux-system/h is not applied in this cluster; sources/h.yaml:1 has one of that name, which nothing here applies"},
		},
		"a kustomization that cannot be built is read without its patches": {
			sync + kustomization("a", "./a", "") + "-- a/kustomization.yaml --\nresources: [c.yaml]\npatches: [{path: none.yaml}]\n" + config("a/c.yaml", "c"),
			[]string{root, "dev: kustomization a at a ConfigMap/c"}, []string{"a [build] a: "},
		},
		"what cannot be built is read in the namespaces that its kustomizations set": {
			sync + kustomization("a", "./a", "") + "-- a/kustomization.yaml --\nresources: [b]\npatches: [{path: none.yaml}]\n" +
				"-- a/b/kustomization.yaml --\nnamespace: other\nresources: [release.yaml]\n-- a/b/release.yaml --\n" +
				"apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts}\nspec: {url: https://charts.example.org}\n---\n" +
				"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\n" +
				"spec: {interval: 1h, chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: charts, namespace: other}}}}\n",
			[]string{root, "dev: kustomization a at a", "dev: release other/web chart https://charts.example.org web 1.0.0"}, []string{"a [build] a: "},
		},
		"what is put away is no cluster": {
			kustomization("a", "./a", "") + config("a/c.yaml", "a") + strings.ReplaceAll(kustomization("a", "./a", ""), "clusters/dev", "deferred/prod"),
			[]string{"dev: kustomization a at a ConfigMap/a"}, nil,
		},
		"clusters without a sync are the folders that nothing applies": {
			kustomization("a", "./a", "") + config("a/c.yaml", "a") + strings.ReplaceAll(kustomization("a", "./a", ""), "clusters/dev", "clusters/prod"),
			[]string{"dev: kustomization a at a ConfigMap/a", "prod: kustomization a at a ConfigMap/a"}, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := load(repository(t, test.archive))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, summary(r)); diff != "" {
				t.Error(diff)
			}
			got := problems(r)
			for i, want := range test.problems {
				if i < len(got) && strings.HasSuffix(want, ": ") && strings.HasPrefix(got[i], want) {
					got[i] = want // the words are those of kustomize
				}
			}
			if diff := cmp.Diff(test.problems, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	_, err := load(repository(t, "-- a.yaml --\nkind: ConfigMap\n"))
	var input *repofs.InputError
	if !errors.As(err, &input) || !strings.Contains(input.Message, "holds no Kustomization") {
		t.Errorf("got %v", err)
	}
}

// FuzzLoad: whatever the files, reading ends without a panic.
func FuzzLoad(f *testing.F) {
	f.Add("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./, dependsOn: [{name: a}], postBuild: {substitute: {A: ${A}}}}\n", "a: ${A}\n")
	f.Add("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: 1}\nspec: {path: ../.., sourceRef: 5, dependsOn: {}}\n", "kind: HelmRelease\n")
	f.Add("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: a}\nspec: {chart: 1, values: [x], valuesFrom: [1, {kind: ConfigMap}]}\n", "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nspec: {artifacts: [{copy: [1]}]}\n")
	f.Add("apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nspec: {sync: {path: clusters}}\n", "x: [&a [*a]]")
	f.Fuzz(func(t *testing.T, one, two string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"one.yaml": one, "clusters/two.yaml": two} {
			p := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		tree, err := repofs.Discover(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := load(tree); err != nil && len(repofs.InputErrors(err)) == 0 {
			t.Fatalf("an error that is not about the input: %v", err)
		}
	})
}

// TestHostile: manifests that expand to more than the machine holds cost their file,
// and variables that do are not filled in.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up")
	}
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		bomb += fmt.Sprintf("a%d:\u2028&a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i, i, i, i, i, i, i, i)
	}
	long := strings.Repeat("x", 1<<20)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good, namespace: x}\n"
	for name, test := range map[string]struct{ archive, want string }{
		"aliases": {"-- apps/bomb.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\n" + bomb, "apps/bomb.yaml [invalid] apps: "},
		"aliases of a long text": {
			"-- apps/bomb.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb}\na: &a " + long + "\nb: [" + strings.Repeat("*a, ", 2000) + "]\n",
			"apps/bomb.yaml [invalid] apps: ",
		},
		"variables": {
			"-- apps/bomb.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: large}\ndata: {a: '" + strings.Repeat("${LONG}", 100_000) + "'}\n",
			"apps [build] apps: the folder apps cannot be built ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := load(repository(t, "-- clusters/main/apps.yaml --\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"+
				"spec: {path: ./apps, sourceRef: {kind: GitRepository, name: flux-system}, postBuild: {substitute: {LONG: "+long+"}}}\n-- apps/a.yaml --\n"+config+test.archive))
			if err != nil {
				t.Fatal(err)
			}
			if told := strings.Join(problems(r), "\n"); !strings.Contains(told, test.want) || strings.Contains(told, "goroutine") {
				t.Errorf("%q is not told: %.2000s", test.want, told)
			}
			if got := strings.Join(summary(r), "\n"); !strings.Contains(got, "ConfigMap/good") {
				t.Errorf("the good file is not read: %.2000s", got)
			}
		})
	}
}
