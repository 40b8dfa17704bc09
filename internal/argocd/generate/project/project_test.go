package project_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/project"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

const server = "https://kubernetes.default.svc"

func here(namespace string) project.Destination {
	return project.Destination{Server: server, Namespace: namespace}
}

func TestBuild(t *testing.T) {
	in := project.Input{
		Namespace: "argocd", Orphaned: true, Labels: map[string]string{"environment": "dev"},
		Applications: []project.Application{
			{
				Name: "keycloak", Project: "platform", Sources: []string{"https://git.example.com/b.git", "https://charts.example.com"}, Destination: here("ameide"), CreateNamespace: true,
				Objects: []project.Object{{Group: "apps", Kind: "StatefulSet", Namespace: "ameide"}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", ClusterWide: true}, {Kind: "Secret", Namespace: "other"}},
			},
			{Name: "gateway", Project: "platform", Sources: []string{"https://git.example.com/b.git"}, Destination: here("gateway"), Objects: []project.Object{{Kind: "Secret"}}},
			{Name: "web", Project: "apps", Sources: []string{"https://git.example.com/b.git"}, Destination: project.Destination{Name: "prod", Namespace: "web"}, Unrendered: "the chart at https://bot:hunter2@charts.example.com\ncannot be fetched"},
			{Name: "stray", Destination: here("stray")},
		},
		Roles: []project.Role{
			{Name: "deployer", Groups: []string{"acme:platform"}, Projects: []string{"platform"}, Policies: []string{"sync", "get", "action/apps/Deployment/restart", "logs", "exec"}},
			{Name: "viewer", Groups: []string{"acme:all"}, Policies: []string{"get"}},
		},
		SyncWindows: []project.SyncWindow{
			{Projects: []string{"apps"}, Window: project.Window{Kind: "deny", Schedule: "0 22 * * *", Duration: "1h", Namespaces: []string{"web"}}},
			{Window: project.Window{Kind: "allow", Schedule: "0 6 * * *", Duration: "12h"}},
		},
	}
	got, err := project.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	metadata := func(name string) project.Metadata {
		return project.Metadata{Name: name, Namespace: "argocd", Labels: map[string]string{"environment": "dev"}, Finalizers: []string{"resources-finalizer.argocd.argoproj.io"}}
	}
	everybody := project.Window{Kind: "allow", Schedule: "0 6 * * *", Duration: "12h", Applications: []string{"*"}}
	want := project.Result{
		Projects: []project.AppProject{
			{APIVersion: "argoproj.io/v1alpha1", Kind: "AppProject", Metadata: metadata("apps"), Spec: project.Spec{
				Description: "What 1 Application of the platform needs, and nothing else.",
				SourceRepos: []string{"https://git.example.com/b.git"}, Destinations: []project.Destination{{Name: "prod", Namespace: "web"}},
				ClusterResourceWhitelist: []project.GroupKind{}, NamespaceResourceWhitelist: []project.GroupKind{},
				Roles:             []project.Grant{{Name: "viewer", Groups: []string{"acme:all"}, Policies: []string{"p, proj:apps:viewer, applications, get, apps/*, allow"}}},
				SyncWindows:       []project.Window{{Kind: "deny", Schedule: "0 22 * * *", Duration: "1h", Namespaces: []string{"web"}}, everybody},
				OrphanedResources: &project.Orphaned{Warn: true},
			}},
			{APIVersion: "argoproj.io/v1alpha1", Kind: "AppProject", Metadata: metadata("platform"), Spec: project.Spec{
				Description:                "What 2 Applications of the platform need, and nothing else.",
				SourceRepos:                []string{"https://charts.example.com", "https://git.example.com/b.git"},
				Destinations:               []project.Destination{here("ameide"), here("gateway"), here("other")},
				ClusterResourceWhitelist:   []project.GroupKind{{Kind: "Namespace"}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}},
				NamespaceResourceWhitelist: []project.GroupKind{{Kind: "Secret"}, {Group: "apps", Kind: "StatefulSet"}},
				Roles: []project.Grant{
					{Name: "deployer", Groups: []string{"acme:platform"}, Policies: []string{
						"p, proj:platform:deployer, applications, sync, platform/*, allow",
						"p, proj:platform:deployer, applications, get, platform/*, allow",
						"p, proj:platform:deployer, applications, action/apps/Deployment/restart, platform/*, allow",
						"p, proj:platform:deployer, logs, get, platform/*, allow",
						"p, proj:platform:deployer, exec, create, platform/*, allow",
					}},
					{Name: "viewer", Groups: []string{"acme:all"}, Policies: []string{"p, proj:platform:viewer, applications, get, platform/*, allow"}},
				},
				SyncWindows: []project.Window{everybody}, OrphanedResources: &project.Orphaned{Warn: true},
			}},
		},
		Missing: []project.Missing{
			{Project: "apps", Application: "web", Reason: "the chart at https://***@charts.example.com\ncannot be fetched"},
			{Project: "default", Reason: "it is Argo CD's own, which is left as it is"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	text, err := got.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("# Not everything of web could be counted: the chart at https://***@charts.example.com cannot be fetched\napiVersion: argoproj.io/v1alpha1\n")) {
		t.Errorf("got %s", text)
	}
	// The order in which Applications are given does not matter.
	slices.Reverse(in.Applications)
	again, err := project.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	if text2, err := again.YAML(); err != nil || !bytes.Equal(text, text2) {
		t.Errorf("another order makes another file: %s", text2)
	}
	var documents int
	for _, document := range bytes.Split(text, []byte("---\n")) {
		var back project.AppProject
		if err := yaml.UnmarshalStrict(document, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Projects[documents], back); diff != "" {
			t.Error(diff)
		}
		documents++
	}
}

func TestBuildRefuses(t *testing.T) {
	app := project.Application{Name: "a", Project: "p", Destination: here("a"), Sources: []string{"ssh://git@git.example.com/a.git", "git@git.example.com:a.git"}}
	for name, test := range map[string]struct {
		in   project.Input
		want string
	}{
		"a password":            {project.Input{Applications: []project.Application{{Name: "a", Project: "p", Sources: []string{"https://bot:hunter2@git.example.com/a.git"}}}}, "make AppProject p: an address among the sources of Application a holds credentials"},
		"a token":               {project.Input{Applications: []project.Application{{Name: "a", Project: "p", Sources: []string{"https://hunter2@git.example.com/a.git"}}}}, "holds credentials"},
		"a password of SSH":     {project.Input{Applications: []project.Application{{Name: "a", Project: "p", Sources: []string{"ssh://git:hunter2@git.example.com/a.git"}}}}, "holds credentials"},
		"a role for nobody":     {project.Input{Applications: []project.Application{app}, Roles: []project.Role{{Name: "r", Projects: []string{"q"}}}}, `role r is for the AppProject "q", which is not one of p`},
		"a window for nobody":   {project.Input{Applications: []project.Application{app}, SyncWindows: []project.SyncWindow{{Projects: []string{"q"}, Window: project.Window{Schedule: "* * * * *"}}}}, `the sync window "* * * * *" is for the AppProject "q"`},
		"a role of the default": {project.Input{Applications: []project.Application{app, {Name: "b"}}, Roles: []project.Role{{Name: "r", Projects: []string{"default"}}}}, `"default"`},
	} {
		_, err := project.Build(test.in)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	if _, err := project.Build(project.Input{Applications: []project.Application{app}}); err != nil {
		t.Errorf("the user of SSH is no secret: %v", err)
	}
}

func TestObjects(t *testing.T) {
	object := func(version, kind, namespace, target string, annotations ...any) manifest.Object {
		metadata := map[string]any{"name": "a"}
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		if len(annotations) == 2 {
			metadata["annotations"] = map[string]any{annotations[0].(string): annotations[1]}
		}
		return manifest.Object{Target: target, Unstructured: &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}}}
	}
	got := project.Objects([]manifest.Object{
		object("v1", "Secret", "", "a"), object("v1", "Secret", "", "a"), object("v1", "Secret", "b", "a"),
		object("batch/v1", "Job", "", "a", "helm.sh/hook", "post-install"),
		object("batch/v1", "CronJob", "", "a", "argocd.argoproj.io/hook", "SyncFail"),
		object("v1", "Pod", "", "a", "helm.sh/hook", "test"),
		object("v1", "Event", "", "a", "argocd.argoproj.io/hook", "Skip"),
		object("apps/v1", "Deployment", "", "a", "helm.sh/hook", "pre-rollback, post-delete"),
		object("apps/v1", "StatefulSet", "", "a", "argocd.argoproj.io/hook", "PreDelete"),
		object("apps/v1", "ReplicaSet", "", "a", "helm.sh/hook", "post-rollback"),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", "", ""),
		object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "a", "a"), // the API drops the namespace
	}, manifest.NewScopes())
	want := []project.Object{
		{Kind: "Secret", Namespace: "a"}, {Kind: "Secret", Namespace: "b"},
		{Group: "apps", Kind: "Deployment", Namespace: "a"}, {Group: "apps", Kind: "StatefulSet", Namespace: "a"}, {Group: "batch", Kind: "CronJob", Namespace: "a"}, {Group: "batch", Kind: "Job", Namespace: "a"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", ClusterWide: true}, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", ClusterWide: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// ladder is a drawn platform.
func ladder(t *rapid.T) project.Input {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	in := project.Input{Namespace: "argocd"}
	for i := range rapid.IntRange(1, 6).Draw(t, "applications") {
		app := project.Application{
			Name: fmt.Sprintf("app-%d", i), Project: names.Draw(t, "project"),
			Sources:         rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"https://git.example.com/a.git", "https://charts.example.com", "git@git.example.com:b.git", "registry.example.com/charts"}), 1, 3, rapid.ID[string]).Draw(t, "sources"),
			Destination:     rapid.SampledFrom([]project.Destination{here("a"), here("b"), {Name: "prod", Namespace: "a"}, {Name: "in-cluster", Namespace: "c"}, here("")}).Draw(t, "destination"),
			CreateNamespace: rapid.Bool().Draw(t, "create"),
		}
		for range rapid.IntRange(0, 5).Draw(t, "objects") {
			o := project.Object{Group: names.Draw(t, "group") + ".io", Kind: strings.ToUpper(names.Draw(t, "kind")), ClusterWide: rapid.Bool().Draw(t, "cluster")}
			if !o.ClusterWide {
				o.Namespace = names.Draw(t, "namespace")
			}
			app.Objects = append(app.Objects, o)
		}
		in.Applications = append(in.Applications, app)
	}
	return in
}

