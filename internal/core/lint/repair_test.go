package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// What a rule finds that one change of the order mends is one finding; what another change
// mends, or none of the order, is not.
func TestOneRepair(t *testing.T) {
	const order = "give web a later sync wave than vault, or vault an earlier one"
	between := func(rule string, severity finding.Severity, line int, fix finding.Fix) finding.Finding {
		return finding.Finding{
			Rule: rule, Severity: severity, Scope: finding.Cross, Component: "web", Provider: "vault",
			Position: finding.Position{File: "web.yaml", Line: line}, Fix: fix,
		}
	}
	plain := finding.Fix{Summary: order, Order: order}
	created := finding.Fix{Summary: "give vault the sync option CreateNamespace=true as well, or " + order, Order: order}
	namespace := between("namespace-before-use", finding.Error, 1, created)
	milder := between("namespace-before-use", finding.Warning, 2, plain)
	secret := between("secret-before-use", finding.Error, 3, plain)
	alone := between("secret-before-use", finding.Error, 4, finding.Fix{Summary: "give Secret x an earlier sync wave than web", Order: "give Secret x an earlier sync wave than web"})
	duplicate := between("duplicate-resource", finding.Warning, 5, finding.Fix{Summary: "remove one of the two"})
	twice := between("duplicate-resource", finding.Warning, 6, finding.Fix{Summary: "remove one of the two"})
	elsewhere := secret
	elsewhere.Environment = "prod"
	other := secret
	other.Component = "api"
	patched := secret
	patched.Fix.Patch, patched.Fix.Moves = "diff", true

	also := func(f finding.Finding, others ...finding.Finding) finding.Finding {
		f.Also = others
		return f
	}
	mended := also(namespace, milder)
	mended.Fix.Summary = order
	withPatch := also(between("secret-before-use", finding.Error, 1, plain), patched)
	withPatch.Fix.Patch, withPatch.Fix.Moves = "diff", true

	for name, test := range map[string]struct{ found, want []finding.Finding }{
		"the gravest speaks":     {[]finding.Finding{milder, namespace}, []finding.Finding{mended}},
		"of each rule":           {[]finding.Finding{namespace, secret}, []finding.Finding{namespace, secret}},
		"the patch of another":   {[]finding.Finding{between("secret-before-use", finding.Error, 1, plain), patched}, []finding.Finding{withPatch}},
		"another change":         {[]finding.Finding{secret, alone}, []finding.Finding{secret, alone}},
		"no change of the order": {[]finding.Finding{secret, duplicate, twice}, []finding.Finding{secret, duplicate, twice}},
		"another environment":    {[]finding.Finding{elsewhere, secret}, []finding.Finding{secret, elsewhere}},
		"another component":      {[]finding.Finding{secret, other}, []finding.Finding{other, secret}},
		"nothing":                {nil, nil},
	} {
		if diff := cmp.Diff(test.want, lint.OneRepair(test.found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What several components cannot be rendered for is told once in each environment.
func TestOneReason(t *testing.T) {
	failed := func(component, message string) finding.Finding {
		return finding.Finding{Rule: lint.RuleRenderFailed, Severity: finding.Warning, Component: component, Message: message}
	}
	a, b, c := failed("a", "no repository"), failed("b", "no repository"), failed("c", "another reason")
	elsewhere, graver := failed("d", "no repository"), failed("e", "no repository")
	elsewhere.Environment, graver.Severity = "prod", finding.Error
	both := a
	both.Also = []finding.Finding{b}
	if diff := cmp.Diff([]finding.Finding{both, c, elsewhere, graver}, lint.OneReason([]finding.Finding{a, b, c, elsewhere, graver})); diff != "" {
		t.Error(diff)
	}
}
