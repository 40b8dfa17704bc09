package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

func TestApplicationHealth(t *testing.T) {
	app := func(name, parent string, wave int) argo.Application {
		return argo.Application{Name: name, Parent: parent, Wave: argo.Wave{Value: wave}, Position: finding.Position{File: name + ".yaml", Line: 1}}
	}
	input := func(s argo.Settings, apps ...argo.Application) Input {
		return Input{Argo: argo.Setup{Applications: append(apps, app("root", "", 0)), Settings: s}}
	}
	known := argo.Settings{Known: true, Position: finding.Position{File: "argocd-cm.yaml", Line: 1}}
	assessed := known
	assessed.Health = []argo.GroupKind{{Group: "argoproj.io", Kind: "Application"}}
	sets := input(known)
	sets.Argo.ApplicationSets = []argo.ApplicationSet{
		{Name: "a", Parent: "root", Wave: argo.Wave{Value: 1}}, {Name: "b", Parent: "root", Wave: argo.Wave{Value: 2}},
	}
	cases{
		"waves differ, no check":               {input(known, app("a", "root", 0), app("b", "root", 1)), []string{"warning application-health-not-assessed root - Application root"}},
		"waves differ, settings are elsewhere": {input(argo.Settings{}, app("a", "root", 0), app("b", "root", 1)), []string{"info application-health-not-assessed root - Application root"}},
		"the check is there":                   {input(assessed, app("a", "root", 0), app("b", "root", 1)), nil},
		"one wave":                             {input(known, app("a", "root", 1), app("b", "root", 1)), nil},
		"two parents":                          {input(known, app("a", "root", 1), app("b", "a", 2)), nil},
		"ApplicationSets are assessed":         {sets, nil},
	}.run(t)
}

func TestMisplacedWavesAndDependsOn(t *testing.T) {
	on := finding.Position{File: "app.yaml", Line: 7}
	set := finding.Resource{Group: "argoproj.io", Kind: "ApplicationSet", Namespace: "argocd", Name: "apps"}
	cases{
		"a wave beside the annotations": {
			Input{Argo: argo.Setup{Misplaced: []argo.Misplaced{{Object: set, Template: true, Position: on}}}},
			[]string{"error wave-misplaced apps - ApplicationSet argocd/apps"},
		},
		"dependsOn once for a template": {
			Input{Argo: argo.Setup{Applications: []argo.Application{{Name: "a", DependsOn: on}, {Name: "b", DependsOn: on}}}},
			[]string{"error depends-on-forbidden a - Application a"},
		},
	}.run(t)
}

func TestHealthChecks(t *testing.T) {
	reads := needs("secret-before-use", dependency.Ready, secret, end("web", workload, 0), end("store", custom, 0))
	input := func(health string, settings argo.Settings, web, store model.Component) Input {
		return Input{
			Components: []model.Component{web, store}, Dependencies: []dependency.Dependency{reads},
			Objects: []Object{{Component: "store", Resource: custom, Health: health}}, Argo: argo.Setup{Settings: settings},
		}
	}
	known := argo.Settings{Known: true}
	cases{
		"nobody assesses the kind":   {input("", known, at("web", 2), at("store", 1)), []string{"warning health-check-missing store - Widget ns/one"}},
		"the settings are elsewhere": {input("", argo.Settings{}, at("web", 2), at("store", 1)), []string{"info health-check-missing store - Widget ns/one"}},
		"it is assessed":             {input("configured", known, at("web", 2), at("store", 1)), nil},
		"nothing waits":              {input("", known, at("web", 1), at("store", 1)), nil},
	}.run(t)
}