// judge asks the rule project-forbids.
func judge(in project.Input, projects []project.AppProject) []finding.Finding {
	var input lint.Input
	for _, app := range in.Applications {
		a := argo.Application{Name: app.Name, Component: app.Name, Project: app.Project, Destination: argo.Destination(app.Destination)}
		if a.Destination.Name == "prod" {
			a.Destination.Server = "https://prod.example.com" // as Argo CD knows it
		}
		for _, s := range app.Sources {
			a.Sources = append(a.Sources, argo.Source{RepoURL: s})
		}
		input.Argo.Applications = append(input.Argo.Applications, a)
		for _, o := range app.Objects {
			input.Objects = append(input.Objects, lint.Object{Component: app.Name, Resource: finding.Resource{Group: o.Group, Kind: o.Kind, Namespace: o.Namespace, Name: "x"}})
		}
	}
	list := func(in []project.GroupKind) []argo.GroupKind {
		out := []argo.GroupKind{}
		for _, k := range in {
			out = append(out, argo.GroupKind(k))
		}
		return out
	}
	for _, p := range projects {
		one := argo.Project{Name: p.Metadata.Name, SourceRepos: p.Spec.SourceRepos, ClusterAllow: list(p.Spec.ClusterResourceWhitelist), NamespaceAllow: list(p.Spec.NamespaceResourceWhitelist)}
		for _, d := range p.Spec.Destinations {
			one.Destinations = append(one.Destinations, argo.Destination(d))
		}
		input.Argo.Projects = append(input.Argo.Projects, one)
	}
	return lint.Run(input, lint.Options{Only: []string{"project-forbids"}})
}

