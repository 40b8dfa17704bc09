package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Operator is what is known of one operator, whatever installs it. It is the one
// form in which knowledge of operators is written; designs/0013 explains it.
type Operator struct {
	// Name is that of the operator, and of its file.
	Name string `json:"operator"`
	// Version is the one that it was read from.
	Version string `json:"version"`
	// Source lists the files it was read in: "owner/name@commit:path".
	Source []string `json:"source"`
	// Installed are the ways in which it comes to a cluster.
	Installed []Installed `json:"installed"`

	// Kinds are those whose CRDs it brings.
	Kinds []CRD `json:"kinds,omitempty"`
	// Groups are API groups of which it brings kinds that are not listed.
	Groups []string `json:"groups,omitempty"`
	// Open marks an operator that may bring more kinds than are listed.
	Open bool `json:"open,omitempty"`
	// Requires are the kinds, "group/Kind", that must be there before it runs.
	Requires []string `json:"requires,omitempty"`
	// Workloads are what runs it.
	Workloads []Workload `json:"workloads,omitempty"`
	// Webhooks are those that it, or what installs it, registers.
	Webhooks []Webhook `json:"webhooks,omitempty"`
	// Objects are what is installed under a certain name.
	Objects []Object `json:"objects,omitempty"`
	// Children are what it makes from objects of its kinds.
	Children []Child `json:"children,omitempty"`
	// Notes are for people.
	Notes string `json:"notes,omitempty"`
}

// Installed is one way in which an operator comes to a cluster. One of its fields
// is set.
type Installed struct {
	// Manifests are patterns of addresses, as those of an Entry.
	Manifests []string `json:"manifests,omitempty"`
	// OLM is a package of the Operator Lifecycle Manager.
	OLM *Package `json:"olm,omitempty"`
}

// Package is a package of the Operator Lifecycle Manager.
type Package struct {
	Package string `json:"package"`
	// Channel is the default one.
	Channel string `json:"channel,omitempty"`
	// Modes are the install modes that it supports: OwnNamespace, SingleNamespace,
	// MultiNamespace, AllNamespaces. Without any, they are not known.
	Modes []string `json:"modes,omitempty"`
}

// Workload is a Deployment of an operator, written "name image".
type Workload struct{ Name, Image string }

// UnmarshalJSON implements json.Unmarshaler.
func (w *Workload) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a workload is a text such as \"keda-operator ghcr.io/kedacore/keda\": %w", err)
	}
	name, image, _ := strings.Cut(text, " ")
	if name == "" || strings.Contains(image, " ") {
		return fmt.Errorf("workload %q is not written as \"name image\"", text)
	}
	w.Name, w.Image = name, image
	return nil
}

// MarshalJSON implements json.Marshaler.
func (w Workload) MarshalJSON() ([]byte, error) {
	return json.Marshal(strings.TrimSpace(w.Name + " " + w.Image))
}

// installModes are those of the Operator Lifecycle Manager.
var installModes = map[string]bool{"OwnNamespace": true, "SingleNamespace": true, "MultiNamespace": true, "AllNamespaces": true}

// DecodeOperator reads an operator in YAML or JSON. A field that operators do not
// have, and an operator that says too little, is an error.
func DecodeOperator(data []byte) (Operator, error) {
	var o Operator
	if err := strict(data, &o); err != nil {
		return Operator{}, err
	}
	return o, o.check()
}

// check reports what is wrong with an operator.
func (o *Operator) check() error {
	switch {
	case o.Name == "":
		return errors.New("an operator needs operator, its name")
	case o.Version == "":
		return fmt.Errorf("%s: an operator needs version, what it was read from", o.Name)
	case len(o.Source) == 0:
		return fmt.Errorf("%s: an operator needs source, the files it was read in", o.Name)
	case len(o.Installed) == 0:
		return fmt.Errorf("%s: an operator needs installed, what brings it to a cluster", o.Name)
	}
	var problems []error
	for _, i := range o.Installed {
		if (len(i.Manifests) == 0) == (i.OLM == nil) {
			problems = append(problems, fmt.Errorf("%s: installed has one of manifests and olm", o.Name))
			continue
		}
		if i.OLM == nil {
			continue
		}
		if i.OLM.Package == "" {
			problems = append(problems, fmt.Errorf("%s: installed.olm needs package", o.Name))
		}
		for _, mode := range i.OLM.Modes {
			if !installModes[mode] {
				problems = append(problems, fmt.Errorf("%s: there is no install mode %q", o.Name, mode))
			}
		}
	}
	for _, group := range o.Groups {
		if !strings.Contains(group, ".") || strings.Contains(group, "/") {
			problems = append(problems, fmt.Errorf("%s: groups %q is no API group", o.Name, group))
		}
	}
	// What it shares with entries of charts is checked as theirs.
	e := o.entry()
	e.Manifests = []string{o.Name}
	return errors.Join(append(problems, e.check())...)
}

// entry is what an operator says of the manifests that install it.
func (o *Operator) entry() Entry {
	e := Entry{Chart: o.Name, Version: o.Version, Source: o.Source, Open: o.Open || len(o.Groups) > 0, Webhooks: o.Webhooks, Objects: o.Objects, Children: o.Children, Notes: o.Notes}
	for _, i := range o.Installed {
		e.Manifests = append(e.Manifests, i.Manifests...)
	}
	if len(o.Kinds) > 0 {
		e.CRDs = []CRDs{{List: o.Kinds}}
	}
	for _, kind := range o.Requires {
		e.Requires = append(e.Requires, Required{Kind: kind})
	}
	if reconciled := o.reconciled(); len(o.Workloads) > 0 && len(reconciled) > 0 {
		e.Controllers = []Controller{{Name: o.Workloads[0].Name, Kinds: reconciled}}
	}
	return e
}

// reconciled are the kinds that an operator brings to Ready: its own.
func (o *Operator) reconciled() []string {
	var kinds []string
	for _, crd := range o.Kinds {
		kinds = append(kinds, crd.Group+"/"+crd.Kind)
	}
	for _, group := range o.Groups {
		kinds = append(kinds, group+"/*")
	}
	return kinds
}
