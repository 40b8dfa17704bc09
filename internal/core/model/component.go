package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Phase is a component's place in the ladder, 0 to 999.
type Phase int

// NoPhase marks a component that has no phase: one ordered by sync waves, or
// one whose descriptor lacks it.
const NoPhase Phase = -1

// MaxPhase is the greatest phase.
const MaxPhase Phase = 999

// String prints three digits, or "" for NoPhase.
func (p Phase) String() string {
	if p < 0 {
		return ""
	}
	return fmt.Sprintf("%03d", int(p))
}

// ParsePhase reads a phase as repositories write it: "350", "05", and the older
// "wave15". It does not accept negative numbers, which are sync waves.
func ParsePhase(s string) (Phase, error) {
	digits := strings.TrimPrefix(strings.TrimSpace(s), "wave")
	n, err := strconv.Atoi(digits)
	if err != nil || strings.HasPrefix(digits, "+") || n < 0 || n > int(MaxPhase) {
		return NoPhase, fmt.Errorf("phase %q is not a number from 0 to %d", s, int(MaxPhase))
	}
	return Phase(n), nil
}

// Type is the role of a component; it decides the slot.
type Type string

// The component types of the descriptor.
const (
	Namespaces Type = "namespaces"
	CRDs       Type = "crds"
	Operator   Type = "operator"
	Secrets    Type = "secrets"
	Config     Type = "config"
	Runtime    Type = "runtime"
	Bootstrap  Type = "bootstrap"
	Smoke      Type = "smoke"
)

// Types lists every component type in slot order.
func Types() []Type {
	return []Type{Namespaces, CRDs, Operator, Secrets, Config, Runtime, Bootstrap, Smoke}
}

// Component is the unit that is rolled out, in one environment.
type Component struct {
	Name        string
	Environment string
	Project     string // AppProject
	Domain      string // band owner; older descriptors say tier
	Namespace   string // destination namespace
	// Cluster is the destination, by name or server as the Application says it;
	// empty for the cluster of Argo CD, or where a template leaves it open. What is
	// in one cluster provides nothing in another.
	Cluster string
	Phase   Phase
	// Waves is the path of sync waves from the root of an app-of-apps, compared
	// lexicographically; empty for a component ordered by phases.
	Waves []int
	// Parents names what applies each step of Waves, from the root: "" for what is
	// applied by hand, a folder that ends in a slash for a parent that is not in the
	// repository and applies that folder. Waves below different parents do not order
	// each other. What RollingSync orders below an ApplicationSet has its step among
	// the waves, and AtSteps of the set as its parent there. It is empty where the
	// parents are not told.
	Parents []string
	// Set is the ApplicationSet that generates the component, Step its RollingSync
	// step there, from 1; 0 where no step orders it.
	Set  string
	Step int
	Type Type
	// Assumed marks a component that its ApplicationSet is only supposed to
	// generate: what its generators yield is not in the repository.
	Assumed bool
	// Solved marks a component that rests on parameters which are not written: they
	// are taken from the only place of the repository that fits.
	Solved bool
	// Enabled is false for a component that keeps its place but is not rolled
	// out (enabled: false, or a file named component.disabled.yaml).
	Enabled bool
	// PreArgo marks manifests that are applied before Argo CD exists.
	PreArgo bool
	// Object marks a component that is an object of Argo CD or Flux, and no descriptor:
	// there is no rolloutPhase to write into it.
	Object bool
	// ByHand marks such an object that commands of the repository apply, and no parent:
	// sync waves do not order it.
	ByHand bool
	// Described marks such an object whose component a descriptor declares as well.
	Described bool
	// AppOfApps marks a parent that applies other objects next to its
	// Applications. The component stands for those objects only: the
	// Applications, ApplicationSets and AppProjects among what it renders to are
	// not part of it.
	AppOfApps bool
	// Requires are the declared edges, in the order written.
	Requires []Requirement
	// Validates names the components that a smoke validates.
	Validates []Requirement
	// Sources are what the component is rendered from; one for a descriptor,
	// several for a multi-source Application.
	Sources     []Source
	SyncOptions []string
	// NamespaceLabels and NamespaceAnnotations are those that Argo CD gives the
	// destination namespace, with the sync option CreateNamespace. Source:
	// syncPolicy.managedNamespaceMetadata.
	NamespaceLabels, NamespaceAnnotations map[string]string

	IgnoreDifferences []IgnoreDifference
	// Timeout is the readiness timeout; 0 means the default of the ladder.
	Timeout time.Duration
	Retry   Retry
	Health  []HealthCheck
	Smoke   []Check
	// HelmTest has the Helm tests of its charts run after a sync, as its smoke.
	HelmTest bool
	Labels   map[string]string
	// Gate says in one sentence what Healthy means for the component.
	Gate string
	// Position is where the component is defined.
	Position finding.Position
	// Fields gives the position of every field that was read, by dotted path:
	// "rolloutPhase", "requires[0]", "chart.valueFiles[1]".
	Fields map[string]finding.Position
	// Unknown keeps fields of the descriptor that Ladder does not know.
	Unknown map[string]any
}

