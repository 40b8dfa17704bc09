package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

func TestUseAcrossComponents(t *testing.T) {
	between := func(first, second model.Component, d dependency.Dependency) Input {
		return Input{Components: []model.Component{first, second}, Dependencies: []dependency.Dependency{d}}
	}
	reads := needs("secret-before-use", dependency.Ready, secret, end("web", workload, 0), end("vault", external, 0))
	refused := needs("crd-before-use", dependency.Apply, definition, end("web", custom, 0), end("vault", definition, 0))
	disabled := at("vault", 4)
	disabled.Enabled = false
	before := at("web")
	before.PreArgo = true
	inStep := func(name, set string, step int) model.Component {
		c := at(name, 1)
		c.Set, c.Step = set, step
		return c
	}
	parent := at("web", 1)
	root := at("web", -1)
	root.AppOfApps, root.Parents = true, []string{""}
	parent.AppOfApps, parent.Parents = true, []string{""}
	child := at("vault", 1, 2)
	child.Parents = []string{"", "web"}
	cases{
		"a hard provider in a later wave":          {between(at("web", 1), at("vault", 4), reads), []string{"error secret-before-use web vault Secret ns/token"}},
		"a soft provider in a later wave":          {between(at("web", 1), at("vault", 4), soft(reads)), []string{"warning secret-before-use web vault Secret ns/token"}},
		"the provider comes first":                 {between(at("web", 4), at("vault", 1), reads), nil},
		"a nested path comes after a sibling":      {between(at("web", 30, 10), at("vault", 60, 1), reads), []string{"error secret-before-use web vault Secret ns/token"}},
		"a nested path that is the beginning":      {between(at("web", 30), at("vault", 30, 5), reads), nil},
		"one wave, and the consumer heals":         {between(at("web", 1), at("vault", 1), reads), nil},
		"nothing is ordered at all":                {between(at("web", 0), at("vault", 0), refused), nil},
		"a later step of one ApplicationSet":       {between(inStep("web", "all", 1), inStep("vault", "all", 2), reads), []string{"error secret-before-use web vault Secret ns/token"}},
		"steps of two ApplicationSets do not meet": {between(inStep("web", "all", 1), inStep("vault", "others", 2), reads), nil},
		"the provider is disabled":                 {between(at("web", 1), disabled, reads), nil},
		"before Argo CD":                           {between(before, at("vault", -5), reads), []string{"error secret-before-use web vault Secret ns/token"}},
		"nothing orders the two, others are ordered": {
			Input{Components: []model.Component{at("web", 1), at("vault", 1), at("else", 2)}, Dependencies: []dependency.Dependency{refused}},
			[]string{"warning crd-before-use web vault CustomResourceDefinition widgets.acme.example"},
		},
		"one of several speaks where nothing orders the two": {
			Input{Components: []model.Component{at("web", 1), at("vault", 1), at("else", 2)}, Dependencies: []dependency.Dependency{
				needs("webhook-before-use", dependency.Apply, custom, end("web", custom, 0), end("vault", workload, 0)), refused,
				needs("namespace-before-use", dependency.Apply, finding.Resource{Kind: "Namespace", Name: "ns"}, end("web", custom, 0), end("vault", workload, 0)),
			}},
			[]string{"warning crd-before-use web vault CustomResourceDefinition widgets.acme.example"},
		},
		"a parent and its child": {
			Input{Components: []model.Component{parent, child, at("else", 2)}, Dependencies: []dependency.Dependency{inWave(refused, 1)}},
			[]string{"error crd-cr-without-skip-dry-run web vault CustomResourceDefinition widgets.acme.example"},
		},
		"an object of a parent in a wave behind its child": {between(root, at("vault", 3), inWave(refused, 5)), nil},
		"an object of a parent in a wave before its child": {
			between(root, at("vault", 3), inWave(refused, 0)), []string{"error crd-before-use web vault CustomResourceDefinition widgets.acme.example"},
		},
	}.run(t)
}

