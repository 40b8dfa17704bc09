package infer

import (
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// Known is what is known of the chart of a component without rendering it. It is
// a catalogue's answer for one component: names of releases and namespaces are
// filled in.
//
// Of a component that is rendered, only what its objects do not show counts:
// Controllers, Children, and the webhooks that are registered at run time.
type Known struct {
	// Source says what it was read from: "chart cert-manager 1.19.1 of
	// https://charts.jetstack.io".
	Source string
	// At is where the source is written; the zero value where the component is.
	At finding.Position
	// Parts are the sources by themselves, where there are several.
	Parts []Known
	// Kinds are those whose CRDs the chart brings, all of them: a kind of a group
	// that is not listed is not brought.
	Kinds []KnownKind
	// Controllers are the kinds that its operator brings to Ready; Kind "*" stands
	// for all of a group.
	Controllers []KnownKind
	// Off are the kinds whose CRDs the chart brings as soon as a value of it is true.
	Off      []KnownOff
	Webhooks []KnownWebhook
	// Objects are what it makes under a certain name.
	Objects []KnownObject
	// Children are what its operator makes from custom resources.
	Children []KnownChild
	// APIGroups are the groups that an aggregated API server of it serves
	// ("metrics.k8s.io").
	APIGroups []string
	// Requires are the kinds of objects that it certainly contains and whose CRDs
	// it does not bring.
	Requires []KnownKind
	// Unrendered is set where what this is about was not rendered, even if other
	// sources of the component were: then all of it counts, not only what objects
	// do not show.
	Unrendered bool
	// Hidden is what is not rendered and not in the catalogue either.
	Hidden []Part
	// Lacking is all that is not rendered. Its parts have no address where their values are not
	// all known either.
	Lacking []Part
	// Open is set where it may bring more kinds than are listed: not all values are
	// known, or not all of its sources.
	Open bool
	// Foreign is set where those may be of other groups than are listed, as those of another
	// version are.
	Foreign bool
	// Elsewhere is set where values may put what it makes into another namespace than that
	// of the component.
	Elsewhere bool
}

// parts are the sources by themselves. What values do is done to the component as a whole.
func (k *Known) parts() []Known {
	if len(k.Parts) < 2 {
		return []Known{*k}
	}
	return k.Parts
}

// placed reports whether the values write sync waves.
func (k *Known) placed() bool {
	return slices.ContainsFunc(k.Webhooks, func(w KnownWebhook) bool { return w.Placed })
}

// KnownKind names a kind. Plural may be empty where the rule of Kubernetes gives
// it. Runtime is the Deployment that installs the CRD once it runs; empty where the CRD is
// applied as an object.
type KnownKind struct{ Group, Kind, Plural, Runtime string }

// KnownOff is a kind that a chart could bring. Switch is the value that it asks.
type KnownOff struct{ Group, Kind, Switch string }

// KnownWebhook is an admission or conversion webhook on kinds of one group.
type KnownWebhook struct {
	Name string
	// Several is set where these are several webhooks, of which Name is the first: which
	// of them is asked about an object is not known.
	Several bool
	Group   string
	// Configuration is the name of the object that configures it; empty where it is
	// not known.
	Configuration string
	// Kinds it is asked about; empty means all of the group.
	Kinds []string
	// FailurePolicy is "Fail" or "Ignore"; empty means Fail.
	FailurePolicy string
	// AtRuntime is set where no rendered object configures it: its operator
	// registers it.
	AtRuntime bool
	// Selective is set where a selector or condition leaves objects out; such a
	// webhook proves nothing about a single object.
	Selective bool
	// Placed is set where the values of the chart write sync waves or hooks: where
	// its server stands in the sync of its Application is not known then.
	Placed bool
}

// KnownObject is an object that a chart, or its operator, makes.
type KnownObject struct {
	// Kind is the kind as Kubernetes writes it: Secret, ConfigMap, Service,
	// ServiceAccount, Namespace, StorageClass, IngressClass, GatewayClass,
	// PriorityClass, RuntimeClass, PersistentVolumeClaim.
	Kind string
	// Namespace is that of the component where it is empty and the kind has one.
	Namespace, Name string
	// Default marks the default StorageClass.
	Default bool
	// WaitForFirstConsumer is the volumeBindingMode of a StorageClass.
	WaitForFirstConsumer bool
}

// KnownChild is an object that an operator makes from each object of a kind, "group/Kind".
type KnownChild struct {
	Of string
	operators.Made
}

// KnownPackage is what is known of a package of the Operator Lifecycle Manager.
type KnownPackage struct {
	// Source says what it was read from: "as known of package cert-manager 1.16.5".
	Source string
	// Kinds are those whose CRDs it brings; Groups are groups of which it brings
	// kinds that are not listed.
	Kinds  []KnownKind
	Groups []string
	// Webhooks refuse objects while the operator does not run.
	Webhooks []KnownWebhook
	// Modes are the install modes that it supports; none where they are not known.
	Modes []string
	// Objects are those that the operator makes once it runs.
	Objects []KnownObject
}
