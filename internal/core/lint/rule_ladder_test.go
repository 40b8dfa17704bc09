package lint

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// ladder is a ladder of two bands with slots, and one step for each phase.
func ladder(phases ...model.Phase) plan.Ladder {
	l := plan.Ladder{Layout: plan.Single, Bands: []plan.Band{{Name: "data", From: 200, To: 299}, {Name: "platform", From: 300, To: 399}}}
	for i, p := range phases {
		l.Steps = append(l.Steps, plan.LadderStep{Phases: []model.Phase{p}, Position: finding.Position{File: "ladder.yaml", Line: i + 1}})
	}
	return l
}

func disabled(c model.Component) model.Component {
	c.Enabled = false
	return c
}

// inFolder has the domain of a component be that of its folder, which nothing says.
func inFolder(c model.Component) model.Component {
	delete(c.Fields, "domain")
	return c
}

func TestPhases(t *testing.T) {
	input := func(l plan.Ladder, components ...model.Component) Input {
		return Input{Ladder: l, Components: append(components, on(250, "other", "data", model.Runtime))}
	}
	notNumeric := on(model.NoPhase, "a", "data", model.Runtime)
	notNumeric.Fields["rolloutPhase"] = finding.Position{File: "a.yaml", Line: 3}
	apps := ladder(250)
	apps.Layout = plan.AppOfApps
	object := on(model.NoPhase, "a", "data", model.Runtime)
	object.Object = true
	cases{
		"no phase":                           {input(ladder(250), on(model.NoPhase, "a", "data", model.Runtime)), []string{"error phase-missing a - -"}},
		"no phase, disabled":                 {input(ladder(250), disabled(on(model.NoPhase, "a", "data", model.Runtime))), []string{"warning phase-missing a - -"}},
		"a phase that is no number":          {input(ladder(250), notNumeric), nil},
		"sync waves need no phase":           {input(ladder(250), at("a", 3)), nil},
		"sync waves, nobody has a phase":     {Input{Ladder: apps, Components: []model.Component{on(model.NoPhase, "a", "data", model.Runtime)}}, nil},
		"sync waves, one has a phase":        {input(apps, on(model.NoPhase, "a", "data", model.Runtime), at("c", 3)), []string{"error phase-missing a - -"}},
		"Applications need no phase":         {input(apps, object), nil},
		"the band of another domain":         {input(ladder(250), on(250, "a", "platform", model.Runtime)), []string{"warning phase-outside-band a - -"}},
		"a domain that is only its folder":   {input(ladder(250), inFolder(on(250, "a", "platform", model.Runtime))), nil},
		"a folder, in no band at all":        {input(ladder(250, 450), inFolder(on(450, "a", "data", model.Runtime))), []string{"warning phase-outside-band a - -"}},
		"no band at all":                     {input(ladder(250, 450), on(450, "a", "data", model.Runtime)), []string{"warning phase-outside-band a - -"}},
		"a domain without a band":            {input(ladder(250), on(250, "a", "edge", model.Runtime)), nil},
		"a domain without a band, elsewhere": {input(ladder(250, 450), on(450, "a", "edge", model.Runtime)), []string{"warning phase-outside-band a - -"}},
		"a phase that no step matches":       {input(ladder(250), on(255, "a", "data", model.Bootstrap)), []string{"error phase-without-step a - -"}},
		"a disabled one that no step matches": {
			input(ladder(250), disabled(on(255, "a", "data", model.Bootstrap))), []string{"warning phase-without-step a - -"},
		},
		"a step that matches nothing":      {input(ladder(250, 260)), []string{"info step-without-phase - - -"}},
		"a step that a disabled one keeps": {input(ladder(250, 260), disabled(on(260, "a", "data", model.Bootstrap))), nil},
		"two steps of one phase": {
			input(ladder(250, 260, 260), on(260, "a", "data", model.Bootstrap)), []string{"warning app-in-several-steps a - -"},
		},
	}.run(t)
}