// inWave puts the consumer of a dependency into a sync wave of its Application.
func inWave(d dependency.Dependency, wave int) dependency.Dependency {
	d.Consumer.Place.Wave = wave
	return d
}

func TestUseInOneStepOfTheLadder(t *testing.T) {
	reads := needs("secret-before-use", dependency.Ready, secret, end("web", workload, 0), end("vault", external, 0))
	ladder := func(layout plan.Layout, steps ...plan.LadderStep) Input {
		return Input{
			Ladder: plan.Ladder{Layout: layout, Sets: []string{"base", "apps"}, Steps: steps},
			Components: []model.Component{
				on(10, "web", "base", model.Runtime), on(20, "vault", "base", model.Runtime),
			},
			Dependencies: []dependency.Dependency{reads},
		}
	}
	tiers := ladder(plan.Tiers, plan.LadderStep{Phases: []model.Phase{10}, Set: "apps"}, plan.LadderStep{Phases: []model.Phase{20}, Set: "base"})
	tiers.Components[0].Domain = "apps"
	cases{
		"two phases of one step are not ordered": {ladder(plan.Single, plan.LadderStep{Phases: []model.Phase{10, 20}}), nil},
		"the order of the steps counts, not the number": {
			ladder(plan.Single, plan.LadderStep{Phases: []model.Phase{20}}, plan.LadderStep{Phases: []model.Phase{10}}), nil,
		},
		"a later step": {
			ladder(plan.Single, plan.LadderStep{Phases: []model.Phase{10}}, plan.LadderStep{Phases: []model.Phase{20}}),
			[]string{"error secret-before-use web vault Secret ns/token"},
		},
		"an earlier tier comes first": {tiers, nil},
	}.run(t)
}

func TestUseWithinAComponent(t *testing.T) {
	one := func(d dependency.Dependency, objects ...Object) Input {
		return Input{Components: []model.Component{at("app")}, Dependencies: []dependency.Dependency{d}, Objects: objects}
	}
	object := func(e dependency.End, health string) Object {
		return Object{Component: e.Component, Resource: e.Object, Place: e.Place, Health: health}
	}
	operator := finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "operator"}
	pods := func(wave int) dependency.End { return end("app", workload, wave) }
	made := func(wave int) dependency.End { return end("app", external, wave) }
	job := hook(end("app", finding.Resource{Group: "batch", Kind: "Job", Namespace: "ns", Name: "migrate"}, 0), 0)
	widget := func(wave int) dependency.End { return end("app", custom, wave) }
	cases{
		"a workload waits for what comes later": {
			one(needs("secret-before-use", dependency.Ready, secret, pods(0), made(1)), object(pods(0), "workload")),
			[]string{"error gate-deadlock app app Secret ns/token"},
		},
		"a soft need is a warning": {
			one(soft(needs("service-before-use", dependency.Ready, secret, pods(0), made(1))), object(pods(0), "workload")),
			[]string{"warning gate-deadlock app app Secret ns/token"},
		},
		"a custom resource is ready without what it needs softly": {
			one(soft(needs("secret-before-use", dependency.Ready, secret, widget(0), made(1))), object(widget(0), "configured")), nil,
		},
		"a hook ends with all that it does": {
			one(soft(needs("secret-before-use", dependency.Ready, secret, job, made(-5)))), []string{"warning gate-deadlock app app Secret ns/token"},
		},
		"nobody waits for a kind without health": {
			one(needs("secret-before-use", dependency.Ready, secret, widget(0), made(1)), object(widget(0), "")), nil,
		},
		"in one wave both are applied": {
			one(needs("secret-before-use", dependency.Ready, secret, pods(1), made(1)), object(pods(1), "workload")), nil,
		},
		"a hook before the sync needs an ordinary object": {
			one(needs("secret-before-use", dependency.Ready, secret, job, made(-5))), []string{"error gate-deadlock app app Secret ns/token"},
		},
		"a CRD in a later wave": {
			one(needs("crd-before-use", dependency.Apply, definition, widget(0), end("app", definition, 1))),
			[]string{"error crd-before-use app app CustomResourceDefinition widgets.acme.example"},
		},
		"a CRD in the same wave is applied first": {
			one(needs("crd-before-use", dependency.Apply, definition, widget(0), end("app", definition, 0))), nil,
		},
		"a webhook in the same wave has no pods yet": {
			one(needs("webhook-before-use", dependency.Apply, custom, widget(0), end("app", operator, 0))),
			[]string{"error webhook-before-use app app Widget ns/one"},
		},
		"a webhook in an earlier wave": {
			one(needs("webhook-before-use", dependency.Apply, custom, widget(1), end("app", operator, 0))), nil,
		},
	}.run(t)
}

