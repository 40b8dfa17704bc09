package session

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// TestBroughtBy: of an object that cannot be applied is told which component brings what it
// needs, where that was not rendered.
func TestBroughtBy(t *testing.T) {
	issuer := finding.Resource{Group: "cert-manager.io", Kind: "ClusterIssuer", Name: "ca"}
	need := dependency.Dependency{
		Strength: plan.Hard, Basis: finding.Catalogue, Effect: dependency.Apply, Reason: "is of kind ClusterIssuer of cert-manager.io",
		Consumer: dependency.End{Component: "config", Object: issuer}, Provider: dependency.End{Component: "cert-manager"},
		Evidence: []finding.Evidence{{Text: "ClusterIssuer ca is of that kind"}, {Text: "provided by cert-manager, by chart cert-manager v1"}},
	}
	changed := func(change func(*dependency.Dependency)) dependency.Dependency {
		d := need
		change(&d)
		return d
	}
	ready := changed(func(d *dependency.Dependency) { d.Effect, d.Reason = dependency.Ready, "is reconciled by it" })
	want := "; it is of kind ClusterIssuer of cert-manager.io, provided by cert-manager, by chart cert-manager v1, which was not rendered"
	for name, c := range map[string]struct {
		all    []dependency.Dependency
		object finding.Resource
		want   string
	}{
		"it is known": {[]dependency.Dependency{need, need}, finding.Resource{Group: "cert-manager.io", Kind: "ClusterIssuer", Namespace: "default", Name: "ca"}, want},
		"it speaks for several": {[]dependency.Dependency{changed(func(d *dependency.Dependency) {
			d.Consumer.Object.Name, d.Unready = "first", []dependency.End{{Object: issuer}}
		})}, issuer, want},
		"it speaks for its kind": {[]dependency.Dependency{ready, changed(func(d *dependency.Dependency) {
			d.Consumer.Object.Name, d.Required.Kind = "first", "CustomResourceDefinition"
		})}, issuer, want},
		"another object":            {[]dependency.Dependency{need}, finding.Resource{Kind: "ConfigMap", Name: "ca"}, ""},
		"the provider was rendered": {[]dependency.Dependency{changed(func(d *dependency.Dependency) { d.Provider.Component = "there" })}, issuer, ""},
		"another component":         {[]dependency.Dependency{changed(func(d *dependency.Dependency) { d.Consumer.Component = "other" })}, issuer, ""},
		"it comes up without":       {[]dependency.Dependency{changed(func(d *dependency.Dependency) { d.Strength = plan.Soft })}, issuer, ""},
		"nobody knows it":           {[]dependency.Dependency{changed(func(d *dependency.Dependency) { d.Basis = finding.Declared })}, issuer, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := broughtBy(c.all, "config", c.object, map[string]bool{"cert-manager": true}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