func TestTiersHaveStepsOfTheirOwn(t *testing.T) {
	l := plan.Ladder{Layout: plan.Tiers, Sets: []string{"data", "platform"}, Bands: []plan.Band{{Name: "data", From: 20, To: 29}, {Name: "platform", From: 30, To: 46}}, Steps: []plan.LadderStep{
		{Phases: []model.Phase{20}, Set: "data"}, {Phases: []model.Phase{30}, Set: "platform"},
	}}
	cases{
		"the step of another tier does not count": {
			Input{Ladder: l, Components: []model.Component{on(30, "a", "data", model.Runtime), on(20, "b", "data", model.Runtime)}},
			[]string{"error phase-without-step a - -", "warning phase-outside-band a - -"},
		},
		"its own does": {
			Input{Ladder: l, Components: []model.Component{on(30, "a", "platform", model.Runtime), on(20, "b", "data", model.Runtime)}}, nil,
		},
	}.run(t)
}

func TestSlots(t *testing.T) {
	type row struct {
		phase model.Phase
		kind  model.Type
		wrong bool
	}
	for name, c := range map[string]row{
		"CRDs in x10":                  {210, model.CRDs, false},
		"CRDs beside operators":        {220, model.CRDs, true},
		"namespaces in x10":            {210, model.Namespaces, false},
		"operators in x20":             {220, model.Operator, false},
		"operators with the CRDs":      {210, model.Operator, true},
		"an operator behind a secret":  {235, model.Operator, false},
		"an operator after the x50":    {255, model.Operator, true},
		"secrets in x30":               {230, model.Secrets, false},
		"secrets after the runtime":    {256, model.Secrets, false},
		"secrets with the operators":   {220, model.Secrets, true},
		"configuration in x40":         {240, model.Config, false},
		"runtime in x50":               {250, model.Runtime, false},
		"runtime in x40":               {240, model.Runtime, true},
		"bootstrap in x55":             {255, model.Bootstrap, false},
		"bootstrap in x40":             {240, model.Bootstrap, true},
		"bootstrap with its runtime":   {250, model.Bootstrap, true},
		"bootstrap of an operator":     {225, model.Bootstrap, false},
		"bootstrap among the smokes":   {299, model.Bootstrap, true},
		"smoke":                        {299, model.Smoke, false},
		"a bootstrap before operators": {210, model.Bootstrap, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Ladder: ladder(c.phase), Components: []model.Component{on(c.phase, "a", "data", c.kind)}}
			if found := slotMismatch(in); (len(found) == 1) != c.wrong {
				t.Errorf("findings %v, want one: %v", found, c.wrong)
			}
			unwritten := in.Components[0]
			delete(unwritten.Fields, "componentType")
			if found := slotMismatch(in); len(found) > 0 {
				t.Errorf("a type that is not written is judged: %v", found)
			}
		})
	}
	narrow := Input{
		Ladder:     plan.Ladder{Bands: []plan.Band{{Name: "data", From: 20, To: 29}}},
		Components: []model.Component{on(24, "a", "data", model.Bootstrap)},
	}
	if found := slotMismatch(narrow); len(found) > 0 {
		t.Errorf("a band without slots: %v", found)
	}
}

func TestSmokes(t *testing.T) {
	smoke := func(phase model.Phase, validates ...string) model.Component {
		c := on(phase, "smoke", "data", model.Smoke)
		for _, name := range validates {
			c.Validates = append(c.Validates, model.Requirement{Text: name})
		}
		return c
	}
	store := on(250, "store", "data", model.Runtime)
	input := func(l plan.Ladder, components ...model.Component) Input {
		return Input{Ladder: l, Components: components}
	}
	tiers := plan.Ladder{Layout: plan.Single, Bands: []plan.Band{{Name: "data", From: 20, To: 29}}}
	early := smoke(23, "store")
	cases{
		"last in its band":           {input(ladder(250, 299), store, smoke(299, "store")), nil},
		"something comes behind it":  {input(ladder(240, 250), store, smoke(240, "store")), []string{"warning smoke-not-last smoke - -"}},
		"another band comes behind":  {input(ladder(299, 350), smoke(299, "x"), on(350, "web", "platform", model.Runtime)), nil},
		"a disabled one behind it":   {input(ladder(240, 250), disabled(store), smoke(240, "store")), nil},
		"beside what it validates":   {input(ladder(250), store, smoke(250, "store")), []string{"warning smoke-shares-phase smoke - -"}},
		"beside another smoke":       {input(ladder(299), smoke(299, "x"), on(299, "z", "data", model.Runtime)), []string{"warning slot-mismatch z - -", "warning smoke-shares-phase smoke - -"}},
		"names nothing":              {input(ladder(250, 299), store, smoke(299)), []string{"warning smoke-without-targets smoke - -"}},
		"names nothing, is disabled": {input(ladder(250, 299), store, disabled(smoke(299))), nil},
		"a narrow band has smokes in between": {
			input(tiers, early, on(24, "migrations", "data", model.Runtime)), nil,
		},
	}.run(t)
}