func TestNamespacesThatArgoCDMoves(t *testing.T) {
	namespace := finding.Resource{Kind: "Namespace", Name: "ns"}
	input := func(written, counts int) Input {
		return Input{Components: []model.Component{at("app")}, Objects: []Object{
			{Component: "app", Resource: namespace, Wave: written, Place: dependency.Place{Hook: 1, Wave: counts}, Health: "builtin"},
		}}
	}
	cases{
		"written behind its objects": {input(2, 0), []string{"info namespace-before-use app app Namespace ns"}},
		"written before them":        {input(-1, -1), nil},
	}.run(t)
}

func TestDryRunOfMissingKinds(t *testing.T) {
	subscription := finding.Resource{Group: "operators.coreos.com", Kind: "Subscription", Namespace: "ns", Name: "widgets"}
	brought := needs("crd-before-use", dependency.Apply, definition, end("app", custom, 1), end("app", subscription, 0))
	input := func(options ...string) Input {
		return Input{
			Components: []model.Component{at("app")}, Dependencies: []dependency.Dependency{brought},
			Objects: []Object{{Component: "app", Resource: custom, SyncOptions: options}},
		}
	}
	byApplication := input()
	byApplication.Components[0].SyncOptions = []string{"CreateNamespace=true", skipDryRun}
	cases{
		"a kind that comes in the same wave": {func() Input {
			in := input()
			in.Dependencies = []dependency.Dependency{needs("crd-before-use", dependency.Apply, definition, end("app", custom, 0), end("app", subscription, 0))}
			return in
		}(), []string{"error crd-cr-without-skip-dry-run app app CustomResourceDefinition widgets.acme.example"}},
		"a kind that a Subscription brings": {input(), []string{"error crd-cr-without-skip-dry-run app app CustomResourceDefinition widgets.acme.example"}},
		"the object skips the dry run":      {input(skipDryRun), nil},
		"the Application skips the dry run": {byApplication, nil},
	}.run(t)
}

func TestDeclaredEdges(t *testing.T) {
	input := func(a, b model.Component, edges ...plan.Edge) Input {
		return Input{Components: []model.Component{a, b, at("else", 9)}, Edges: edges}
	}
	both := input(at("a", 1), at("b", 1), declares("a", "b"), declares("b", "a"))
	inferred := func(from, to string) plan.Edge {
		e := declares(from, to)
		e.Basis, e.Reason = finding.Rendered, "reads Secret ns/token"
		return e
	}
	cases{
		"later":  {input(at("a", 1), at("b", 2), declares("a", "b")), []string{"error declared-edge-against-order a b -"}},
		"beside": {input(at("a", 1), at("b", 1), declares("a", "b")), []string{"warning declared-edge-against-order a b -"}},
		"kept":   {input(at("a", 2), at("b", 1), declares("a", "b")), nil},
		"a circle of declared edges": {both, []string{
			"error cycle a b -", "warning declared-edge-against-order a b -", "warning declared-edge-against-order b a -",
		}},
		"a circle that may heal": {input(at("a", 1), at("b", 1), inferred("a", "b"), inferred("b", "a")), []string{"warning cycle a b -"}},
		"a circle against the order": {
			input(at("a", 1), at("b", 2), inferred("a", "b"), inferred("b", "a")), []string{"error cycle a b -"},
		},
		"a soft edge closes no circle": {
			input(at("a", 2), at("b", 1), declares("a", "b"), plan.Edge{From: "b", To: "a", Strength: plan.Soft, Basis: finding.Rendered}), nil,
		},
	}.run(t)
}

