package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// The rules on what the Operator Lifecycle Manager installs.
const (
	ruleApproval      = "installplan-approval"
	ruleGroupMissing  = "operatorgroup-missing"
	ruleSeveralGroups = "operatorgroups-several"
	ruleInstallMode   = "install-mode-unsupported"
)

// installPlanApproval finds Subscriptions that wait for a person. The health script
// that Argo CD ships leaves such a Subscription Progressing until its operator is
// installed for the first time. Source: argo-cd,
// resource_customizations/operators.coreos.com/Subscription/health.lua.
func installPlanApproval(in Input) []finding.Finding {
	var out []finding.Finding
	for _, i := range enabledInstallations(in) {
		if f, ok := approvalMiswritten(i); ok {
			out = append(out, f)
			continue
		}
		// What its component lacks may be what approves, such as a remote base.
		if !i.Manual() || i.Approved || slices.Contains(in.Unrendered, i.Subscription.Component) {
			continue
		}
		f := ofInstallation(i, ruleApproval, finding.Warning)
		f.Message = fmt.Sprintf("%s of %s has its InstallPlan approved by hand, and nothing in the repository approves it: the operator is not installed, and the Subscription not Healthy, before a person does",
			who(i.Subscription), i.Subscription.Component)
		if later, ok := firstAfter(in, i.Subscription); ok {
			f.Severity = finding.Error
			f.Message += fmt.Sprintf("; the sync waits for that and does not reach %s (%s)", later.Resource.Human(), when(later.Place))
		}
		f.Fix.Summary = "set installPlanApproval: Automatic, or add what approves the InstallPlan of the version that you want"
		out = append(out, f)
	}
	return out
}

// approvalMiswritten finds an approval that OLM does not know, and takes for Automatic.
func approvalMiswritten(i dependency.Installation) (f finding.Finding, wrong bool) {
	switch i.Approval {
	case "", "Automatic", "Manual":
		return f, false
	}
	f = ofInstallation(i, ruleApproval, finding.Warning)
	f.Message = fmt.Sprintf("%s of %s has installPlanApproval: %s, which OLM takes for Automatic, as everything but Manual: nobody is asked before the operator is installed or upgraded",
		who(i.Subscription), i.Subscription.Component, i.Approval)
	f.Fix.Summary = "write Manual or Automatic, with a capital letter"
	if strings.EqualFold(i.Approval, "Automatic") {
		f.Severity = finding.Info
	}
	return f, true
}

// firstAfter is the first object of a component that its sync reaches only once
// another one is Healthy.
func firstAfter(in Input, e dependency.End) (first *Object, ok bool) {
	for i := range in.Objects {
		o := &in.Objects[i]
		if o.Component == e.Component && o.Place.Hook <= 2 && o.Place.Compare(e.Place) > 0 && (first == nil || o.Place.Compare(first.Place) < 0) {
			first = o
		}
	}
	return first, first != nil
}

// operatorGroupMissing finds Subscriptions in namespaces that the repository makes
// and puts no OperatorGroup into. It concludes from absence, so while anything is not
// rendered it speaks only where the component that is read whole makes the namespace
// too, whose group belongs there, and less surely. Source: operator-lifecycle-manager,
// pkg/lib/scoped/querier.go: "no operator group found that is managing this
// namespace".
func operatorGroupMissing(in Input) []finding.Finding {
	var out []finding.Finding
	for _, i := range enabledInstallations(in) {
		ns := i.Subscription.Object.Namespace
		if len(i.Groups) > 0 || !i.OwnNamespace || ns == "" || hasGroup(ns) {
			continue
		}
		severity, nothing := finding.Error, "nothing"
		if len(in.Unrendered) > 0 {
			if slices.Contains(in.Unrendered, i.Subscription.Component) || goesTo(in, ns) || !makesNamespace(in, i.Subscription.Component, ns) {
				continue
			}
			severity, nothing = finding.Warning, "nothing that was read"
		}
		f := ofInstallation(i, ruleGroupMissing, severity)
		f.Message = fmt.Sprintf("%s of %s is in Namespace %s, into which %s puts an OperatorGroup: OLM installs nothing there, and the Subscription is never Healthy",
			who(i.Subscription), i.Subscription.Component, ns, nothing)
		f.Fix.Summary = fmt.Sprintf("add one OperatorGroup to Namespace %s", ns)
		if len(i.Modes) > 0 {
			f.Fix.Summary += fmt.Sprintf("; %s supports %s, %s", i.Package, strings.Join(i.Modes, ", "), i.Known)
		}
		out = append(out, f)
	}
	return out
}

// goesTo reports whether something that is not rendered goes to a namespace.
func goesTo(in Input, namespace string) bool {
	return slices.ContainsFunc(in.Components, func(c model.Component) bool {
		return c.Namespace == namespace && slices.Contains(in.Unrendered, c.Name)
	})
}

// makesNamespace reports whether a component has a Namespace among its objects, or has
// Argo CD make it.
func makesNamespace(in Input, component, name string) bool {
	created := slices.ContainsFunc(in.Components, func(c model.Component) bool {
		return c.Name == component && c.Namespace == name && c.HasSyncOption("CreateNamespace=true")
	})
	return created || slices.ContainsFunc(in.Objects, func(o Object) bool {
		return o.Component == component && o.Resource.Group == "" && o.Resource.Kind == "Namespace" && o.Resource.Name == name
	})
}

