package ladderfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

func TestArgoCD(t *testing.T) {
	f := parse(t, `
argocd:
  repoURL: ssh://git@git.example.com/acme/platform.git
  targetRevision: release
  namespace: gitops
  destination: {name: in-cluster}
  project: everything
  out: ./deploy/{{environment}}/argocd/
  syncPolicy: {automated: false, prune: false}
  orphanedResources: off
  roles: [{name: deployer, groups: ["acme:platform"], projects: [platform], policies: [sync, get, action/apps/*]}]
  syncWindows: [{kind: deny, schedule: "0 22 * * *", duration: 1h, projects: [apps], manualSync: true}]
  smoke: {image: registry.example.com/ladder:1}
  resourceExclusions: [{apiGroups: [cilium.io], kinds: [CiliumIdentity]}]
  names: {root: "{{platform}}", applicationSets: {data: "data-services-{{environment}}"}, projects: "{{project}}-{{ environment }}"}
  labels: {phase: wave}
  files: {projects: ./projects/, applicationSets: apps}
environments:
  prod: {destination: {server: "https://prod.example.com"}}
`)
	if len(f.Findings) > 0 {
		t.Fatal(f.Findings)
	}
	at := func(line int) finding.Position { return finding.Position{File: "ladder.yaml", Line: line} }
	want := ladderfile.ArgoCD{
		RepoURL: "ssh://git@git.example.com/acme/platform.git", TargetRevision: "release", Namespace: "gitops",
		Destination:  ladderfile.Destination{Name: "in-cluster"},
		Destinations: map[string]ladderfile.Destination{"prod": {Server: "https://prod.example.com"}},
		Project:      "everything", Out: "deploy/{{environment}}/argocd", SelfHeal: true,
		Names: ladderfile.Names{
			Root: "{{platform}}", ApplicationSets: ladderfile.Naming{Of: map[string]string{"data": "data-services-{{environment}}"}},
			Projects: ladderfile.Naming{All: "{{project}}-{{ environment }}"},
		},
		Labels: ladderfile.Labels{
			Phase: "wave", Part: "rollout-part", Domain: "domain", Tier: "tier", Type: "componentType", Dependency: "dependencyPhase", Environment: "environment",
		},
		Files: ladderfile.Files{Projects: "projects", ApplicationSets: "apps"},
		Roles: []ladderfile.Role{{
			Name: "deployer", Groups: []string{"acme:platform"}, Projects: []string{"platform"},
			Policies: []string{"sync", "get", "action/apps/*"}, Position: at(11),
		}},
		SyncWindows: []ladderfile.SyncWindow{{
			Kind: "deny", Schedule: "0 22 * * *", Duration: "1h", Projects: []string{"apps"}, ManualSync: true, Position: at(12),
		}},
		SmokeImage:         "registry.example.com/ladder:1",
		ResourceExclusions: []ladderfile.ResourceExclusion{{APIGroups: []string{"cilium.io"}, Kinds: []string{"CiliumIdentity"}, Position: at(14)}},
		Position:           at(3),
	}
	if diff := cmp.Diff(want, f.ArgoCD, cmpopts.IgnoreFields(ladderfile.ArgoCD{}, "Fields")); diff != "" {
		t.Error(diff)
	}
	if folder := ladderfile.Folder(f.ArgoCD.Out, "dev"); folder != "deploy/dev/argocd" {
		t.Errorf("dev lands in %s", folder)
	}
	if folder := ladderfile.Folder("argocd", "dev"); folder != "argocd/dev" {
		t.Errorf("dev lands in %s by default", folder)
	}
	if p := f.ArgoCD.At("namespace"); p != at(5) {
		t.Errorf("namespace is at %v", p)
	}
	if p := f.ArgoCD.At("nothing"); p != at(3) {
		t.Errorf("what is not written is at %v", p)
	}
	if got := f.ArgoCD.In("dev"); got.Name != "in-cluster" {
		t.Errorf("dev goes to %+v", got)
	}
	if got := f.ArgoCD.In("prod"); got != (ladderfile.Destination{Server: "https://prod.example.com"}) {
		t.Errorf("prod goes to %+v", got)
	}
}

// TestArgoCDRefusals has one wrong line each; the default stays.
func TestArgoCDRefusals(t *testing.T) {
	for name, test := range map[string]struct{ line, want string }{
		"credentials":            {"repoURL: https://bot:hunter2@git.example.com/a.git", "holds credentials"},
		"a token":                {"repoURL: https://hunter2@git.example.com/a.git", "holds credentials"},
		"no address":             {"repoURL: not an address", "is not an address"},
		"namespace":              {"namespace: Argo CD", "not the name of a namespace"},
		"both destinations":      {"destination: {server: a, name: b}", "needs either server or name"},
		"no destination":         {"destination: {}", "needs either server or name"},
		"out outside":            {"out: ../elsewhere", "not a folder below the root"},
		"out is the root":        {"out: ./", "not a folder below the root"},
		"out's placeholder":      {"out: \"{{env}}/argocd\"", "unknown placeholder {{env}}"},
		"an open placeholder":    {"out: \"{{environment/argocd\"", "unknown placeholder {{environment/argocd"},
		"a name":                 {"names: {root: Root}", "not a name that an object"},
		"a name for a tier":      {"names: {applicationSets: {data: \"{{project}}\"}}", "unknown placeholder {{project}}"},
		"a label":                {"labels: {phase: \"a b\"}", "not the key of a label"},
		"a label's prefix":       {"labels: {phase: A/wave}", "not the key of a label"},
		"two labels":             {"labels: {phase: domain}", "are both domain"},
		"a folder outside":       {"files: {settings: ../ops}", "not a folder below that of the environment"},
		"a folder's placeholder": {"files: {settings: \"{{tier}}\"}", "not a folder below that of the environment"},
		"out absolute":           {"out: /srv", "not a folder below the root"},
		"orphaned resources":     {"orphanedResources: loudly", "use off or warn"},
		"a role's name":          {"roles: [{groups: [a]}]", "has no name"},
		"a role's policy":        {"roles: [{name: a, policies: [fly]}]", "not an action"},
		"a window's kind":        {"syncWindows: [{kind: maybe, schedule: \"* * * * *\", duration: 1h}]", "neither allow nor deny"},
		"a window's time":        {"syncWindows: [{kind: allow, schedule: daily, duration: 1h}]", "not a schedule"},
		"a window's length":      {"syncWindows: [{kind: allow, schedule: \"* * * * *\", duration: long}]", "not a duration"},
		"an exclusion":           {"resourceExclusions: [{clusters: [a]}]", "would exclude everything"},
		"an unknown key":         {"repoUrl: a", "did you mean repoURL?"},
	} {
		t.Run(name, func(t *testing.T) {
			f := parse(t, "argocd:\n  "+test.line+"\n")
			if len(f.Findings) != 1 || !strings.Contains(f.Findings[0].Message, test.want) || f.Findings[0].Position.Line != 2 {
				t.Fatalf("got %+v, want one about %q", f.Findings, test.want)
			}
			if strings.Contains(f.Findings[0].Message+f.Findings[0].Fix.Summary, "hunter2") {
				t.Errorf("the credential is in the message: %s", f.Findings[0].Message)
			}
			if diff := cmp.Diff(ladderfile.DefaultArgoCD(), f.ArgoCD, cmpopts.IgnoreFields(ladderfile.ArgoCD{}, "Fields", "Position", "Roles")); diff != "" {
				t.Errorf("the default did not stay: %s", diff)
			}
		})
	}
}
