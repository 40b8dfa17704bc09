package argocd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

func tree(t testing.TB, content map[string]string) *repofs.Tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range content {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &repofs.Tree{Root: dir, Repository: dir}
}

func application(name, source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + "}\nspec: {source: {repoURL: https://example.org/r, path: " + source + "}}\n"
}

// clusters is a set that makes an Application for each of several clusters.
func clusters(names ...string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\nspec:\n  generators: [{list: {elements: [{cluster: " +
		strings.Join(names, "}, {cluster: ") + "}]}}]\n  template:\n    metadata: {name: 'x-{{cluster}}'}\n" +
		"    spec: {source: {repoURL: https://example.org/r, path: x}, destination: {name: '{{cluster}}'}}\n"
}

func names(t *testing.T, content map[string]string) []string {
	t.Helper()
	r, err := argocd.Scan(context.Background(), tree(t, content), argocd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.Environments(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Name)
	}
	return got
}

func TestEnvironments(t *testing.T) {
	tests := map[string]struct {
		content map[string]string
		want    []string
	}{
		"nothing": {map[string]string{"a.yaml": "kind: ConfigMap\n"}, nil},
		"roots with different children are parts of one platform": {map[string]string{
			"roots/infra.yaml": application("infra", "infra"), "infra/a.yaml": application("a", "x"),
			"roots/apps.yaml": application("apps", "apps"), "apps/b.yaml": application("b", "x"),
			"x/a.yaml": "kind: ConfigMap\n",
		}, []string{"default"}},
		"roots with the same children are alternatives": {map[string]string{
			"roots/dev.yaml": application("root-dev", "clusters/dev"), "clusters/dev/a.yaml": application("a", "x"),
			"roots/prod.yaml": application("root-prod", "clusters/prod"), "clusters/prod/a.yaml": application("a", "x"),
			"x/a.yaml": "kind: ConfigMap\n",
		}, []string{"dev", "prod"}},
		"alternatives in folders of one name take the names of the roots": {map[string]string{
			"roots/dev.yaml": application("root-dev", "dev/apps"), "dev/apps/a.yaml": application("a", "x"),
			"roots/prod.yaml": application("root-prod", "prod/apps"), "prod/apps/a.yaml": application("a", "x"),
			"x/a.yaml": "kind: ConfigMap\n",
		}, []string{"root-dev", "root-prod"}},
		"overlays without a root": {map[string]string{
			"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": application("a", "x"),
			"overlays/dev/kustomization.yaml":  "resources: [../../base]\n",
			"overlays/prod/kustomization.yaml": "resources: [../../base]\n",
		}, []string{"dev", "prod"}},
		"sets for two clusters in overlays of one name keep the names of the clusters": {map[string]string{
			"east/dev/kustomization.yaml": "resources: [set.yaml]\n", "east/dev/set.yaml": clusters("a", "b"),
			"west/dev/kustomization.yaml": "resources: [set.yaml]\n", "west/dev/set.yaml": clusters("a", "b"),
			"x/a.yaml": "kind: ConfigMap\n",
		}, []string{"east-dev-a", "east-dev-b", "west-dev-a", "west-dev-b"}},
		"Applications alone": {map[string]string{"a.yaml": application("a", "x"), "b.yaml": application("b", "x")}, []string{"default"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, names(t, tt.content)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCircleOfApplications(t *testing.T) {
	r, err := argocd.Scan(context.Background(), tree(t, map[string]string{
		"one/a.yaml": application("a", "two"), "two/b.yaml": application("b", "three"), "three/c.yaml": application("c", "one"),
		"two/d.yaml": application("d", "leaf"), "leaf/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n",
	}), argocd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read, err := r.Read(context.Background(), argocd.Environment{Name: "main", Overlay: "one"})
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range read.Findings {
		told = append(told, fmt.Sprintf("%s %s %s %s", f.Severity, f.Rule, f.Position, strings.SplitN(f.Message, ";", 2)[0]))
	}
	if diff := cmp.Diff([]string{"warning cycle one/a.yaml:1 the app-of-apps contains itself: a -> b -> c -> a"}, told); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if len(read.Components) != 1 || read.Components[0].Name != "d" {
		t.Errorf("what lies below the circle is not read: %v", read.Components)
	}
}

func TestDepthIsBounded(t *testing.T) {
	content := map[string]string{"leaf/a.yaml": "kind: ConfigMap\n"}
	for i := range argocd.MaxDepth + 2 {
		from, to := string(rune('a'+i)), string(rune('a'+i+1))
		content[from+"/app.yaml"] = application(from, to)
	}
	content[string(rune('a'+argocd.MaxDepth+2))+"/app.yaml"] = application("last", "leaf")
	r, err := argocd.Scan(context.Background(), tree(t, content), argocd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Read(context.Background(), argocd.Environment{Name: "main", Overlay: "a"})
	if err == nil || !strings.Contains(err.Error(), "nested more than 10 levels deep") {
		t.Errorf("got %v", err)
	}
}

func FuzzApplications(f *testing.F) {
	f.Add(application("a", "apps"), "resources: [a.yaml]\n")
	f.Add(application("a", "."), "resources: [.., ../apps, a.yaml]\n")
	f.Add("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: [a]\nspec: {sources: [1, {}, {path: {}}], syncPolicy: 3, destination: []}\n", "a: [")
	f.Add("kind: List\napiVersion: argoproj.io/\nitems: [{kind: Application, metadata: {name: x, annotations: [1]}, spec: {source: {helm: []}}}]\n", "patches: [{path: https://x}]\n")
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "apps"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, app, kustomization string) {
		for name, text := range map[string]string{"apps/a.yaml": app, "apps/kustomization.yaml": kustomization} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		told := func(err error) {
			for _, e := range repofs.InputErrors(err) {
				if e.Message == "" || e.Position.File == "" {
					t.Fatalf("an error without a place: %#v", e)
				}
			}
			if len(repofs.InputErrors(err)) == 0 {
				t.Fatalf("not an InputError: %v", err)
			}
		}
		r, err := argocd.Scan(context.Background(), &repofs.Tree{Root: dir, Repository: dir}, argocd.Options{})
		if err != nil {
			told(err)
			return
		}
		all, err := r.Environments(context.Background())
		if err != nil {
			told(err)
			return
		}
		for _, e := range all {
			read, err := r.Read(context.Background(), e)
			if err != nil {
				told(err)
			}
			for _, c := range read.Components {
				if c.Name == "" || c.Position.Line < 1 {
					t.Fatalf("accepted %+v", c)
				}
			}
			for _, found := range read.Findings {
				if found.Position.File == "" || found.Message == "" {
					t.Fatalf("a finding without a place: %#v", found)
				}
			}
		}
	})
}

// TestManyValues: what stays in memory is bounded for all files together.
func TestManyValues(t *testing.T) {
	defer argocd.LimitValues(50)()
	content := map[string]string{}
	for i := range 8 {
		content[fmt.Sprintf("apps/%d.yaml", i)] = application(fmt.Sprintf("a%d", i), "x") + "other: [a, a, a, a]\n"
	}
	_, err := argocd.Scan(t.Context(), tree(t, content), argocd.Options{})
	if problems := repofs.InputErrors(err); len(problems) != 1 || !strings.Contains(problems[0].Message, "more than 50 values") {
		t.Errorf("%v", err)
	}
}
