package importer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// importArgoCD imports a repository into its folder platform.
func importArgoCD(t fataler, dir string) *importer.Result {
	t.Helper()
	target, err := importer.NewTarget(filepath.Join(dir, "platform"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := importer.FromArgoCD(context.Background(), importer.ArgoCDOptions{Path: dir, Target: target, Load: analysis.Options{Offline: true, NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := importer.Finish(context.Background(), p, target, importer.FinishOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// steps are the members of the steps of an environment, in order, as they are
// planned; and the order itself.
func steps(t fataler, dir, environment string) (members [][]string, order []string) {
	t.Helper()
	read, err := analysis.Open(context.Background(), dir, analysis.Options{Environment: environment, Offline: true, NoCache: true})
	if err != nil {
		t.Fatal(err)
	}
	made, err := plan.Build(plan.Input{Environment: environment, Components: read.Components, Ladder: read.Ladder, Policy: rollout.Phases})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range made.Steps {
		if all := slices.Concat(s.Components, s.Disabled); len(all) > 0 {
			slices.Sort(all)
			members = append(members, all)
		}
	}
	return members, made.Order
}

// TestArgoCDKeepsTheOrder: the plan of what is imported has the steps of the
// repository, with the same members, and the same order.
func TestArgoCDKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "argocd-*")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		put := func(file, text string) {
			file = filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		const source = "source: {repoURL: https://git.example.org/acme/platform.git, targetRevision: main, path: %s}\n  destination: {server: https://kubernetes.default.svc, namespace: x}\n"
		application := func(name, path string, wave int) string {
			return fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: %s\n  annotations: {argocd.argoproj.io/sync-wave: %q}\nspec:\n  project: default\n  "+source, name, fmt.Sprint(wave), path)
		}
		put("root.yaml", application("root", "apps", 0))
		put("x/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: x}\n")
		wave := rapid.IntRange(-3, 5)
		for i := range rapid.IntRange(1, 8).Draw(t, "applications") {
			name := fmt.Sprintf("app-%d", i)
			put("apps/"+name+".yaml", application(name, "x", wave.Draw(t, "wave")))
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "parents") {
			parent := fmt.Sprintf("parent-%d", i)
			put("apps/"+parent+".yaml", application(parent, parent, wave.Draw(t, "wave")))
			for k := range rapid.IntRange(1, 4).Draw(t, "children") {
				name := fmt.Sprintf("%s-child-%d", parent, k)
				put(parent+"/"+name+".yaml", application(name, "x", wave.Draw(t, "wave")))
			}
		}
		importArgoCD(t, dir)
		wantSteps, wantOrder := steps(t, dir, "")
		gotSteps, gotOrder := steps(t, filepath.Join(dir, "platform"), "")
		if diff := cmp.Diff(wantSteps, gotSteps); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(wantOrder, gotOrder); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestArgoCDExample imports the example with sync waves from -3 to 20 and two
// overlays: every step keeps its members, but for sources that were split.
func TestArgoCDExample(t *testing.T) {
	dir := unpack(t, "")
	if err := os.CopyFS(filepath.Join(dir, "z"), os.DirFS("../../examples/zerotouch")); err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "z")
	target, err := importer.NewTarget(filepath.Join(dir, "platform"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := importer.FromArgoCD(context.Background(), importer.ArgoCDOptions{Path: root, Target: target, Load: analysis.Options{Offline: true, NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Finish(context.Background(), p, target, importer.FinishOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, env := range []string{"main", "preview"} {
		want, _ := steps(t, root, env)
		got, _ := steps(t, filepath.Join(dir, "platform"), env)
		for i := range got {
			got[i] = slices.DeleteFunc(got[i], func(name string) bool {
				return strings.HasSuffix(name, "-2") || strings.HasSuffix(name, "-3")
			})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", env, diff)
		}
	}
	// What is rendered is the same: nothing of a source was lost.
	objects := func(dir string) []string {
		loaded, err := analysis.Load(context.Background(), dir, analysis.Options{Environment: "main", Offline: true, NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, list := range loaded.Objects {
			for _, o := range list {
				all = append(all, o.Resource().String())
			}
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if diff := cmp.Diff(objects(root), objects(filepath.Join(dir, "platform"))); diff != "" {
		t.Error(diff)
	}
}

// TestInferredEdges: what the objects show becomes a requirement and moves the
// consumer, unless it closes a circle.
func TestInferredEdges(t *testing.T) {
	dir := unpack(t, `
-- helmfile.yaml --
releases:
  - {name: reader, namespace: x, chart: ./reader}
  - {name: writer, namespace: x, chart: ./writer}
-- reader/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: reader, namespace: x}
spec:
  containers: [{name: a, image: a, envFrom: [{secretRef: {name: made}}]}]
-- writer/secret.yaml --
apiVersion: v1
kind: Secret
metadata: {name: made, namespace: x}
stringData: {a: CANARY}
-- writer/namespace.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: x}
`)
	result := importHelmfile(t, dir, "helmfile.yaml", "platform", false)
	if len(result.Platform.Components) != 2 || result.Platform.Components[0].Phase != result.Platform.Components[1].Phase {
		t.Fatal("nothing but the objects orders them")
	}
	if err := os.RemoveAll(filepath.Join(dir, "platform")); err != nil {
		t.Fatal(err)
	}
	target, err := importer.NewTarget(filepath.Join(dir, "platform"))
	if err != nil {
		t.Fatal(err)
	}
	p := result.Platform
	inferred, err := importer.Finish(context.Background(), p, target, importer.FinishOptions{Infer: true, Load: analysis.Options{Offline: true, NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	read, err := repo.Open(context.Background(), filepath.Join(dir, "platform"), repo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]int{}
	for _, c := range read.Components {
		phases[c.Name] = int(c.Phase)
	}
	if phases["reader"] <= phases["writer"] {
		t.Errorf("reader stands at %d, writer at %d", phases["reader"], phases["writer"])
	}
	for _, n := range inferred.Platform.Notes {
		if strings.Contains(n.Message, "CANARY") {
			t.Error("a secret is shown")
		}
	}
}
