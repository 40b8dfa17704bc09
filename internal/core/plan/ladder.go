package plan

import (
	"slices"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Band is a range of phases owned by a domain.
type Band struct {
	Name     string
	From, To model.Phase // inclusive
	// Types are those that may stand in the band; empty for all.
	Types []model.Type
}

// Slot is a role inside a band.
type Slot struct {
	// Offset is the phase modulo 100: 10 for CRDs, 99 for smokes.
	Offset int
	Types  []model.Type
	// MaxUpdate is the default of a step in this slot.
	MaxUpdate MaxUpdate
}

// MaxUpdate is how many components of a step may be in flight: a count or a
// percentage. Source: Argo CD progressive syncs; a percentage is rounded down
// to at least 1, and 0 makes the step manual.
type MaxUpdate struct {
	Count   int
	Percent bool
	// Set is false where nothing was written: no limit.
	Set bool
}

// LadderStep is one step of the ladder file: the phases it matches.
type LadderStep struct {
	Phases    []model.Phase
	MaxUpdate MaxUpdate
	// Set names the ApplicationSet (tier) the step belongs to; empty for the
	// single one.
	Set string
	About
	// Position is where ladder.yaml defines the step, if it does.
	Position finding.Position
}

// About is what the ladder file tells people of a step or sync wave.
type About struct {
	// Title names it, Purpose says what it is for.
	Title, Purpose string
	// Gate says in one sentence what must be true before the next step.
	Gate string
}

// Layout is the shape of the Argo CD objects.
type Layout string

// The layouts.
const (
	Single    Layout = "single"
	Tiers     Layout = "tiers"
	AppOfApps Layout = "app-of-apps"
	// DependsOn is no layout of Argo CD's: Flux orders components by what each depends
	// on, and by nothing else.
	DependsOn Layout = "depends-on"
)

// Ladder is ladder.yaml with every default filled in.
type Ladder struct {
	Layout Layout
	Bands  []Band
	// Assumed says that nobody wrote the bands.
	Assumed bool
	Slots   []Slot
	// Steps in the order in which they run, over all tiers.
	Steps []LadderStep
	// RollingSets are the ApplicationSets whose RollingSync steps Steps are; empty where
	// somebody wrote the steps, or they follow from the phases. Argo CD never syncs what
	// such a set generates and no step of it matches. Unapplied are the components that
	// none of them generates, and nothing else applies.
	RollingSets, Unapplied []string
	// Waves are the sync waves of which the file tells something, by number.
	Waves map[int]About
	// Sets are the tiers in parent order (layout tiers).
	Sets         []string
	Environments []Environment
	// Timeout and Retry are the defaults of a component.
	Timeout time.Duration
	Retry   model.Retry
	// MaxInFlight caps how many components are in flight at once under the
	// policy edges; 0 means the default.
	MaxInFlight int
	// Defaults gives the expected duration of a component by type.
	Durations map[model.Type]time.Duration
	Position  finding.Position
}

// NeverSynced reports whether a component stands outside the RollingSync steps that the
// ladder consists of.
func (l *Ladder) NeverSynced(c *model.Component) bool {
	switch {
	case len(l.RollingSets) == 0, c.PreArgo, c.Step > 0:
		return false
	case c.Set == "":
		return slices.Contains(l.Unapplied, c.Name)
	default:
		return slices.Contains(l.RollingSets, c.Set)
	}
}

// Environment is one overlay of the platform.
type Environment struct {
	Name string
	// Values are templates of value layers that every chart component of the
	// environment gets, in order; see package repo/descriptor.
	Values []model.ValueFile
	// KubeVersion and APIVersions describe the target cluster.
	KubeVersion string
	APIVersions []string
}

var (
	kubeVersion = lazyregexp.New(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+].*)?$`)
	apiVersion  = lazyregexp.New(`^(v[0-9]+((alpha|beta)[0-9]+)?|[a-z0-9.-]+/[a-z0-9][a-z0-9-]*)(/[A-Za-z][A-Za-z0-9-]*)?$`)
)

// ValidKubeVersion reports whether a text has the form of a version of Kubernetes, such as
// 1.36 or v1.33.4-gke.1245000.
func ValidKubeVersion(text string) bool { return kubeVersion.MatchString(text) }

// ValidAPIVersion reports whether a text has the form in which charts ask for an API:
// version, group/version, or either with a kind, such as v1/Pod.
func ValidAPIVersion(text string) bool { return apiVersion.MatchString(text) }

// Strength says what happens when an edge is not kept.
type Strength string

// The strengths of an edge.
const (
	// Hard: the consumer cannot be applied or can never become Healthy.
	Hard Strength = "hard"
	// Soft: the consumer heals by retrying.
	Soft Strength = "soft"
)

// Edge says that From requires To.
type Edge struct {
	From     string // consumer
	To       string // provider
	Strength Strength
	Basis    finding.Basis
	// Reason is one phrase: "declared", "reads Secret ameide/db".
	Reason   string
	Evidence []finding.Evidence
	// Inherited is set where it follows from the edge of another component: a component of Flux
	// waits for what the Kustomization waits for that applies it.
	Inherited bool
}