func TestSmokesThatTestNothing(t *testing.T) {
	smoke := on(299, "smoke", "data", model.Smoke)
	smoke.Validates = []model.Requirement{{Text: "store"}}
	inferred := smoke
	inferred.Fields = nil
	checks := smoke
	checks.Smoke = []model.Check{{Kind: model.CheckEndpoint}}
	config := Object{Component: "smoke", Resource: finding.Resource{Kind: "ConfigMap", Namespace: "ns", Name: "script"}}
	job := Object{Component: "smoke", Resource: finding.Resource{Group: "batch", Kind: "Job", Namespace: "ns", Name: "test"}, Health: "workload"}
	hook := Object{Component: "smoke", Resource: finding.Resource{Kind: "Pod", Namespace: "ns", Name: "test"}}
	inert := job
	inert.Inert = EndsWell
	suspended := Object{Component: "smoke", Resource: finding.Resource{Group: "batch", Kind: "CronJob", Namespace: "ns", Name: "test"}, Health: "builtin", Inert: Suspended}
	scheduled := suspended
	scheduled.Inert = Scheduled
	service := Object{Component: "smoke", Resource: finding.Resource{Kind: "Service", Namespace: "ns", Name: "test"}, Health: "builtin", Inert: Idle}
	certain := smoke
	certain.Smoke = []model.Check{{Kind: model.CheckCEL, ObjectKind: "ConfigMap", Namespace: "ns", Name: "script", Expression: "true"}}
	all := smoke
	all.Smoke = []model.Check{{Kind: model.CheckCEL, Group: "batch", ObjectKind: "Job", Expression: "true"}}
	input := func(c model.Component, more Input) Input {
		more.Certain = map[string]bool{"true": true}
		more.Ladder, more.Components = ladder(250, 299), []model.Component{on(250, "store", "data", model.Runtime), c}
		return more
	}
	nothing := []string{"error smoke-tests-nothing smoke - -"}
	cases{
		"a Job":                     {input(smoke, Input{Objects: []Object{config, job}}), nil},
		"what counts as Healthy":    {input(smoke, Input{Objects: []Object{config}}), nothing},
		"a hook that nobody runs":   {input(smoke, Input{Unapplied: []Object{hook}}), nothing},
		"one that nobody calls so":  {input(inferred, Input{Empty: []string{"smoke"}}), []string{"warning smoke-tests-nothing smoke - -"}},
		"nothing":                   {input(smoke, Input{Empty: []string{"smoke"}}), nothing},
		"checks":                    {input(checks, Input{Objects: []Object{config}}), nil},
		"what is not rendered":      {input(smoke, Input{Unrendered: []string{"smoke"}, Objects: []Object{config}}), nil},
		"what nobody has looked at": {input(smoke, Input{}), nil},
		"a suspended CronJob":       {input(smoke, Input{Objects: []Object{suspended}}), nothing},
		"a CronJob":                 {input(smoke, Input{Objects: []Object{scheduled}}), nothing},
		"a Service alone":           {input(smoke, Input{Objects: []Object{service}}), nothing},
		"a Service beside a Job":    {input(smoke, Input{Objects: []Object{service, scheduled, job}}), nil},
		"a Job that cannot fail":    {input(smoke, Input{Objects: []Object{config, inert}}), nothing},
		"two Jobs, one can fail":    {input(smoke, Input{Objects: []Object{config, inert, job}}), nil},
		"what is always true":       {input(certain, Input{Objects: []Object{config}}), nothing},
		"of all of a kind":          {input(all, Input{Objects: []Object{job}}), nothing},
		"whether it is there":       {input(certain, Input{Objects: []Object{job}}), nil},
		"whether the kind is there": {input(all, Input{Objects: []Object{config}}), nil},
		"a disabled one":            {input(disabled(smoke), Input{Unapplied: []Object{hook}}), nil},
	}.run(t)
}

