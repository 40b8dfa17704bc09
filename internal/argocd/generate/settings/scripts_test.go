package settings_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	// Numbers become int64, as client-go reads them.
	j, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = u.UnmarshalJSON(j)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func rendered(t *testing.T, texts ...string) []manifest.Object {
	t.Helper()
	var out []manifest.Object
	for _, text := range texts {
		out = append(out, manifest.Object{Unstructured: object(t, text)})
	}
	return out
}

func build(t *testing.T, in settings.Input) settings.Result {
	t.Helper()
	r, err := settings.Build(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// assessor assesses as an Argo CD with these settings does.
func assessor(t *testing.T, r settings.Result) *health.Assessor {
	t.Helper()
	scripts, problems, err := health.FromArgoCM(t.Context(), r.Settings.Data)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	a := health.New(health.WithScripts(scripts))
	return a
}

func keysOf(data map[string]string) []string {
	var out []string
	for key := range data {
		out = append(out, key)
	}
	slices.Sort(out)
	return out
}

// inArgo runs a script with what Argo CD gives to scripts of argocd-cm: tables,
// the basic functions, no strings and no mathematics. Source: Argo CD, util/lua,
// runLuaWithResourceActionParameters.
func inArgo(t *testing.T, script string, obj map[string]any) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := l.CallByParam(lua.P{Fn: l.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", value(l, obj))
	if err := l.DoString(script); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	result, ok := l.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("returned %v", l.Get(-1))
	}
	return lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))
}

func value(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		out := l.NewTable()
		for _, item := range v {
			out.Append(value(l, item))
		}
		return out
	case map[string]any:
		out := l.NewTable()
		for key, item := range v {
			out.RawSetString(key, value(l, item))
		}
		return out
	default:
		return lua.LNil
	}
}

// ready is a kind whose health is its condition Ready.
func ready(condition string) map[string]rollout.Health {
	return map[string]rollout.Health{
		"":           rollout.Progressing,
		"status: {}": rollout.Progressing,
		`status: {conditions: [{type: ` + condition + `, status: "False", message: soon}]}`:                                                            rollout.Progressing,
		`status: {conditions: [{type: ` + condition + `, status: "True"}]}`:                                                                            rollout.Healthy,
		`status: {observedGeneration: 2, conditions: [{type: ` + condition + `, status: "True"}]}`:                                                     rollout.Progressing,
		`status: {observedGeneration: 3, conditions: [{type: ` + condition + `, status: "True"}]}`:                                                     rollout.Healthy,
		`status: {conditions: [{type: ` + condition + `, status: "True", observedGeneration: 1}]}`:                                                     rollout.Progressing,
		`status: {conditions: [{type: Old, status: "True", observedGeneration: 1}, {type: ` + condition + `, status: "True", observedGeneration: 3}]}`: rollout.Healthy,
	}
}

func with(base map[string]rollout.Health, more map[string]rollout.Health) map[string]rollout.Health {
	for k, v := range more {
		base[k] = v
	}
	return base
}

