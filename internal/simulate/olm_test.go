package simulate

import (
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

// TestOLM evaluates what the rules of OLM make of its objects: a known package, one
// that is not known, an OperatorGroup of a mode that is not supported.
func TestOLM(t *testing.T) {
	set, err := LoadRules(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind string) *rule.CompiledOperator {
		i := slices.IndexFunc(set.Operators, func(o *rule.CompiledOperator) bool { return slices.Contains(o.For, "operators.coreos.com/"+kind) })
		if i < 0 {
			t.Fatalf("there is no rule for %s", kind)
		}
		return set.Operators[i]
	}
	group := func(targets ...any) map[string]any {
		return map[string]any{"found": true, "object": map[string]any{"spec": map[string]any{"targetNamespaces": targets}}}
	}
	for _, c := range []struct {
		kind, pack string
		spec       map[string]any
		group      map[string]any
		made       map[string]int // by the kind of what is made
		unmet      int            // requirements on things that are never there
	}{
		{kind: "Subscription", spec: map[string]any{"name": "loki-operator", "source": "hub", "sourceNamespace": "olm"}, made: map[string]int{"InstallPlan": 1}},
		{kind: "InstallPlan", pack: "loki-operator", spec: map[string]any{"approved": true, "clusterServiceVersionNames": []any{"loki-operator.v1"}}, group: group(),
			made: map[string]int{"CustomResourceDefinition": 4, "ClusterServiceVersion": 1}},
		{kind: "InstallPlan", pack: "not-known", spec: map[string]any{"approved": true, "clusterServiceVersionNames": []any{"x.v1"}}, group: group(),
			made: map[string]int{"ClusterServiceVersion": 1}},
		{kind: "ClusterServiceVersion", pack: "loki-operator", group: group(),
			made: map[string]int{"Deployment": 1, "Service": 1, "ValidatingWebhookConfiguration": 1}},
		{kind: "ClusterServiceVersion", pack: "loki-operator", group: group("logs"), unmet: 1,
			made: map[string]int{"Deployment": 1, "Service": 1, "ValidatingWebhookConfiguration": 1}},
		{kind: "ClusterServiceVersion", pack: "not-known", group: group("logs"), made: map[string]int{}},
	} {
		o := of(c.kind)
		self := map[string]any{
			"metadata": map[string]any{"name": "one", "namespace": "logs", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": map[string]any{"ladder.rollout-ladder.dev/package": c.pack}},
			"spec":     c.spec,
		}
		refs := map[string]any{}
		scope := rule.Scope{"self": self, "refs": refs}
		vars, err := o.VarValues.Map(t.Context(), scope)
		if err != nil {
			t.Errorf("%s of %s: %v", c.kind, c.pack, err)
			continue
		}
		scope["vars"] = vars
		unmet := 0
		for i, r := range o.Requirements {
			all, err := r.Looked.All(t.Context(), scope)
			if err != nil {
				t.Errorf("%s of %s: requires[%d]: %v", c.kind, c.pack, i, err)
				continue
			}
			found := []any{}
			for _, made := range all {
				looked, err := made.Map()
				if err != nil {
					t.Fatal(err)
				}
				f := map[string]any{"found": false, "ready": false, "item": made.Item, "object": nil}
				if r.Name == "groups" {
					f = c.group
				}
				if looked["object"] == "one-that-is-supported" {
					unmet++
				}
				found = append(found, f)
			}
			if r.Name != "" {
				refs[r.Name] = found
			}
		}
		made := map[string]int{}
		for i, child := range o.ChildRules {
			all, err := child.Objects.All(t.Context(), scope)
			if err != nil {
				t.Errorf("%s of %s: children[%d]: %v", c.kind, c.pack, i, err)
			}
			for _, m := range all {
				object, err := m.Map()
				if err != nil {
					t.Fatal(err)
				}
				made[object["kind"].(string)]++
			}
		}
		for _, status := range []*rule.Evaluation{o.Ready, o.Waiting} {
			if _, err := status.Map(t.Context(), scope); err != nil {
				t.Errorf("%s of %s: status: %v", c.kind, c.pack, err)
			}
		}
		if len(made) != len(c.made) || unmet != c.unmet {
			t.Errorf("%s of %s makes %v, want %v; %d requirements cannot be met, want %d", c.kind, c.pack, made, c.made, unmet, c.unmet)
		}
		for kind, n := range c.made {
			if made[kind] != n {
				t.Errorf("%s of %s makes %d %s, want %d", c.kind, c.pack, made[kind], kind, n)
			}
		}
	}
}
