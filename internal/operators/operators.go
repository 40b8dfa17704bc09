package operators

import "slices"

// File is what is known of one operator, or of several that share a group.
type File struct {
	Controllers []Controller `json:"controllers"`
	// Kinds are by "group/Kind"; "group/*" stands for all kinds of a group.
	Kinds map[string]Kind `json:"kinds"`
}

// Controller is how the pods of an operator are recognised.
type Controller struct {
	// Image is the end of the repository of its image.
	Image string `json:"image"`
	// Without are arguments of other programs in the same image.
	Without []string `json:"without"`
	Group   string   `json:"group"`
	// Kinds it brings to Ready; empty means all of the group.
	Kinds []string `json:"kinds"`
}

// Kind is what is known of the objects of a kind. Fields are written as paths with
// dots; "[]" goes through a list, "*" through all fields.
type Kind struct {
	// Makes are the objects that the operator makes of one.
	Makes []Made `json:"makes"`
	// Reads are the Secrets and ConfigMaps that it is not Ready without.
	Reads []Read `json:"reads"`
	// Elsewhere marks Reads in a namespace that the object does not say: that of its
	// controller.
	Elsewhere bool `json:"elsewhere"`
	// Belongs are the objects of an operator that it belongs to.
	Belongs []Owner `json:"belongs"`
	// Storage are the fields that ask for storage.
	Storage []Storage `json:"storage"`
	// Account is the field with the ServiceAccount of its pods, which the operator
	// does not make then.
	Account string `json:"account"`
	// Images are the fields that the operator runs as the image of a pod. Left out are
	// fields that mean something else: a repository that is watched for tags, what a build
	// pushes, a name that the operator adds its own tag to.
	Images []string `json:"images"`
	// Parameters is set where a class or a Gateway can take its parameters from an object of
	// this kind.
	Parameters Scope `json:"parameters"`
}

// Scope says whether objects of a kind are in a namespace.
type Scope string

// The scopes.
const (
	Namespaced Scope = "namespaced"
	Cluster    Scope = "cluster"
)

// Made is an object that an operator makes of each object of a kind.
type Made struct {
	// Kind is Secret, ConfigMap, Service or Namespace.
	Kind string `json:"kind"`
	// Name is a template: {name} and {namespace} are those of the object that it is made
	// of, {a.b} is the text of a field, {a.b|c} is c where that is empty. Where it is empty
	// otherwise, nothing is made.
	Name string `json:"name"`
	// Namespace is a template too; empty means that of the object, "*" all of them.
	Namespace string `json:"namespace"`
	// Each is a list or a map with an entry for each object that is made: {item.a} is a field
	// of the entry, {key} its name in a map.
	Each string `json:"each"`
	// If and Unless are fields: nothing is made where the one is not set, or the other is.
	// A field that is false, or an empty list, is not set.
	If     string `json:"if"`
	Unless string `json:"unless"`
}

// Read is a reference to a Secret or a ConfigMap.
type Read struct {
	// Secret or ConfigMap is the field with its name.
	Secret    string `json:"secret"`
	ConfigMap string `json:"configMap"`
	// Namespace is the field beside the name that says the namespace.
	Namespace string `json:"namespace"`
	// Soft marks what the object becomes Ready without.
	Soft bool `json:"soft"`
}

// Owner is a reference to an object that another one belongs to.
type Owner struct {
	// To is the kind, "group/Kind".
	To string `json:"to"`
	// At is the field with its name, Label the label that names it.
	At    string `json:"at"`
	Label string `json:"label"`
	// Namespace is the field with its namespace, where it can be another.
	Namespace string `json:"namespace"`
	// Verb says what it is for: "belongs to".
	Verb string `json:"verb"`
	// Split marks a name that may be written "namespace/name".
	Split bool `json:"split"`
	// Cluster marks an owner that has no namespace.
	Cluster bool `json:"cluster"`
	Soft    bool `json:"soft"`
	// Static marks an owner that does nothing by itself, so that it has no health.
	Static bool `json:"static"`
	// Others is set where something of another kind may serve instead.
	Others bool `json:"others"`
}

// Storage is a field that asks for storage.
type Storage struct {
	At string `json:"at"`
	// Class is the field of the StorageClass in it; without that, it takes the default one.
	Class string `json:"class"`
}

// Rules are the simulation rules of a file.
type Rules struct{ Name, Text string }

// Controllers are the controllers of all operators that are known.
func Controllers() []Controller { return controllers() }

// Of is what is known of a kind; the zero value where nothing is.
func Of(group, kind string) Kind {
	var known Kind
	for _, f := range files().byGroup[group] {
		if k, ok := f.facts().Kinds[group+"/"+kind]; ok {
			known = k
		}
	}
	for _, f := range files().byGroup[group] {
		known.Makes = slices.Concat(known.Makes, f.facts().Kinds[group+"/*"].Makes)
	}
	return known
}

// Owns reports whether objects of other kinds belong to those of a kind.
func Owns(group, kind string) bool {
	return slices.ContainsFunc(files().byGroup[group], func(f *file) bool { return f.owners()[group+"/"+kind] })
}

// Simulation returns the rules by which a rehearsal plays the operators, by the names of
// their files.
func Simulation() []Rules {
	var all []Rules
	for _, f := range files().all {
		if f.rules != "" {
			all = append(all, Rules{Name: f.name, Text: f.rules})
		}
	}
	return all
}
