package perform

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/component"
)

func TestClusters(t *testing.T) {
	components := []component.Component{
		{Name: "here", Enabled: true}, {Name: "edge", Cluster: "edge", Enabled: true}, {Name: "off", Cluster: "far"},
	}
	if diff := cmp.Diff([]string{"edge", "in-cluster"}, clustersOf(components, nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"edge"}, clustersOf(components, map[string]bool{"edge": true, "off": true})); diff != "" {
		t.Error(diff)
	}
	if found := Spread(components); len(found) != 1 || found[0].Component != "edge" {
		t.Errorf("the warning: %v", found)
	}
	if found := Spread(components[:1]); found != nil {
		t.Errorf("one cluster: %v", found)
	}
}