// At returns the position of a field, or of the component where the field was
// not written.
func (c *Component) At(field string) finding.Position {
	if p, ok := c.Fields[field]; ok {
		return p
	}
	return c.Position
}

// PhaseField is the field in which a descriptor writes its phase: rolloutPhase, or the older
// wave, whose position is that of both.
func (c *Component) PhaseField() string {
	if at, older := c.Fields["wave"]; older && at == c.Fields["rolloutPhase"] {
		return "wave"
	}
	return "rolloutPhase"
}

// InCluster is the name of the cluster that Argo CD runs in. Source: Argo CD,
// "Declarative Setup", clusters.
const InCluster = "in-cluster"

// ClusterName is the destination for people: InCluster where Cluster is empty.
func (c *Component) ClusterName() string { return cmp.Or(c.Cluster, InCluster) }

// Standing is the component as one of its objects stands, which is applied in a
// sync wave of its own: the objects of an app-of-apps have their places among its
// Applications. Of any other component it is the component itself.
func (c *Component) Standing(wave int) *Component {
	last := len(c.Waves) - 1
	if !c.AppOfApps || last < 0 || c.Waves[last] == wave {
		return c
	}
	at := *c
	at.Waves = append(slices.Clone(c.Waves[:last]), wave)
	return &at
}

// HasSyncOption reports whether the component sets an Argo CD sync option such
// as "CreateNamespace=true".
func (c *Component) HasSyncOption(option string) bool {
	for _, o := range c.SyncOptions {
		if strings.TrimSpace(o) == option {
			return true
		}
	}
	return false
}

// Order prints the place of the component: "350" for a phase, also below
// parents with sync waves, "3" or "(10,30)" for sync waves alone, "step 2" for a
// RollingSync step alone, "pre" before Argo CD, "" for none.
func (c *Component) Order() string {
	switch {
	case c.PreArgo:
		return "pre"
	case c.Phase >= 0 && c.Set != "":
		return c.Phase.String()
	case c.Phase < 0 && c.Step > 0 && slices.Equal(c.Waves, []int{0}): // Argo CD's default says nothing
		return "step " + strconv.Itoa(c.Step)
	case len(c.Waves) == 1:
		return strconv.Itoa(c.Waves[0])
	case len(c.Waves) > 1:
		parts := make([]string, len(c.Waves))
		for i, w := range c.Waves {
			parts[i] = strconv.Itoa(w)
		}
		return "(" + strings.Join(parts, ",") + ")"
	case c.Phase < 0 && c.Step > 0:
		return "step " + strconv.Itoa(c.Step)
	default:
		return c.Phase.String()
	}
}

// Requirement is one declared edge: the name of a component, or a capability
// written "kind/namespace/name" ("secret/ameide/db") or "kind/name"
// ("crd/clusters.postgresql.cnpg.io").
type Requirement struct {
	Text     string
	Position finding.Position
	// Field is where it is written in the object at Position; in a descriptor it is set for the
	// older names of requires alone.
	Field string
	// Inherited is set where it follows from what another component requires that stands for itself:
	// Flux applies what a Kustomization holds once that may start.
	Inherited bool
}

// Capability splits a requirement that names a capability. ok is false for one
// that names a component: component names hold no slash.
func (r Requirement) Capability() (c Capability, ok bool) {
	parts := strings.Split(r.Text, "/")
	switch len(parts) {
	case 2:
		return Capability{Kind: strings.ToLower(parts[0]), Name: parts[1]}, true
	case 3:
		return Capability{Kind: strings.ToLower(parts[0]), Namespace: parts[1], Name: parts[2]}, true
	default:
		return Capability{}, false
	}
}