// states are objects of every kind that there is a script for, at generation 3,
// with their health.
func states() map[schema.GroupKind]map[string]rollout.Health {
	progressing, healthy, degraded := rollout.Progressing, rollout.Healthy, rollout.Degraded
	jetstream := with(ready("Ready"), map[string]rollout.Health{`status: {conditions: [{type: Ready, status: "False", reason: Errored, message: no server}]}`: degraded})
	route := map[string]rollout.Health{
		"": progressing, "status: {parents: []}": progressing,
		`status: {parents: [{conditions: [{type: Accepted, status: "True"}, {type: ResolvedRefs, status: "True"}]}]}`:  healthy,
		`status: {parents: [{conditions: [{type: Accepted, status: "True"}, {type: ResolvedRefs, status: "False"}]}]}`: degraded,
	}
	all := map[schema.GroupKind]map[string]rollout.Health{}
	add := func(group, kinds string, states map[string]rollout.Health) {
		for _, kind := range strings.Fields(kinds) {
			all[schema.GroupKind{Group: group, Kind: kind}] = states
		}
	}
	add("postgresql.cnpg.io", "Database", map[string]rollout.Health{
		"": progressing, "status: {applied: true}": healthy, "status: {applied: false, message: no role}": degraded,
		"status: {applied: true, observedGeneration: 2}": progressing, "status: {applied: true, observedGeneration: 3}": healthy,
	})
	add("postgresql.cnpg.io", "Pooler", map[string]rollout.Health{
		"": progressing, "{spec: {instances: 3}, status: {instances: 2}}": progressing, "{spec: {instances: 3}, status: {instances: 3}}": healthy, "status: {instances: 1}": healthy,
	})
	add("k8s.keycloak.org", "KeycloakRealmImport", map[string]rollout.Health{
		"": progressing,
		`status: {conditions: [{type: Done, status: "False"}, {type: Started, status: "True"}]}`:               progressing,
		`status: {conditions: [{type: Done, status: "True"}, {type: HasErrors, status: "False"}]}`:             healthy,
		`status: {conditions: [{type: Done, status: "True"}, {type: HasErrors, status: "True", message: no}]}`: degraded,
		`status: {conditions: [{type: Done, status: "True", observedGeneration: 2}]}`:                          progressing,
	})
	add("temporal.io", "TemporalCluster TemporalNamespace TemporalSchedule", ready("Ready"))
	add("kagent.dev", "Agent", ready("Ready"))
	add("kro.run", "ResourceGraphDefinition", ready("Ready"))
	add("jetstream.nats.io", "Account Consumer KeyValue ObjectStore Stream", jetstream)
	add("monitoring.coreos.com", "PrometheusAgent ThanosRuler", ready("Available"))
	add("monitoring.coreos.com", "Alertmanager", with(ready("Available"), map[string]rollout.Health{`status: {conditions: [{type: Available, status: Degraded}]}`: degraded}))
	add("velero.io", "BackupStorageLocation", map[string]rollout.Health{"": progressing, "status: {phase: Available}": healthy, "status: {phase: Unavailable}": degraded})
	add("gateway.networking.k8s.io", "TCPRoute TLSRoute UDPRoute", route)
	// Kinds that an older Argo CD assesses otherwise.
	add("gateway.networking.k8s.io", "GatewayClass", map[string]rollout.Health{
		"": progressing, `status: {conditions: [{type: Accepted, status: Unknown}]}`: progressing,
		`status: {conditions: [{type: Accepted, status: "True", observedGeneration: 3}]}`: healthy, `status: {conditions: [{type: Accepted, status: "True", observedGeneration: 2}]}`: progressing,
		`status: {conditions: [{type: Accepted, status: "False", message: no}]}`: degraded,
	})
	add("apiextensions.k8s.io", "CustomResourceDefinition", map[string]rollout.Health{
		"": progressing, "status: {conditions: []}": progressing,
		`status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "False", reason: Installing}]}`: progressing,
		`status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}`:                      healthy,
		`status: {conditions: [{type: NamesAccepted, status: "False", message: taken}, {type: Established, status: "False"}]}`:    degraded,
		`status: {conditions: [{type: NonStructuralSchema, status: "True"}, {type: Established, status: "True"}]}`:                degraded,
		`status: {conditions: [{type: Established, status: "False", reason: InvalidCABundle}]}`:                                   degraded,
	})
	add("postgresql.cnpg.io", "Cluster", map[string]rollout.Health{
		"": progressing, "status: {}": progressing, "status: {conditions: [], phase: Setting up primary}": progressing,
		`status: {conditions: [{type: Ready, status: "True"}], phase: Cluster in healthy state}`: healthy,
		`status: {conditions: [{type: Ready, status: "False"}], phase: Failing over}`:            degraded,
	})
	synced := map[string]rollout.Health{
		"": progressing, "status: {}": progressing, "status: {conditions: []}": progressing,
		`status: {conditions: [{type: Synced, status: "False", message: denied}]}`:                                                            degraded,
		`status: {conditions: [{type: LastAsyncOperation, status: "False", message: denied}, {type: Ready, status: "True"}]}`:                 degraded,
		`status: {conditions: [{type: Synced, status: "True"}, {type: Ready, status: "False"}]}`:                                              progressing,
		`status: {conditions: [{type: Synced, status: "True"}, {type: Ready, status: "True"}]}`:                                               healthy,
		`status: {conditions: [{type: Synced, status: "True", observedGeneration: 2}, {type: Ready, status: "True", observedGeneration: 2}]}`: progressing,
	}
	add("kubernetes.crossplane.io", "Object", synced)
	add("s3.aws.upbound.io", "Bucket", synced)
	add("apiextensions.crossplane.io", "CompositeResourceDefinition", map[string]rollout.Health{
		"": progressing, `status: {conditions: [{type: Established, status: "False"}]}`: progressing, `status: {conditions: [{type: Established, status: "True"}, {type: Offered, status: "True"}]}`: healthy,
	})
	add("pkg.crossplane.io", "Function", map[string]rollout.Health{
		"": progressing, `status: {conditions: [{type: Installed, status: "True"}]}`: progressing, `status: {conditions: [{type: Installed, status: "True"}, {type: Healthy, status: "True"}]}`: healthy,
	})
	return all
}