func TestPlacement(t *testing.T) {
	operator := on(220, "operator", "data", model.Operator)
	workloads := finding.Resource{Group: "apps", Kind: "Deployment", Namespace: "ns", Name: "operator"}
	cases{
		"an operator brings CRDs": {
			Input{Ladder: ladder(220), Components: []model.Component{operator}, Objects: []Object{
				{Component: "operator", Resource: definition}, {Component: "operator", Resource: workloads},
			}},
			[]string{"warning crds-bundled-with-operator operator - CustomResourceDefinition widgets.acme.example"},
		},
		"CRDs alone": {
			Input{Ladder: ladder(210), Components: []model.Component{on(210, "crds", "data", model.CRDs)}, Objects: []Object{
				{Component: "crds", Resource: definition},
			}}, nil,
		},
		"an Application brings CRDs": {
			Input{Ladder: ladder(220), Components: []model.Component{at("operator", 1)}, Objects: []Object{
				{Component: "operator", Resource: definition}, {Component: "operator", Resource: workloads},
			}}, nil,
		},
	}.run(t)

	job := func(phase model.Phase) model.Component { return on(phase, "job", "data", model.Bootstrap) }
	runtime := on(250, "store", "data", model.Runtime)
	cases{
		"a bootstrap before its runtime": {
			Input{Ladder: ladder(225, 250), Components: []model.Component{job(225), runtime}, Edges: []plan.Edge{declares("job", "store")}},
			[]string{"error bootstrap-before-runtime job store -"},
		},
		"a bootstrap behind its runtime": {
			Input{Ladder: ladder(250, 255), Components: []model.Component{job(255), runtime}, Edges: []plan.Edge{declares("job", "store")}}, nil,
		},
	}.run(t)

	stores := finding.Resource{Group: "external-secrets.io", Kind: "ClusterSecretStore", Name: "vault"}
	holds := []Object{{Component: "store", Resource: stores, Health: "builtin"}}
	secrets := func(phase model.Phase) model.Component { return on(phase, "store", "data", model.Secrets) }
	cases{
		"a store before its runtime": {
			Input{Ladder: ladder(230, 250), Components: []model.Component{secrets(230), on(250, "vault", "data", model.Runtime)},
				Objects: holds, Edges: []plan.Edge{declares("store", "vault")}},
			[]string{"error store-before-runtime store vault ClusterSecretStore vault"},
		},
		"a store beside the bootstrap of its runtime": {
			Input{Ladder: ladder(250, 255), Components: []model.Component{secrets(255), on(255, "unseal", "data", model.Bootstrap), on(250, "vault", "data", model.Runtime)},
				Objects: holds, Edges: []plan.Edge{declares("store", "vault"), declares("store", "unseal"), declares("unseal", "vault")}},
			[]string{"warning store-before-runtime store unseal ClusterSecretStore vault"},
		},
		"a store beside a bootstrap of something else": {
			Input{Ladder: ladder(250, 255), Components: []model.Component{secrets(255), on(255, "check", "data", model.Bootstrap), on(250, "vault", "data", model.Runtime)},
				Objects: holds, Edges: []plan.Edge{declares("store", "check")}},
			[]string{"warning declared-edge-against-order store check -"},
		},
		"a store behind its runtime": {
			Input{Ladder: ladder(250, 256), Components: []model.Component{secrets(256), on(250, "vault", "data", model.Runtime)},
				Objects: holds, Edges: []plan.Edge{declares("store", "vault")}}, nil,
		},
	}.run(t)
}