// Capability is something that one component provides and another requires.
type Capability struct {
	// Kind is the lower-case kind of the thing: "secret", "crd", "namespace",
	// "storageclass", "secretstore", ...
	Kind      string
	Namespace string // empty for cluster-wide things
	Name      string
}

// String prints the capability in the form descriptors use.
func (c Capability) String() string {
	if c.Namespace == "" {
		return c.Kind + "/" + c.Name
	}
	return c.Kind + "/" + c.Namespace + "/" + c.Name
}

// SourceKind says how a source is rendered.
type SourceKind string

// The kinds of source.
const (
	Chart     SourceKind = "chart"     // a Helm chart, in the repository or remote
	Kustomize SourceKind = "kustomize" // a kustomization in the repository
	Manifests SourceKind = "manifests" // a folder or file of plain YAML
	// Git is a folder of another Git repository (RepoURL, with the folder as
	// Name and the revision as Version), which is rendered where it can be fetched.
	// Plugin is what a config management plugin renders, which is not run.
	Git    SourceKind = "git"
	Plugin SourceKind = "plugin"
)

// KindOf is what Argo CD builds a folder as that no field of the source names: the last
// file by name decides, so that a kustomization beside a chart wins. names are sorted,
// without folders or with a slash behind them. Source: argo-cd, util/app/discovery.
func KindOf(names []string, isFile func(name string) bool) SourceKind {
	kind := Manifests
	for _, name := range names {
		var of SourceKind
		switch {
		case strings.HasSuffix(name, "Chart.yaml"):
			of = Chart
		case IsKustomizationFile(name):
			of = Kustomize
		default:
			continue
		}
		if isFile(name) {
			kind = of
		}
	}
	return kind
}

// IsKustomizationFile reports whether a file of that name is a kustomization.
func IsKustomizationFile(name string) bool {
	return name == "kustomization.yaml" || name == "kustomization.yml" || name == "Kustomization"
}

// Source is what a component is rendered from.
type Source struct {
	Kind SourceKind
	// Path is relative to the root of the platform; empty for a remote chart.
	Path string
	// RepoURL, Name and Version name a remote chart; of a source of kind Git, a
	// repository, the folder in it, and the revision. Every other path is relative to the
	// top of that repository then.
	RepoURL, Name, Version string
	// As is how a source of kind Git is rendered; empty where its files say so.
	As          SourceKind
	ReleaseName string
	// ValueFiles are the layers of values, later ones win.
	ValueFiles []ValueFile
	// Values are inline values, which win over every file.
	Values map[string]any
	// Parameters are Helm's --set pairs, which win over Values; StringParameters
	// those of --set-string, FileParameters those of --set-file, with paths
	// relative to the root of the platform.
	Parameters       map[string]string
	StringParameters map[string]string
	FileParameters   map[string]string
	SkipCRDs         bool
	// SkipTests leaves out the test hooks of a chart, SkipSchema does not judge its values
	// by its schema.
	SkipTests, SkipSchema bool
	// Namespace is the release namespace where it is not that of the component.
	Namespace string
	// KubeVersion and APIVersions are those that a chart is told instead of the
	// target's.
	KubeVersion string
	APIVersions []string
	// Dependencies are folders of the repository that hold charts which a chart depends on by
	// another address, by their names.
	Dependencies map[string]string
	// Kustomize is what an Application sets over a kustomization.
	Kustomize *KustomizeOptions
	// PostBuild is what Flux does with the objects before it applies them; nil for
	// nothing.
	PostBuild *PostBuild
	// Recurse descends into sub-folders of a folder of plain YAML; Include and
	// Exclude choose among its files, as globs whose star also matches slashes.
	Recurse          bool
	Include, Exclude string
	// Jsonnet is what the Jsonnet among its files is given; nil for nothing.
	Jsonnet *Jsonnet
	// Revision is the one that the source asks for, where the folder at hand may be that of
	// another: what does not render of it may well be whole there. Empty otherwise.
	Revision string
	// Refused says why the source cannot be rendered here; empty where it can.
	Refused string
	// Incomplete says which values are not known, and why; empty where all are.
	// The source is rendered without them.
	Incomplete string
	// Withheld are their dotted paths, where it is known that they are the only ones.
	Withheld []string
	Position finding.Position
}

