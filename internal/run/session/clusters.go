package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// RuleSeveralClusters says that the components of a rollout go to several clusters.
const RuleSeveralClusters = "several-clusters"

// SeveralClustersError says that a rollout without Argo CD would bring to one cluster
// what belongs to several.
type SeveralClustersError struct{ Clusters []string }

// Error implements error.
func (e *SeveralClustersError) Error() string {
	return fmt.Sprintf("the components go to %d clusters (%s), and without Argo CD all would come to one: choose those of one with --only cluster=%s, or roll out with --engine argocd",
		len(e.Clusters), strings.Join(e.Clusters, ", "), e.Clusters[0])
}

// clustersOf lists the clusters that enabled components go to, sorted. selected are
// those that count; nil for all.
func clustersOf(components []model.Component, selected map[string]bool) []string {
	seen := map[string]bool{}
	for _, c := range components {
		if !c.Enabled || selected != nil && !selected[c.Name] {
			continue
		}
		seen[c.ClusterName()] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// Spread warns of components of several clusters: a rehearsal has one.
func Spread(components []model.Component) []finding.Finding {
	clusters := clustersOf(components, nil)
	if len(clusters) < 2 {
		return nil
	}
	first := components[slices.IndexFunc(components, func(c model.Component) bool { return c.Enabled && c.Cluster != "" })]
	return []finding.Finding{{
		Rule: RuleSeveralClusters, Severity: finding.Warning, Scope: finding.Rule, Environment: first.Environment, Component: first.Name,
		Position: first.Position, Basis: finding.Declared,
		Message: fmt.Sprintf("the components go to %d clusters (%s); here all come to one, where they may meet", len(clusters), strings.Join(clusters, ", ")),
	}}
}
