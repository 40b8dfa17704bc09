package session

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// RuleArgoCM is the rule of findings about the health scripts in the settings of
// Argo CD.
const RuleArgoCM = "argocd-cm"

// Scripts collects the health scripts of every ConfigMap argocd-cm that an
// enabled component renders, and what is wrong with them. Where several are
// rendered, those of the component that comes first win. Where none is, they are
// what the repository writes of argocd-cm in any other form.
func Scripts(ctx context.Context, loaded *analysis.Result) ([]health.Script, []finding.Finding, error) {
	rendered := Settings(loaded)
	if len(rendered) == 0 {
		return writtenScripts(ctx, loaded)
	}
	var scripts []health.Script
	var findings []finding.Finding
	for _, r := range rendered {
		data, _, err := unstructured.NestedStringMap(r.Object.Object, "data")
		if err != nil {
			continue // the API server will say so
		}
		own, problems, err := health.FromArgoCM(ctx, data)
		if err != nil {
			return nil, nil, fmt.Errorf("%s of component %s: %w", health.ArgoCM, r.Component.Name, err)
		}
		for _, s := range own {
			s.Source = fmt.Sprintf("%s of component %s (%s)", s.Source, r.Component.Name, r.Object.Origin.Position())
			scripts = append(scripts, s)
		}
		for _, p := range problems {
			f := aboutScript(p, r.Object.Origin.Position())
			f.Environment, f.Component, f.Resource = r.Component.Environment, r.Component.Name, r.Object.Resource()
			findings = append(findings, f)
		}
	}
	return scripts, findings, nil
}

// RenderedSettings is a ConfigMap argocd-cm and the component that renders it.
type RenderedSettings struct {
	Component model.Component
	Object    manifest.Object
}

// Settings are the ConfigMaps argocd-cm that the enabled components render, in
// their order.
func Settings(loaded *analysis.Result) []RenderedSettings {
	var all []RenderedSettings
	for _, c := range Enabled(loaded) {
		for _, o := range loaded.Objects[c.Name] {
			if r := o.Resource(); r.Group == "" && r.Kind == "ConfigMap" && r.Name == health.ArgoCM {
				all = append(all, RenderedSettings{c, o})
			}
		}
	}
	return all
}

// writtenScripts are the health scripts in the settings that the repository writes.
func writtenScripts(ctx context.Context, loaded *analysis.Result) ([]health.Script, []finding.Finding, error) {
	written, contested := loaded.Platform.Argo.Settings.Data()
	data := map[string]string{}
	for key, w := range written {
		data[key] = w.Text
	}
	scripts, problems, err := health.FromArgoCM(ctx, data)
	if err != nil {
		return nil, nil, fmt.Errorf("the settings of Argo CD: %w", err)
	}
	// The key that holds all kinds is named with the kind in brackets.
	at := func(key string) finding.Position {
		key, _, _ = strings.Cut(key, "[")
		return written[key].Position
	}
	for i, s := range scripts {
		scripts[i].Source = fmt.Sprintf("%s (%s)", s.Source, at(s.Source))
	}
	var findings []finding.Finding
	for _, p := range problems {
		f := aboutScript(p, at(p.Key))
		f.Environment = loaded.Platform.Environment
		findings = append(findings, f)
	}
	for _, several := range contested {
		f := finding.Finding{
			Rule: RuleArgoCM, Severity: finding.Info, Scope: finding.Rule, Environment: loaded.Platform.Environment, Position: several[0].Position, Basis: finding.Declared,
			Message: several[0].Key + ": what this installation has is not told, so it is left out",
		}
		for _, w := range several {
			f.Evidence = append(f.Evidence, finding.Evidence{Text: "it is written here", File: w.Position.File, Line: w.Position.Line})
		}
		findings = append(findings, f)
	}
	return scripts, findings, nil
}

func aboutScript(p health.Problem, at finding.Position) finding.Finding {
	f := finding.Finding{Rule: RuleArgoCM, Severity: finding.Info, Scope: finding.Rule, Position: at, Basis: finding.Rendered, Message: p.Key + ": " + p.Message}
	if p.Wrong {
		f.Severity = finding.Warning
	}
	return f
}

// Assessor judges objects as Argo CD does with the settings that the platform renders.
func Assessor(ctx context.Context, loaded *analysis.Result, now func() time.Time) (*health.Assessor, error) {
	scripts, _, err := Scripts(ctx, loaded)
	if err != nil {
		return nil, err
	}
	return health.New(health.WithClock(now), health.WithScripts(scripts)), nil
}