func TestCycleNamesTheWholeCircle(t *testing.T) {
	in := Input{
		Components: []model.Component{at("c"), at("a"), at("b")},
		Edges:      []plan.Edge{declares("b", "c"), declares("c", "a"), declares("a", "b")},
	}
	found := cycles(in)
	if len(found) != 1 {
		t.Fatalf("%d findings", len(found))
	}
	f := found[0]
	const want = "a -> b -> c -> a: each requires the next, so that none can be first"
	if f.Message != want || len(f.Evidence) != 3 || f.Evidence[0].Text != "a -> b: requires" || f.Position.File != "components/a.yaml" {
		t.Errorf("got %q at %s with evidence %v", f.Message, f.Position, f.Evidence)
	}
}

// TestCirclesThroughOneHub tells once of circles that only warn and hang together,
// and apart of those that do not.
func TestCirclesThroughOneHub(t *testing.T) {
	inferred := func(from, to string) plan.Edge {
		e := declares(from, to)
		e.Basis = finding.Rendered
		return e
	}
	in := Input{
		Components: []model.Component{at("hub"), at("a"), at("b"), at("c"), at("x"), at("y")},
		Edges: []plan.Edge{
			inferred("hub", "a"), inferred("a", "hub"), inferred("hub", "b"), inferred("b", "c"), inferred("c", "hub"),
			inferred("hub", "c"), inferred("x", "y"), inferred("y", "x"),
		},
	}
	var got []string
	for _, f := range cycles(in) {
		got = append(got, f.Message)
		for _, e := range f.Evidence {
			got = append(got, "  "+e.Text)
		}
	}
	want := []string{
		"a -> hub -> a: each requires the next, so that none can be first; 1 more circle goes through them",
		"  a -> hub: requires", "  hub -> a: requires", "  b -> c -> hub -> b", // c needs no circle of its own: every member is named
		"x -> y -> x: each requires the next, so that none can be first",
		"  x -> y: requires", "  y -> x: requires",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("circles (-want +got):\n%s", diff)
	}
}

func TestUnprovided(t *testing.T) {
	other := secret
	other.Name = "other"
	class := finding.Resource{Group: "storage.k8s.io", Kind: "StorageClass", Name: "fast"}
	missing := func(rule string, r finding.Resource, consumer dependency.End) dependency.Missing {
		return dependency.Missing{Rule: rule, Required: r, Strength: plan.Hard, Reason: "needs " + r.Human(), Consumer: consumer}
	}
	input := func(m dependency.Missing, objects ...finding.Resource) Input {
		in := Input{Components: []model.Component{at("web")}, Missing: []dependency.Missing{m}}
		for _, r := range objects {
			in.Objects = append(in.Objects, Object{Component: "web", Resource: r, Health: "builtin"})
		}
		return in
	}
	absent := missing("secret-before-use", secret, end("web", workload, 0))
	dark := absent
	dark.Unrendered = []string{"vault"}
	mild := absent
	mild.Strength = plan.Soft
	store := finding.Resource{Group: "external-secrets.io", Kind: "ClusterSecretStore", Name: "vault"}
	cases{
		"others of the namespace are in the repository": {input(absent, other), []string{"warning unprovided web - Secret ns/token"}},
		"Secrets are made by hand":                      {input(absent), nil},
		"an unrendered component may provide it":        {input(dark, other), nil},
		"the reference is soft":                         {input(mild, other), nil},
		"the first credential of a store":               {input(missing("secret-before-use", secret, end("web", store, 0)), other), nil},
		"classes come with the cluster":                 {input(missing("storageclass-before-use", class, end("web", workload, 0)), class), nil},
	}.run(t)
}

