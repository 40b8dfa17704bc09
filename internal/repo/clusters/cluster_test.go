package clusters_test

import (
	"slices"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/clusters"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func in(key string, values ...string) appset.Requirement {
	return appset.Requirement{Key: key, Operator: "In", Values: values}
}

func TestNoLabelHasTwoValues(t *testing.T) {
	hub := clusters.Cluster{Origin: "Terraform"}
	hub.Labels = map[string]string{"role": "hub", "enable_off": "false"}
	for name, c := range map[string]struct {
		selector appset.Selector
		denied   map[string]bool
		ok       bool
		needs    []clusters.Named
	}{
		"it has it":                     {selector: appset.Selector{in("role", "hub", "spoke")}, ok: true},
		"it has another":                {selector: appset.Selector{in("role", "spoke")}},
		"it is switched off":            {selector: appset.Selector{in("enable_off", "true")}},
		"a switch may be on":            {selector: appset.Selector{in("enable_x", "true")}, ok: true, needs: []clusters.Named{{Key: "enable_x", Value: "true"}}},
		"what it is otherwise it says":  {selector: appset.Selector{in("tier", "gold")}},
		"another set needs it not":      {selector: appset.Selector{in("enable_x", "true")}, denied: map[string]bool{"enable_x": true}},
		"the type of the Secret is set": {selector: appset.Selector{in("argocd.argoproj.io/secret-type", "cluster")}, ok: true},
		"two of one selector":           {selector: appset.Selector{in("enable_x", "true"), {Key: "enable_x", Operator: "DoesNotExist"}}},
	} {
		needs, ok := hub.Meet(c.selector, c.denied)
		if ok != c.ok || ok && !slices.Equal(needs, c.needs) {
			t.Errorf("%s: needs %v, %v; want %v, %v", name, needs, ok, c.needs, c.ok)
		}
	}
	spoke, ok := clusters.Selected(appset.Selector{in("role", "spoke")}, finding.Position{})
	if !ok || spoke.Labels["role"] != "spoke" {
		t.Errorf("the cluster that only a selector tells of is %v", spoke.Labels)
	}
	if _, ok := spoke.Meet(appset.Selector{in("role", "hub")}, nil); ok {
		t.Error("a spoke is a hub")
	}
}

func TestReadsNoDataOfASecret(t *testing.T) {
	v, err := yamldoc.ParseOne("c.yaml", []byte(`kind: Secret
metadata: {name: east, labels: {argocd.argoproj.io/secret-type: cluster, tier: "${TIER}"}}
data: {name: ZWFzdA==, server: aHR0cHM6Ly94, config: aHVudGVyMg==}
`))
	if err != nil {
		t.Fatal(err)
	}
	c, ok := clusters.FromObject(v)
	if !ok || !appset.IsMarked(c.Name) || !appset.IsMarked(c.Server) || !appset.IsMarked(c.Labels["tier"]) {
		t.Errorf("the cluster is %+v, %v", c, ok)
	}
	if settled := c.Settled(); settled.Name != "east" {
		t.Errorf("it is called %s", settled.Name)
	}
}
