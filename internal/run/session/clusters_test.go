package session

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
)

func TestClusters(t *testing.T) {
	components := []model.Component{
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

// TestOneCluster: only Argo CD brings components to several clusters.
func TestOneCluster(t *testing.T) {
	loaded := &analysis.Result{Platform: &repo.Platform{Components: []model.Component{
		{Name: "here", Enabled: true}, {Name: "edge", Cluster: "edge", Enabled: true},
	}}}
	only := func(names ...string) func(*analysis.Result) ([]model.Component, error) {
		return func(*analysis.Result) ([]model.Component, error) {
			var out []model.Component
			for _, name := range names {
				out = append(out, model.Component{Name: name})
			}
			return out, nil
		}
	}
	for name, c := range map[string]struct {
		options ClusterOptions
		refused bool
	}{
		"all":             {ClusterOptions{Engine: Native}, true},
		"some of both":    {ClusterOptions{Engine: Native, Choose: only("here", "edge")}, true},
		"those of one":    {ClusterOptions{Engine: Native, Choose: only("edge")}, false},
		"both are one":    {ClusterOptions{Engine: Native, Choose: only("here", "edge"), Spread: true}, false},
		"Argo CD does it": {ClusterOptions{Engine: ArgoCD}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.options.selected(loaded)
			if refused := errors.As(err, new(*SeveralClustersError)); refused != c.refused || err != nil && !refused {
				t.Errorf("refused = %v, want %v: %v", refused, c.refused, err)
			}
		})
	}
}
