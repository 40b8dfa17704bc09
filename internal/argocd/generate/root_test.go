package generate_test

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
)

// head is what is known of every object.
type head struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   generate.Metadata `json:"metadata"`
}

// documents reads the objects of one file.
func documents[T any](t *testing.T, r *generate.Result, file string) []T {
	t.Helper()
	i := slices.IndexFunc(r.Files, func(f generate.File) bool { return f.Path == file })
	if i < 0 {
		t.Fatalf("%s is not generated", file)
	}
	var out []T
	for _, document := range bytes.Split(r.Files[i].Content, []byte("\n---\n")) {
		var one T
		if err := yaml.Unmarshal(document, &one); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, one)
	}
	return out
}

// Those who bring the platform are in a project of their own, which comes with the
// root. It allows the kinds that they apply, where they apply them, and no other.
func TestParentsHaveTheirOwnProject(t *testing.T) {
	const components = "a 110 x;b 150 y"
	for layout, parents := range map[plan.Layout][]string{
		plan.Single:    {"root.yaml"},
		plan.AppOfApps: {"root.yaml"},
		plan.Tiers:     {"root.yaml", "applications/one.yaml", "applications/two.yaml"},
	} {
		t.Run(string(layout), func(t *testing.T) {
			ladder := twoSteps
			if layout == plan.Tiers {
				ladder = "tiers: [one, two]\nsteps: [{phases: [\"110\"], tier: one}, {phases: [\"150\"], tier: two}]"
			}
			r, err := platform{layout: layout, ladder: ladder, components: components}.build(t)
			if err != nil {
				t.Fatal(err)
			}
			if first := documents[head](t, r, r.Root)[0]; first.Kind != "AppProject" {
				t.Fatalf("a person applies the %s before the project", first.Kind)
			}
			own := documents[project.AppProject](t, r, r.Root)[0]
			want := project.AppProject{
				APIVersion: "argoproj.io/v1alpha1", Kind: "AppProject",
				Metadata: project.Metadata{
					Name: "a-dev", Namespace: "argocd", Labels: map[string]string{"app.kubernetes.io/managed-by": "ladder", "environment": "dev"},
					Finalizers: []string{"resources-finalizer.argocd.argoproj.io"},
				},
				Spec: project.Spec{
					Description:                "What the Applications that bring the platform a-dev need, and nothing else.",
					SourceRepos:                []string{"https://git.example.com/a.git"},
					Destinations:               []project.Destination{{Server: "https://kubernetes.default.svc", Namespace: "argocd"}},
					ClusterResourceWhitelist:   []project.GroupKind{},
					NamespaceResourceWhitelist: applied(t, r),
				},
			}
			if diff := gocmp.Diff(want, own); diff != "" {
				t.Error(diff)
			}
			for _, file := range parents {
				all := documents[generate.Application](t, r, path.Join(r.Folder, file))
				app := all[len(all)-1]
				if app.Spec.Project != own.Metadata.Name || app.Spec.Destination.Server != own.Spec.Destinations[0].Server {
					t.Errorf("%s is in the project %s and goes to %v", app.Metadata.Name, app.Spec.Project, app.Spec.Destination)
				}
				if retry := app.Spec.SyncPolicy.Retry; retry == nil || retry.Limit != -1 || !retry.Refresh || retry.Backoff.MaxDuration != "1m" {
					t.Errorf("%s is tried again %+v, want without end, every minute at least, at the newest revision", app.Metadata.Name, retry)
				}
			}
		})
	}
}

// applied are the kinds of everything that a kustomization lists, or that lies
// beside it for a tier.
func applied(t *testing.T, r *generate.Result) []project.GroupKind {
	t.Helper()
	kinds := map[project.GroupKind]bool{}
	for _, f := range r.Files {
		rel := strings.TrimPrefix(f.Path, r.Folder+"/")
		if f.Path == r.Root || rel == "kustomization.yaml" || rel == "settings/repository.yaml" || strings.HasPrefix(rel, "smokes/") {
			continue
		}
		for _, o := range documents[head](t, r, f.Path) {
			group, _, named := strings.Cut(o.APIVersion, "/")
			if !named {
				group = ""
			}
			kinds[project.GroupKind{Group: group, Kind: o.Kind}] = true
		}
	}
	var all []project.GroupKind
	for k := range kinds {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b project.GroupKind) int {
		return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind)
	})
	return all
}

// The address and the branch of before are found again, in a root with its project
// and in one from before roots had one.
func TestSettleReadsTheRoot(t *testing.T) {
	r, err := platform{ladder: twoSteps, components: "a 110 x;b 150 y"}.build(t)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Files, func(f generate.File) bool { return f.Path == r.Root })
	whole := r.Files[i].Content
	_, alone, found := bytes.Cut(whole, []byte("\n---\n"))
	if !found {
		t.Fatal("the root has no project")
	}
	for name, test := range map[string]struct {
		root []byte
		want string
	}{
		"with its project": {whole, "https://git.example.com/a.git main"},
		"alone":            {append([]byte(generate.Mark), alone...), "https://git.example.com/a.git main"},
		"not generated":    {alone, "https://git.example.com/b.git next"},
		"none":             {nil, "https://git.example.com/b.git next"},
	} {
		in := generate.Input{Platform: &repo.Platform{}}
		in.Settle(test.root, checkout.Checkout{URL: "https://git.example.com/b.git", Branch: "next"})
		if got := in.RepoURL + " " + in.Revision; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The image of a release is published; other builds have none.
func TestImage(t *testing.T) {
	const published = "ghcr.io/rollout-ladder/ladder:1.2.3"
	for version, want := range map[string]string{"v1.2.3": published, "1.2.3": published, "v1.2.3-4-gabcdef0": "", "a5bab97": "", "dev": ""} {
		if got := generate.Image(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
