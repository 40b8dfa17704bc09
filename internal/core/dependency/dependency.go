package dependency

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Dependency says that an object requires something that another object
// provides.
type Dependency struct {
	// Rule is the lint rule that judges the order of the two: "secret-before-use".
	// It is empty where the order is worth keeping and no rule judges it.
	Rule string
	// Required is what is required: a Secret, a CRD, a Namespace, ...
	Required finding.Resource
	// Strength is Hard where the consumer cannot be applied, or can never become
	// Healthy, without it.
	Strength plan.Strength
	Effect   Effect
	Basis    finding.Basis
	// Reason reads on after the consumer: "reads Secret apps/db".
	Reason   string
	Consumer End
	Provider End
	// Evidence is the requirement first, with the field that says it, and the
	// provider last.
	Evidence []finding.Evidence
	// Hint is set where a dependency is good for an order and too weak for a
	// finding: the evidence is a name in free text, such as a hostname in an
	// environment variable, or the consumer is Healthy without and heals by itself,
	// as a CronJob is whatever its jobs read. A hint is always soft.
	Hint bool
	// Static is set where the provider is there as soon as it is applied, because
	// nothing brings it to Ready: parameters that a controller reads.
	Static bool
	// Holds is set where the consumer does not need the provider but keeps the sync
	// from reaching it: a claim that nothing binds in time.
	Holds bool
	// Unready are the objects of the consumer that cannot become Ready without the provider,
	// whether or not a sync waits for that: of hard dependencies between two components with
	// the effect Ready only. The consumer that speaks for them is among them.
	Unready []End
	// Refused are the objects of the consumer that are of the kind of the provider, a CRD, of
	// dependencies between two components only.
	Refused []End
}

// Within reports whether both ends belong to one component.
func (d Dependency) Within() bool { return d.Consumer.Component == d.Provider.Component }

// Effect says what fails while the provider is missing.
type Effect string

// The effects.
const (
	// Apply: the API server refuses the consumer (kind, namespace, webhook).
	Apply Effect = "apply"
	// Ready: the consumer is applied and does not become Healthy.
	Ready Effect = "ready"
)

// End is one end of a dependency.
type End struct {
	Component string
	// Object is the zero value where the component provides by its descriptor or
	// by what a catalogue says of its chart.
	Object   finding.Resource
	Place    Place
	Position finding.Position
}

// Place is where an object stands in the sync of its Application. Source: Argo
// CD user guide, "Sync Phases and Waves".
type Place struct {
	// Hook is 0 for PreSync, 1 for Sync and ordinary objects, 2 for PostSync, 3 for
	// SyncFail.
	Hook int
	Wave int
	// Kind is the rank of the kind inside a wave; all objects of a wave are
	// applied in this order, without waiting in between.
	Kind int
	// IsHook is set for a hook, which must finish before the next wave.
	IsHook bool
}

// Compare orders places by hook phase and wave, the only borders at which a sync
// waits for health.
func (p Place) Compare(q Place) int {
	switch {
	case p.Hook != q.Hook:
		return sign(p.Hook - q.Hook)
	default:
		return sign(p.Wave - q.Wave)
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	default:
		return 0
	}
}

// Missing is something that is required and that nothing in the repository, the
// cluster itself or the catalogue provides.
type Missing struct {
	Rule     string
	Required finding.Resource
	Strength plan.Strength
	Reason   string
	Consumer End
	// Others are further objects of the component that require it, in their order.
	Others   []End
	Evidence []finding.Evidence
	// Unrendered are the components that could not be rendered and might provide
	// it; a missing thing is not certain while there are any. It is shared by many
	// and must not be changed.
	Unrendered []string
	// Managed is set where the repository provides other things of the kind, or
	// other kinds of the group of a CRD.
	Managed bool
	// Near is the name of a thing of the kind that the repository has, and that differs
	// as a slip of the pen does; empty where there is none.
	Near string
	// Sister is the kind of a thing of that very name which the repository has, where the
	// reference may name either kind: ClusterIssuer for Issuer. Empty where there is none.
	Sister string
	// Aside is where a file of the repository has it that nothing applies, beside files that
	// are applied; the zero value where none does.
	Aside finding.Position
	// Elsewhere is where a file has it that nothing applies, away from those files.
	Elsewhere finding.Position
	// Doubtful is set where something that is not seen may make it, so that it is told only
	// where a file lies aside that has it.
	Doubtful bool
	// Off is the value of a chart that would bring it, were it on ("crds.enabled of
	// cert-manager"), and OffAt where the chart is written; empty where there is none.
	Off   string
	OffAt finding.Position
}

// Likely reports whether the repository has something that the reference is likely to mean.
func (m *Missing) Likely() bool { return m.Near != "" || m.Sister != "" || m.Aside.File != "" }

// Lack is a part of something that is there and does not have that part: a key of
// a Secret or ConfigMap, a listener of a Gateway. It is told only where all that
// could bring the part is known.
type Lack struct {
	Rule     string
	Required finding.Resource // what lacks the part
	Part     string
	// Has are the parts that are there, sorted.
	Has      []string
	Strength plan.Strength
	// Reason reads on after the consumer: "reads key password of Secret apps/db".
	Reason   string
	Consumer End
	// Provider is the first of those that provide the thing.
	Provider End
	// Evidence is the requirement first, then every provider.
	Evidence []finding.Evidence
}

// ResourceNames are the names that the resource of a kind may have in the API where its CRD is
// not known: people write CRDs whose plural is the kind itself.
func ResourceNames(kind string) []string {
	kind = strings.ToLower(kind)
	names := []string{kind + "s", kind + "es", kind}
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		names = append(names, stem+"ies")
	}
	return names
}