// hasGroup reports whether a namespace has an OperatorGroup from the beginning, for
// all namespaces. Source: OLM, deploy/chart/templates/0000_50_olm_13-operatorgroup-default.yaml;
// OpenShift, "About Operator groups".
func hasGroup(ns string) bool {
	return ns == "openshift-operators" || ns == "operators" || ns == "olm" || ns == "openshift-operator-lifecycle-manager" || ns == "openshift-monitoring"
}

// operatorGroupsSeveral finds namespaces with more than one OperatorGroup. Source:
// operator-lifecycle-manager, pkg/lib/scoped/querier.go: "more than one operator
// group(s) are managing this namespace"; the reason of a ClusterServiceVersion,
// TooManyOperatorGroups.
func operatorGroupsSeveral(in Input) []finding.Finding {
	var out []finding.Finding
	seen := map[string]bool{}
	for _, i := range enabledInstallations(in) {
		ns := i.Subscription.Object.Namespace
		own := ns == "openshift-operators" || ns == "operators" // has one already
		if len(i.Groups) == 0 || len(i.Groups) == 1 && (!own || strings.HasPrefix(i.Groups[0].Object.Name, "global-operators")) || seen[ns] {
			continue
		}
		seen[ns] = true
		last := i.Groups[len(i.Groups)-1]
		f := ofInstallation(i, ruleSeveralGroups, finding.Error)
		f.Component, f.Provider, f.Resource, f.Position = last.Component, i.Groups[0].Component, last.Object, last.Position
		f.Evidence = nil
		for _, g := range i.Groups {
			f.Evidence = append(f.Evidence, evidenceOf(g.End, "is an OperatorGroup of Namespace "+ns))
		}
		f.Evidence = append(f.Evidence, evidenceOf(i.Subscription, "is installed in Namespace "+ns))
		other := who(i.Groups[0].End) + " of " + i.Groups[0].Component
		if len(i.Groups) == 1 {
			f.Provider, other = last.Component, "the OperatorGroup global-operators, which is there from the beginning"
		}
		f.Message = fmt.Sprintf("Namespace %s has %s beside %s: OLM installs no operator into a namespace with several OperatorGroups", ns, who(last.End), other)
		f.Fix.Summary = "keep one OperatorGroup for each namespace"
		out = append(out, f)
	}
	return out
}

// installModeUnsupported finds operators whose package does not support the install
// mode that the OperatorGroup makes. Source: OLM, "OperatorGroup", "Target Namespaces
// and their relationship to InstallModes"; the reason UnsupportedOperatorGroup.
func installModeUnsupported(in Input) []finding.Finding {
	var out []finding.Finding
	for _, i := range enabledInstallations(in) {
		ns := i.Subscription.Object.Namespace
		global := ns == "openshift-operators" || ns == "operators"
		if len(i.Modes) == 0 || len(i.Groups) > 1 || len(i.Groups) == 0 && !global {
			continue
		}
		g := dependency.OperatorGroup{}
		how := "the OperatorGroup of Namespace " + ns
		if len(i.Groups) == 1 {
			g = i.Groups[0]
			how = who(g.End)
		}
		mode := g.Mode(ns)
		if mode == "" || slices.Contains(i.Modes, mode) {
			continue
		}
		f := ofInstallation(i, ruleInstallMode, finding.Error)
		f.Basis = finding.Catalogue
		f.Message = fmt.Sprintf("%s of %s installs %s, and %s targets %s: the operator does not support %s, %s, and its ClusterServiceVersion fails",
			who(i.Subscription), i.Subscription.Component, i.Package, how, targets(g, ns), mode, i.Known)
		f.Fix.Summary = fmt.Sprintf("let the OperatorGroup target what %s supports: %s", i.Package, strings.Join(i.Modes, ", "))
		if g.Object.Kind != "" {
			f.Provider = g.Component
			f.Evidence = append(f.Evidence, evidenceOf(g.End, "targets "+targets(g, ns)))
		}
		out = append(out, f)
	}
	return out
}

func targets(g dependency.OperatorGroup, ns string) string {
	switch {
	case len(g.Targets) == 0:
		return "all namespaces"
	case len(g.Targets) == 1 && g.Targets[0] == ns:
		return "its own namespace"
	default:
		return strings.Join(g.Targets, ", ")
	}
}

func enabledInstallations(in Input) []dependency.Installation {
	enabled := map[string]bool{}
	for i := range in.Components {
		enabled[in.Components[i].Name] = enabled[in.Components[i].Name] || in.Components[i].Enabled
	}
	var out []dependency.Installation
	for _, i := range in.Installations {
		if enabled[i.Subscription.Component] {
			out = append(out, i)
		}
	}
	return out
}

func ofInstallation(i dependency.Installation, rule string, severity finding.Severity) finding.Finding {
	return finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Component: i.Subscription.Component, Provider: i.Subscription.Component,
		Resource: i.Subscription.Object, Position: i.Subscription.Position, Basis: finding.Rendered,
		Evidence: []finding.Evidence{evidenceOf(i.Subscription, "installs package "+i.Package)},
	}
}

func evidenceOf(e dependency.End, verb string) finding.Evidence {
	return finding.Evidence{Text: who(e) + " " + verb, File: e.Position.File, Line: e.Position.Line, Object: e.Object.String()}
}