func TestProjects(t *testing.T) {
	app := argo.Application{
		Name: "web", Component: "web", Project: "team", Sources: []argo.Source{{RepoURL: "https://git.example/Team/repo.git"}},
		Destination: argo.Destination{Server: inCluster, Namespace: "team-web"}, Position: finding.Position{File: "app.yaml", Line: 1},
	}
	open := argo.Project{
		Name: "team", SourceRepos: []string{"https://git.example/team/*"},
		Destinations: []argo.Destination{{Name: "in-cluster", Namespace: "team-*"}}, Position: finding.Position{File: "project.yaml", Line: 1},
	}
	objects := []Object{{Component: "web", Resource: workloadIn("team-web")}}
	input := func(change func(*argo.Project, *argo.Application), objects ...Object) Input {
		p, a := open, app
		if change != nil {
			change(&p, &a)
		}
		return Input{Components: []model.Component{at("web")}, Objects: objects,
			Argo: argo.Setup{Projects: []argo.Project{p}, Applications: []argo.Application{a}}}
	}
	namespace := Object{Component: "web", Resource: finding.Resource{Kind: "Namespace", Name: "team-web"}}
	about := []string{"error project-forbids web - Application web"}
	cases{
		"all is allowed":           {input(nil, objects...), nil},
		"a source of another team": {input(func(p *argo.Project, _ *argo.Application) { p.SourceRepos = []string{"https://git.example/other/*"} }, objects...), about},
		"a star does not cross a slash": {input(func(_ *argo.Project, a *argo.Application) {
			a.Sources = []argo.Source{{RepoURL: "https://git.example/team/sub/repo"}}
		}, objects...), about},
		"a denied source": {input(func(p *argo.Project, _ *argo.Application) {
			p.SourceRepos = []string{"*", "!https://git.example/team/repo"}
		}, objects...), about},
		"another namespace": {input(func(_ *argo.Project, a *argo.Application) { a.Destination.Namespace = "kube-system" }), about},
		"a denied namespace": {input(func(p *argo.Project, _ *argo.Application) {
			p.Destinations = []argo.Destination{{Server: "*", Namespace: "*"}, {Server: "*", Namespace: "!team-web"}}
		}), about},
		"a cluster of which the name alone is known": {input(func(p *argo.Project, a *argo.Application) {
			p.Destinations = []argo.Destination{{Server: "https://10.0.0.1", Namespace: "*"}}
			a.Destination = argo.Destination{Name: "prod", Namespace: "team-web"}
		}), nil},
		"a cluster-wide kind that is not listed": {input(nil, namespace), []string{"error project-forbids web - Namespace team-web"}},
		"a cluster-wide kind that is listed": {input(func(p *argo.Project, _ *argo.Application) {
			p.ClusterAllow = []argo.GroupKind{{Group: "", Kind: "Namespace"}}
		}, namespace), nil},
		"a namespaced kind that is not listed": {input(func(p *argo.Project, _ *argo.Application) {
			p.NamespaceAllow = []argo.GroupKind{{Group: "", Kind: "Service"}}
		}, objects...), []string{"error project-forbids web - Deployment team-web/web"}},
		"a namespaced kind that is denied": {input(func(p *argo.Project, _ *argo.Application) {
			p.NamespaceDeny = []argo.GroupKind{{Group: "*", Kind: "*"}}
		}, objects...), []string{"error project-forbids web - Deployment team-web/web"}},
		"an object in a foreign namespace": {input(nil, Object{Component: "web", Resource: workloadIn("kube-system")}),
			[]string{"error project-forbids web - Deployment kube-system/web"}},
		"a source that several Applications want": {func() Input {
			in := input(func(p *argo.Project, _ *argo.Application) { p.SourceRepos = nil }, objects...)
			for _, name := range []string{"api", "jobs"} {
				other := app
				other.Name, other.Component, other.Position.File = name, name, name+".yaml"
				in.Argo.Applications = append(in.Argo.Applications, other)
			}
			return in
		}(), []string{"error project-forbids api - Application api"}},
		"a project of which there are two": {func() Input {
			in := input(func(p *argo.Project, _ *argo.Application) { p.SourceRepos = nil }, objects...)
			in.Argo.Projects = append(in.Argo.Projects, open)
			return in
		}(), nil},
		"a project that the repository does not hold": {input(func(_ *argo.Project, a *argo.Application) { a.Project = "default" }, namespace), nil},
	}.run(t)
}

