package rule

import (
	"encoding/json"
	"errors"
	"time"
)

// APIVersion is that of a rule document.
const APIVersion = "simulation.rollout-ladder.dev/v1"

// Document is one rule document.
type Document struct {
	APIVersion   string        `json:"apiVersion"`
	Operators    []Operator    `json:"operators,omitempty"`
	Provisioners []Provisioner `json:"provisioners,omitempty"`
	Injectors    []Injector    `json:"injectors,omitempty"`
	Installers   []Installer   `json:"installers,omitempty"`
}

// Operator says how one kind is reconciled.
type Operator struct {
	// Name tells two rules for one kind apart.
	Name string `json:"name,omitempty"`
	// For is "group/Kind", or a list of them.
	For Kinds `json:"for,omitempty"`
	// DefinedBy is the "group/Kind" whose objects own the definition of the
	// kinds that the rule is for, instead of For.
	DefinedBy string `json:"definedBy,omitempty"`
	// When is a condition over self: which objects the rule is for.
	When string `json:"when,omitempty"`
	// Controller finds the workload that reconciles the kind: one that any of
	// the selectors matches must be available, or the object is not touched at
	// all. No selector means that nothing is needed.
	Controller []Selector `json:"controller,omitempty"`
	// Delay is the work of the controller itself.
	Delay Duration `json:"delay,omitempty"`
	// Vars are values for later use as vars.NAME, in order.
	Vars     []Var         `json:"vars,omitempty"`
	Requires []Requirement `json:"requires,omitempty"`
	// Maker is a built-in that makes what no template can: "certificate".
	Maker    string  `json:"maker,omitempty"`
	Children []Child `json:"children,omitempty"`
	Status   Status  `json:"status,omitempty"`
}

// Var is a named value.
type Var struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// Requirement is something a controller needs before it goes on.
type Requirement struct {
	// Name makes what was found known to templates as refs.NAME, a list of
	// {kind, namespace, name, found, ready, object}.
	Name string `json:"name,omitempty"`
	// Each is a list; the requirement holds for every item of it.
	Each string `json:"each,omitempty"`
	// When is a condition: the requirement counts only where it holds.
	When string `json:"when,omitempty"`
	// Kind is "group/Kind", "Kind" for the core group, and may be a template.
	Kind string `json:"kind"`
	// Namespace of the object; by default that of self. Empty text is
	// cluster-wide.
	Namespace *string `json:"namespace,omitempty"`
	// Object is the name of the object.
	Object string `json:"object,omitempty"`
	// Select finds, instead of one object by name, every custom resource of the
	// namespace with these labels; there must be one.
	Select any `json:"select,omitempty"`
	// Keys that a Secret or ConfigMap must hold: a list.
	Keys string `json:"keys,omitempty"`
	// Ready is a condition over object, in place of what ready means for the
	// kind: workloads available, Services with a ready endpoint, claims bound,
	// custom resources with a condition Ready that is true.
	Ready string `json:"ready,omitempty"`
	// Exists is enough: the object need not be ready.
	Exists bool `json:"exists,omitempty"`
	// Soft requirements do not stop the controller; templates see them.
	Soft bool `json:"soft,omitempty"`
	// Waiting is the status while the requirement is not met, instead of the
	// operator's own; it sees the first unmet one as missing.
	Waiting any `json:"waiting,omitempty"`
}

// Child is an object that the controller makes.
type Child struct {
	Each string `json:"each,omitempty"`
	When string `json:"when,omitempty"`
	// Object is the template of the object. Its namespace is by default that of
	// self.
	Object map[string]any `json:"object"`
	// Unowned children outlive the object that they were made for.
	Unowned bool `json:"unowned,omitempty"`
	// NoWait children need not be ready before the object is.
	NoWait bool `json:"noWait,omitempty"`
}

// Status is what the controller reports. In lists named "conditions" it adds
// lastTransitionTime and observedGeneration.
type Status struct {
	Ready   any `json:"ready,omitempty"`
	Waiting any `json:"waiting,omitempty"`
}

// Selector matches workloads; all its fields must match.
type Selector struct {
	// Kind is Deployment, StatefulSet or DaemonSet; empty for any.
	Kind string `json:"kind,omitempty"`
	// Name is a glob (path.Match).
	Name string `json:"name,omitempty"`
	// Namespace is a name; empty for any.
	Namespace string `json:"namespace,omitempty"`
	// Labels of the workload or of its pods.
	Labels map[string]string `json:"labels,omitempty"`
	// Image is a part of the image of one of its containers.
	Image string `json:"image,omitempty"`
	// Mentions is a part of the name, an argument or an environment value.
	Mentions string `json:"mentions,omitempty"`
}

// Provisioner says which workload provisions the volumes of a StorageClass.
type Provisioner struct {
	// Name of the provisioner, a glob.
	Name       string     `json:"name"`
	Controller []Selector `json:"controller,omitempty"`
	// Managed provisioners belong to the cluster's provider and are there
	// without a workload.
	Managed bool `json:"managed,omitempty"`
	// Takes is how long it takes to make a volume.
	Takes Duration `json:"takes,omitempty"`
}

// Injector says which workload writes the caBundle of webhooks.
type Injector struct {
	// Name of the webhook configurations or CRDs, a glob; empty for any.
	Name string `json:"name,omitempty"`
	// Service that the webhook calls, a glob; empty for any.
	Service string `json:"service,omitempty"`
	// Annotation that marks those it cares for, as "key" or "key=value".
	Annotation string `json:"annotation,omitempty"`
	// Secret is the annotation that names, as "namespace/name", the Secret that
	// must exist with a ca.crt, which is what is written.
	Secret string `json:"secret,omitempty"`
	// Certificate is the annotation that names, as "namespace/name", the
	// cert-manager Certificate whose Secret it takes the ca.crt from.
	Certificate string     `json:"certificate,omitempty"`
	Controller  []Selector `json:"controller"`
}

// Installer is a workload that makes objects when it runs.
type Installer struct {
	Name       string     `json:"name,omitempty"`
	Controller []Selector `json:"controller"`
	// Definitions are custom resource definitions it makes; they accept
	// anything.
	Definitions []Definition `json:"definitions,omitempty"`
	// Objects are templates that see the workload as self.
	Objects []Child `json:"objects,omitempty"`
}

// Definition is a custom resource definition without a schema.
type Definition struct {
	Group    string   `json:"group"`
	Kind     string   `json:"kind"`
	Plural   string   `json:"plural"`
	Cluster  bool     `json:"cluster,omitempty"` // not namespaced
	Versions []string `json:"versions"`          // the last one is stored
}

// Kinds is a list of "group/Kind" that may be written as one text.
type Kinds []string

// UnmarshalJSON implements json.Unmarshaler.
func (k *Kinds) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*k = Kinds{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		return errors.New("is neither a text nor a list of texts")
	}
	*k = many
	return nil
}

// Duration is a time.Duration that is written as text: "45s".
type Duration time.Duration

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
