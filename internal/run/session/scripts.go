package session

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// RuleArgoCM is the rule of findings about the health scripts in the settings of
// Argo CD.
const RuleArgoCM = "argocd-cm"

// Scripts collects the health scripts of every ConfigMap argocd-cm that an
// enabled component renders, and what is wrong with them. Where several are
// rendered, those of the component that comes first win.
func Scripts(ctx context.Context, loaded *analysis.Result) ([]health.Script, []finding.Finding, error) {
	var scripts []health.Script
	var findings []finding.Finding
	for _, c := range Enabled(loaded) {
		for _, o := range loaded.Objects[c.Name] {
			if r := o.Resource(); r.Group != "" || r.Kind != "ConfigMap" || r.Name != health.ArgoCM {
				continue
			}
			data, _, err := unstructured.NestedStringMap(o.Object, "data")
			if err != nil {
				continue // the API server will say so
			}
			own, problems, err := health.FromArgoCM(ctx, data)
			if err != nil {
				return nil, nil, fmt.Errorf("%s of component %s: %w", health.ArgoCM, c.Name, err)
			}
			for _, s := range own {
				s.Source = fmt.Sprintf("%s of component %s (%s)", s.Source, c.Name, o.Origin.Position())
				scripts = append(scripts, s)
			}
			for _, p := range problems {
				severity := finding.Info
				if p.Wrong {
					severity = finding.Warning
				}
				findings = append(findings, finding.Finding{
					Rule: RuleArgoCM, Severity: severity, Scope: finding.Rule, Environment: c.Environment, Component: c.Name,
					Resource: o.Resource(), Position: o.Origin.Position(), Basis: finding.Rendered,
					Message: p.Key + ": " + p.Message,
				})
			}
		}
	}
	return scripts, findings, nil
}

// Assessor judges objects as Argo CD does with the settings that the platform renders.
func Assessor(ctx context.Context, loaded *analysis.Result, now func() time.Time) (*health.Assessor, error) {
	scripts, _, err := Scripts(ctx, loaded)
	if err != nil {
		return nil, err
	}
	assessor, err := health.New(ctx, health.WithClock(now), health.WithScripts(scripts))
	if err != nil {
		return nil, fmt.Errorf("read the health scripts: %w", err)
	}
	return assessor, nil
}