func workloadIn(namespace string) finding.Resource {
	return finding.Resource{Group: "apps", Kind: "Deployment", Namespace: namespace, Name: "web"}
}

func TestGlob(t *testing.T) {
	type row struct {
		pattern, text string
		want          bool
	}
	for _, c := range []row{
		{"a", "a", true}, {"a", "ab", false}, {"*", "a/b", false}, {"**", "a/b", true}, {"https://x/*", "https://x/y", true},
		{"https://x/*", "https://x/y/z", false}, {"https://x/**", "https://x/y/z", true}, {"te?m", "team", true}, {"te?m", "te/m", false},
		{"{a,b}-*", "b-1", true}, {"{a,b}-*", "c-1", false}, {"[ab]c", "ac", true}, {"[!ab]c", "ac", false}, {"a.c*", "abc", false},
		{"[", "[", true}, {"{a", "a", false}, {"ü*", "übung", true},
		{strings.Repeat("*", maxPattern+1), "a", false},
	} {
		if got := glob(c.pattern, c.text, '/'); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.text, got)
		}
	}
	if !glob("*", "a/b") {
		t.Error("without separators a star matches everything")
	}
}

func TestDuplicateResources(t *testing.T) {
	namespace := finding.Resource{Kind: "Namespace", Name: "ns"}
	input := func(destination string, resources ...finding.Resource) Input {
		in := Input{Components: []model.Component{at("a"), at("b")}, Argo: argo.Setup{Applications: []argo.Application{
			{Name: "a", Component: "a", Destination: argo.Destination{Name: "in-cluster"}},
			{Name: "b", Component: "b", Destination: argo.Destination{Server: destination}},
		}}}
		for _, r := range resources {
			for _, c := range []string{"a", "b"} {
				in.Objects = append(in.Objects, Object{Component: c, Resource: r, Health: "workload"})
			}
		}
		slices.Reverse(in.Objects)
		return in
	}
	cases{
		"one cluster":                      {input(inCluster, workload), []string{"warning duplicate-resource b a Deployment ns/web"}},
		"two clusters":                     {input("https://10.0.0.1", workload), nil},
		"one finding for many objects":     {input(inCluster, workload, secret), []string{"warning duplicate-resource b a Secret ns/token"}},
		"a Namespace in both":              {input(inCluster, namespace), []string{"info duplicate-resource b a Namespace ns"}},
		"a generated name is no duplicate": {input(inCluster, finding.Resource{Kind: "Pod", Namespace: "ns"}), nil},
	}.run(t)
}

// TestAlsoBelow names three parents and counts the others.
func TestAlsoBelow(t *testing.T) {
	others := func(names ...string) (all []finding.Finding) {
		for _, name := range names {
			all = append(all, finding.Finding{Resource: finding.Resource{Name: name}})
		}
		return all
	}
	for _, tc := range []struct {
		others []finding.Finding
		want   string
		facts  int
	}{
		{nil, "waves", 0},
		{others("a"), "waves; nor do those below a", 1},
		{others("a", "b"), "waves; nor do those below a and b", 2},
		{others("a", "b", "c"), "waves; nor do those below a, b and c", 3},
		{others("a", "b", "c", "d", "e"), "waves; nor do those below a, b, c and 2 more", 3},
	} {
		f := finding.Finding{Message: "waves"}
		alsoBelow(&f, tc.others)
		if f.Message != tc.want || len(f.Evidence) != tc.facts {
			t.Errorf("%q with %d facts, want %q with %d", f.Message, len(f.Evidence), tc.want, tc.facts)
		}
	}
}