// Jsonnet is what a folder of manifests gives its Jsonnet files. Source: Argo CD,
// spec.source.directory.jsonnet.
type Jsonnet struct {
	// ExtVars are the external variables, TLAs the arguments of a file that is a
	// function.
	ExtVars, TLAs []JsonnetVariable
	// Libs are the folders that imports are looked for in, the last one first.
	Libs []string
}

// JsonnetVariable is a text, or Jsonnet where Code is set.
type JsonnetVariable struct {
	Name, Value string
	Code        bool
}

// PostBuild is what Flux does with what a kustomization builds: it fills in
// variables and decrypts. Source: Flux, spec.postBuild and spec.decryption.
type PostBuild struct {
	// Variables are those that are known. Substitute is set where variables are filled
	// in at all; Open where there are others that are not known: a variable without a
	// value and a default stays as it is written.
	Variables        map[string]string
	Substitute, Open bool
}

// ValueFile is one layer of Helm values.
type ValueFile struct {
	Path string // relative to the root of the platform
	// Here is set where the source is in another repository, and the file in that of the
	// platform.
	Here bool
	// Optional files may be missing (ignoreMissingValueFiles).
	Optional bool
	Position finding.Position
}

// IgnoreDifference is Argo CD's ignoreDifferences entry.
type IgnoreDifference struct {
	Group, Kind, Name, Namespace string
	JSONPointers                 []string
	JQPathExpressions            []string
	ManagedFieldsManagers        []string
}

// Retry says how often and how soon a failed sync is tried again. Source: Argo
// CD's syncPolicy.retry.
type Retry struct {
	// Limit is the number of retries after the first attempt; negative means
	// without end; nil means the default of the ladder.
	Limit       *int
	Duration    time.Duration // wait before the first retry
	Factor      float64
	MaxDuration time.Duration
}

// HealthCheck is an extra readiness check on a kind.
type HealthCheck struct {
	Group, Kind string
	// CEL is a boolean expression over `object`; true means Healthy.
	CEL string
	// Lua is an Argo CD health script that returns {status, message}.
	Lua      string
	Position finding.Position
}

// CheckKind is the kind of a smoke check.
type CheckKind string

// The kinds of smoke check.
const (
	CheckCondition   CheckKind = "condition"
	CheckSecret      CheckKind = "secret"
	CheckCertificate CheckKind = "certificate"
	CheckJob         CheckKind = "job"
	CheckEndpoint    CheckKind = "endpoint"
	CheckHTTP        CheckKind = "http"
	CheckTCP         CheckKind = "tcp"
	CheckCEL         CheckKind = "cel"
)

// Check is one declarative smoke check. Which fields matter depends on Kind.
type Check struct {
	Kind CheckKind
	// The object that is looked at.
	Group, ObjectKind, Namespace, Name string
	// Conditions maps condition type to its wanted status (condition).
	Conditions map[string]string
	// Keys must be there and not empty (secret).
	Keys []string
	// IssuedBy lists the Secrets of the issuers from the nearest to the root,
	// as "name" or "namespace/name" (certificate).
	IssuedBy []string
	// Subject is the wanted common name (certificate).
	Subject string
	// URL (http), Address "host:port" (tcp), and the wanted status, default 200.
	URL, Address string
	Status       int
	// Expression is boolean, over `object` or, without a name, `objects` (cel).
	Expression string
	Timeout    time.Duration
	Position   finding.Position
}

// Variable is what an expression calls what it looks at (cel).
func (c Check) Variable() string {
	if c.Name == "" {
		return "objects"
	}
	return "object"
}

// String names the check for people: "condition Gateway ameide/ameide".
func (c Check) String() string {
	switch c.Kind {
	case CheckHTTP:
		return "http " + c.URL
	case CheckTCP:
		return "tcp " + c.Address
	default:
		kind := cmp.Or(c.ObjectKind, string(c.Kind))
		switch {
		case c.Name == "" && c.Namespace == "":
			return string(c.Kind) + " " + kind
		case c.Name == "": // all of them
			return string(c.Kind) + " " + kind + " in " + c.Namespace
		}
		return string(c.Kind) + " " + finding.Resource{Kind: kind, Namespace: c.Namespace, Name: c.Name}.Human()
	}
}