// TestAfterByWaves says what to move: where the paths of two components part, and
// an ApplicationSet for what it generates.
func TestAfterByWaves(t *testing.T) {
	at := func(name string, parents ...string) model.Component {
		waves := make([]int, max(len(parents), 1))
		return model.Component{Name: name, Enabled: true, Waves: waves, Parents: parents}
	}
	in := Input{
		Components: []model.Component{
			at("plain", "root"), at("other", "root"), at("below", "root", "plain"), at("beside", "root", "plain"), at("far", "root", "other"),
			at("made", "root"), at("twin", "root"), at("third", "root"), at("lost", "root", "folder/"),
		},
		Argo: argo.Setup{ApplicationSets: []argo.ApplicationSet{{Name: "set", Applications: []string{"made", "twin"}}, {Name: "second", Applications: []string{"third"}}}},
	}
	o := newOrder(in)
	for _, tc := range []struct{ consumer, provider, want string }{
		{"plain", "other", "give plain a later sync wave than other, or other an earlier one"},
		{"below", "beside", "give below a later sync wave than beside, or beside an earlier one"},
		{"below", "far", "give plain a later sync wave than other, or other an earlier one"},
		{"lost", "far", "give lost a later sync wave than far, or far an earlier one"},
		{"made", "plain", "give ApplicationSet set a later sync wave than plain, or plain an earlier one"},
		{"made", "twin", "order what ApplicationSet set generates by RollingSync steps, or take twin out of it, as an Application with an earlier sync wave"},
		{"plain", "made", "take made out of ApplicationSet set, which is Healthy as soon as it has generated, as an Application with an earlier sync wave than plain"},
		{"third", "made", "take made out of ApplicationSet set, which is Healthy as soon as it has generated, as an Application with an earlier sync wave than ApplicationSet second"},
	} {
		if got := o.after(o.byName[tc.consumer], o.byName[tc.provider]); got != tc.want {
			t.Errorf("%s after %s: %s", tc.consumer, tc.provider, got)
		}
	}
}

// TestMoves leaves out what would break another requirement, in either direction.
func TestMoves(t *testing.T) {
	at := func(name string, wave int) model.Component {
		return model.Component{Name: name, Enabled: true, Waves: []int{wave}, Parents: []string{"root"}}
	}
	hard := func(from, to string) plan.Edge {
		return plan.Edge{From: from, To: to, Strength: plan.Hard, Basis: finding.Rendered, Reason: "reads Secret " + to}
	}
	const both = "give web a later sync wave than store, or store an earlier one"
	for name, tc := range map[string]struct {
		edges []plan.Edge
		want  string
	}{
		"nothing else":                            {nil, both},
		"one that comes late enough":              {[]plan.Edge{hard("last", "web")}, both},
		"one that would come too early":           {[]plan.Edge{hard("beside", "web")}, "give store an earlier sync wave than web"},
		"one that is too early as it is":          {[]plan.Edge{hard("first", "web")}, both},
		"a requirement that comes early enough":   {[]plan.Edge{hard("store", "first")}, both},
		"a requirement that would come too late":  {[]plan.Edge{hard("store", "beside")}, "give web a later sync wave than store"},
		"a requirement that is too late as it is": {[]plan.Edge{hard("store", "last")}, both},
		"others on both sides": {
			[]plan.Edge{hard("store", "first"), hard("store", "other"), hard("beside", "web"), hard("more", "web")},
			"give web a later sync wave than store, and beside and 1 more, which require it, a later one still",
		},
		"each other by way of one more": {
			[]plan.Edge{hard("store", "beside"), hard("beside", "web"), {From: "web", To: "store", Strength: plan.Soft, Reason: "reads Secret store"}},
			"web and store require each other (store: requires web by way of beside; web: reads Secret store): split one of them, so that what the other needs comes first",
		},
		"each other": {
			[]plan.Edge{hard("store", "web"), {From: "web", To: "store", Strength: plan.Soft, Reason: "reads Secret store"}},
			"web and store require each other (store: reads Secret web; web: reads Secret store): split one of them, so that what the other needs comes first",
		},
	} {
		in := Input{Components: []model.Component{at("first", -9), at("web", 0), at("beside", 0), at("more", 0), at("other", 0), at("store", 1), at("last", 9)}, Edges: tc.edges}
		o := newOrder(in)
		if got := o.after(o.byName["web"], o.byName["store"]); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