// rolled is an ApplicationSet with RollingSync over the label tier.
func rolled(apps ...argo.Application) argo.Setup {
	in := func(operator string, values ...string) argo.Step {
		return argo.Step{MatchExpressions: []argo.Expression{{Key: "tier", Operator: operator, Values: values}}}
	}
	set := argo.ApplicationSet{Name: "all", RollingSync: true, Position: finding.Position{File: "set.yaml", Line: 1},
		Steps: []argo.Step{in("In", "infra"), in("NotIn", "infra", "apps"), in("In", "apps")}}
	for i := range apps {
		apps[i].Set = "all"
		set.Applications = append(set.Applications, apps[i].Name)
	}
	return argo.Setup{ApplicationSets: []argo.ApplicationSet{set}, Applications: apps, Settings: argo.Settings{ProgressiveSyncs: argo.Switch{On: true}}}
}

func TestRollingSyncSteps(t *testing.T) {
	app := func(name, tier string) argo.Application {
		a := argo.Application{Name: name, Labels: map[string]string{}, Position: finding.Position{File: "set.yaml", Line: 1}}
		if tier != "" {
			a.Labels["tier"] = tier
		}
		return a
	}
	full := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	several := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	several.ApplicationSets[0].Steps[1].MatchExpressions[0].Values = []string{"apps"}
	none := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"), app("d", "late"))
	none.ApplicationSets[0].Steps[1].MatchExpressions = []argo.Expression{{Key: "tier", Operator: "In", Values: []string{"data"}}}
	missing := rolled(app("a", "infra"), app("b", ""), app("c", "apps"))
	everything := rolled(app("a", "infra"))
	everything.ApplicationSets[0].Steps = []argo.Step{{Position: finding.Position{File: "set.yaml", Line: 5}}}
	automated := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	automated.Applications[0].Automated, automated.Applications[0].SelfHeal = true, true
	stamped := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	stamped.ApplicationSets[0].TemplateWave = argo.Wave{Value: 2, Written: "2", Position: finding.Position{File: "set.yaml", Line: 20}}
	off := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	off.ApplicationSets[0].TemplateWave = stamped.ApplicationSets[0].TemplateWave
	off.Settings.ProgressiveSyncs.On = false
	off.Settings.Started = finding.Position{File: "argocd.yaml", Line: 1}
	unordered := rolled()
	unordered.ApplicationSets[0].TemplateWave, unordered.ApplicationSets[0].Steps = stamped.ApplicationSets[0].TemplateWave, nil
	same := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	same.ApplicationSets[0].TemplateWave, same.ApplicationSets[0].Wave = stamped.ApplicationSets[0].TemplateWave, argo.Wave{Value: 2, Written: "2"}
	open := rolled(app("a", "infra"), app("b", "data"), app("c", "apps"))
	open.Settings.ProgressiveSyncs.On = false
	cases{
		"how Argo CD is started is elsewhere":    {Input{Argo: open}, []string{"info progressive-syncs-off all - ApplicationSet all"}},
		"each matches one step":                  {Input{Argo: full}, nil},
		"one matches two steps":                  {Input{Argo: several}, []string{"warning app-in-several-steps a - Application a"}},
		"one matches none":                       {Input{Argo: none}, []string{"error phase-without-step d - Application d"}},
		"a missing label passes NotIn":           {Input{Argo: missing}, nil},
		"a step matches none":                    {Input{Argo: rolled(app("a", "infra"), app("c", "apps"))}, []string{"info step-without-phase - - -"}},
		"a step without expressions matches all": {Input{Argo: everything}, nil},
		"automated sync":                         {Input{Argo: automated}, []string{"info automated-sync-under-rollingsync all - ApplicationSet all"}},
		"a wave in the template":                 {Input{Argo: unordered}, []string{"warning wave-on-generated-application all - ApplicationSet all"}},
		"a wave in the template beside steps":    {Input{Argo: stamped}, []string{"info wave-on-generated-application all - ApplicationSet all"}},
		"a wave in the template, progressive syncs off": {Input{Argo: off}, []string{
			"warning progressive-syncs-off all - ApplicationSet all", "warning wave-on-generated-application all - ApplicationSet all",
		}},
		"the wave of the set in the template": {Input{Argo: same}, []string{"info wave-on-generated-application all - ApplicationSet all"}},
	}.run(t)
}
