package dependency

import "slices"

// Installation is an operator that the Operator Lifecycle Manager installs for a
// Subscription.
type Installation struct {
	Subscription End
	Package      string
	// Approval is how the InstallPlan is approved, as it is written; Approved is set
	// where something in the repository may approve what waits for it.
	Approval string
	Approved bool
	// Groups are the OperatorGroups of the namespace.
	Groups []OperatorGroup
	// OwnNamespace is set where the repository makes the namespace.
	OwnNamespace bool
	// Modes are the install modes that the package supports, and Known says of which
	// version; none where they are not known.
	Modes []string
	Known string
}

// Manual reports whether the InstallPlan waits for an approval: OLM takes every other
// text for Automatic, and the API takes any. Source: operator-framework/api,
// Subscription.GetInstallPlanApproval.
func (i Installation) Manual() bool { return i.Approval == "Manual" }

// OperatorGroup says which namespaces the operators of its own namespace watch.
type OperatorGroup struct {
	End

	// Targets are the namespaces, sorted; none stands for all.
	Targets []string
	// Selector is set where labels choose the namespaces.
	Selector bool
}

// Mode is the install mode that the operators of namespace ns need to support; empty
// where it is not known.
func (g OperatorGroup) Mode(ns string) string {
	switch {
	case g.Selector:
		return ""
	case len(g.Targets) == 0, slices.Contains(g.Targets, ""):
		return "AllNamespaces"
	case len(g.Targets) > 1:
		return "MultiNamespace"
	case g.Targets[0] == ns:
		return "OwnNamespace"
	default:
		return "SingleNamespace"
	}
}