// state is an object of a kind; the text is its status, or several fields.
func state(t *testing.T, gk schema.GroupKind, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if text != "" {
		fields := map[string]any{}
		j, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			inner := &unstructured.Unstructured{}
			if err = inner.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"X",` + strings.TrimPrefix(string(j), "{"))); err == nil {
				fields = inner.Object
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		u.Object = fields
	}
	u.SetGroupVersionKind(gk.WithVersion("v1"))
	u.SetName("a")
	u.SetGeneration(3)
	if u.Object["spec"] == nil {
		u.Object["spec"] = map[string]any{}
	}
	return u
}

// Every kind that gates and that Argo CD does not assess has a script, and it says
// what a rehearsal says.
func TestScriptsSayWhatARehearsalSays(t *testing.T) {
	all := states()
	for _, gk := range health.OwnKinds() {
		if gk.Group == "argoproj.io" || health.ByWorkloads(gk) {
			continue
		}
		if all[gk] == nil {
			t.Errorf("%s has a script and no states to test it with", gk)
		}
	}
	native := health.New()
	for gk, list := range all {
		t.Run(gk.String(), func(t *testing.T) {
			component := settings.Component{Name: "a", Waited: true, Objects: []manifest.Object{{Unstructured: state(t, gk, "")}}}
			r := build(t, settings.Input{Components: []settings.Component{component}})
			key := "resource.customizations.health." + gk.Group + "_" + gk.Kind
			if diff := cmp.Diff([]string{key}, keysOf(r.Settings.Data)); diff != "" {
				t.Fatal(diff)
			}
			argo := assessor(t, r)
			for text, want := range list {
				obj := state(t, gk, text)
				if got := argo.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("%q is %s (%s), want %s", text, got.Health, got.Message, want)
				}
				if got := native.Assess(t.Context(), obj); got.Health != want {
					t.Errorf("a rehearsal says of %q %s (%s), want %s", text, got.Health, got.Message, want)
				}
				if got, message := inArgo(t, r.Settings.Data[key], obj.Object); got != string(want) {
					t.Errorf("with the libraries of Argo CD %q is %s (%s), want %s", text, got, message, want)
				}
			}
		})
	}
}

func TestWhoGetsAScript(t *testing.T) {
	database := `{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: a}}`
	for name, test := range map[string]struct {
		in    settings.Input
		want  []string
		notes []settings.Note
	}{
		"nothing": {settings.Input{}, nil, nil},
		"a kind that nothing waits for": {
			settings.Input{Components: []settings.Component{{Name: "a", Objects: rendered(t, database)}}}, nil, nil,
		},
		"one component of two is waited for": {
			settings.Input{Components: []settings.Component{{Name: "a", Objects: rendered(t, database)}, {Name: "b", Waited: true, Objects: rendered(t, database)}}},
			[]string{"resource.customizations.health.postgresql.cnpg.io_Database"}, nil,
		},
		"kinds that Argo CD assesses, and that have no health": {
			settings.Input{Components: []settings.Component{{Name: "a", Waited: true, Objects: rendered(t,
				`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
				`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: a}}`, `{apiVersion: apiextensions.crossplane.io/v1, kind: Composition, metadata: {name: a}}`,
				`{apiVersion: pkg.crossplane.io/v1, kind: Provider, metadata: {name: a}}`, `{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: a}}`)}}}, nil, nil,
		},
		"a hook, for which the sync waits": {
			settings.Input{Components: []settings.Component{{Name: "a", Waited: true, Objects: rendered(t,
				`{apiVersion: postgresql.cnpg.io/v1, kind: Database, metadata: {name: a, annotations: {argocd.argoproj.io/hook: PreSync}}}`)}}}, nil, nil,
		},
		"a kind without a status": {
			settings.Input{Components: []settings.Component{{Name: "a", Waited: true, Objects: rendered(t, `{apiVersion: databases.spotahome.com/v1, kind: RedisFailover, metadata: {name: a}}`)}}}, nil,
			[]settings.Note{{Group: "databases.spotahome.com", Kind: "RedisFailover", Components: []string{"a"}, Lost: true, Message: "objects have no status, and Argo CD does not count what their operator makes: a smoke must say that they work"}},
		},
		"kinds of a Crossplane definition": {
			settings.Input{Components: []settings.Component{
				{Name: "api", Waited: true, Objects: rendered(t, `{apiVersion: apiextensions.crossplane.io/v1, kind: CompositeResourceDefinition, metadata: {name: a}, spec: {group: db.example.com, names: {kind: XDatabase}, claimNames: {kind: Database}}}`)},
				{Name: "db", Waited: true, Objects: rendered(t, `{apiVersion: db.example.com/v1, kind: Database, metadata: {name: a}}`)},
			}}, []string{"resource.customizations.health.apiextensions.crossplane.io_CompositeResourceDefinition", "resource.customizations.health.db.example.com_Database"}, nil,
		},
		"Applications in waves": {
			settings.Input{Nested: true},
			[]string{"resource.customizations.health.argoproj.io_Application", "resource.customizations.health.argoproj.io_ApplicationSet"}, nil,
		},
		"a check of a descriptor": {
			settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{{Group: "example.com", Kind: "Thing", CEL: "object.status.ok"}}, Objects: rendered(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`)}}},
			[]string{"resource.customizations.health.example.com_Thing"}, nil,
		},
		"a check that Lua cannot say": {
			settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{{Group: "example.com", Kind: "Thing", CEL: `object.status.phase.startsWith("Up")`}}, Objects: rendered(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`)}}}, nil,
			[]settings.Note{{Group: "example.com", Kind: "Thing", Components: []string{"a"}, Lost: true, Message: "the check of a is not carried over: the function startsWith cannot be said in Argo CD's Lua; write it in Lua"}},
		},
		"a check on what Argo CD assesses in its own code": {
			settings.Input{Components: []settings.Component{{Name: "a", Health: []model.HealthCheck{{Group: "apps", Kind: "Deployment", CEL: "object.status.replicas > 2"}}, Objects: rendered(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}`)}}}, nil,
			[]settings.Note{{Group: "apps", Kind: "Deployment", Components: []string{"a"}, Lost: true, Message: "the check of a is not carried over: Argo CD assesses the kind itself, in a way that a script of argocd-cm cannot repeat"}},
		},
		"a check that others get too": {
			settings.Input{Components: []settings.Component{
				{Name: "a", Health: []model.HealthCheck{{Group: "example.com", Kind: "Thing", Lua: "return {}"}}, Objects: rendered(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`)},
				{Name: "b", Objects: rendered(t, `{apiVersion: example.com/v1, kind: Thing, metadata: {name: b}}`)},
			}},
			[]string{"resource.customizations.health.example.com_Thing"},
			[]settings.Note{{Group: "example.com", Kind: "Thing", Components: []string{"a", "b"}, Message: "the checks of a hold for the objects of b too: Argo CD has one script for a kind"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := build(t, test.in)
			if diff := cmp.Diff(test.want, keysOf(r.Settings.Data)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.notes, r.Notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTwoChecksOnOneKind(t *testing.T) {
	in := settings.Input{}
	for _, name := range []string{"a", "b"} {
		in.Components = append(in.Components, settings.Component{Name: name, Health: []model.HealthCheck{{Group: "example.com", Kind: "Thing", CEL: fmt.Sprintf("object.status.%s", name)}}})
	}
	_, err := settings.Build(t.Context(), in)
	if err == nil || !strings.Contains(err.Error(), "a and b have different health checks on Thing.example.com") {
		t.Errorf("got %v", err)
	}
	in.Components[1].Health = in.Components[0].Health
	if _, err := settings.Build(t.Context(), in); err != nil {
		t.Errorf("the same check twice: %v", err)
	}
}