// Every Application is allowed what it needs, and nothing can be taken away: not a
// kind, not a source, not a destination.
func TestProjectsAreTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := ladder(t)
		r, err := project.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		if found := judge(in, r.Projects); len(found) > 0 {
			t.Fatalf("a project forbids what it was made for: %v", found[0].Message)
		}
		creates := map[string]bool{}
		for _, app := range in.Applications {
			creates[app.Project] = creates[app.Project] || app.CreateNamespace
		}
		for i, p := range r.Projects {
			without := func(what string, change func(s *project.Spec)) {
				t.Helper()
				less := slices.Clone(r.Projects)
				change(&less[i].Spec)
				if found := judge(in, less); len(found) == 0 {
					t.Errorf("project %s is not the least: nothing needs %s", p.Metadata.Name, what)
				}
			}
			for j, k := range p.Spec.NamespaceResourceWhitelist {
				without(fmt.Sprint(k), func(s *project.Spec) { s.NamespaceResourceWhitelist = dropped(s.NamespaceResourceWhitelist, j) })
			}
			for j, k := range p.Spec.ClusterResourceWhitelist {
				if k == (project.GroupKind{Kind: "Namespace"}) && creates[p.Metadata.Name] {
					continue // the sync makes it: it is not rendered
				}
				without(fmt.Sprint(k), func(s *project.Spec) { s.ClusterResourceWhitelist = dropped(s.ClusterResourceWhitelist, j) })
			}
			for j, source := range p.Spec.SourceRepos {
				without(source, func(s *project.Spec) { s.SourceRepos = dropped(s.SourceRepos, j) })
			}
			for j, d := range p.Spec.Destinations {
				if d.Name == "in-cluster" || d.Server == server {
					continue // two names of one cluster may both be asked for
				}
				without(fmt.Sprint(d), func(s *project.Spec) { s.Destinations = dropped(s.Destinations, j) })
			}
		}
	})
}

func dropped[T any](list []T, i int) []T { return slices.Delete(slices.Clone(list), i, i+1) }
