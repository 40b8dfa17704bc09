package catalogue

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
)

// The folders of operators: what people wrote, and what was generated from the
// catalogues of the Operator Lifecycle Manager, a file for each package.
const (
	writtenOperators   = "data/operators"
	generatedOperators = "data/generated/olm"
)

// Operators returns the operators that were written by hand, by name.
func Operators() []Operator { return written() }

// written reads each file once: there are few.
var written = sync.OnceValue(func() []Operator {
	files, err := fs.ReadDir(data, writtenOperators)
	if err != nil {
		return nil // an embedded folder that is not there is empty
	}
	var out []Operator
	for _, f := range files {
		// A test decodes every file.
		if o, ok, err := operatorAt(path.Join(writtenOperators, f.Name())); ok && err == nil {
			out = append(out, o)
		}
	}
	return out
})

// OfPackage returns the operator that a package of the Operator Lifecycle Manager
// installs, with the way it does. ok is false for a package that is not known.
func OfPackage(name string) (o Operator, p Package, ok bool) {
	for _, o := range written() {
		if p, ok := o.pack(name); ok {
			return o, p, true
		}
	}
	if name == "" || strings.ContainsAny(name, "/\\") {
		return Operator{}, Package{}, false
	}
	o, ok, err := operatorAt(path.Join(generatedOperators, name+".yaml"))
	if !ok || err != nil {
		return Operator{}, Package{}, false // a test decodes every file
	}
	p, ok = o.pack(name)
	return o, p, ok
}

func operatorAt(file string) (o Operator, ok bool, err error) {
	raw, err := data.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Operator{}, false, nil
	}
	if err == nil {
		o, err = DecodeOperator(raw)
	}
	if err != nil {
		return Operator{}, false, fmt.Errorf("%s: %w", file, err)
	}
	return o, true, nil
}

// pack is the package of a name that installs an operator.
func (o *Operator) pack(name string) (Package, bool) {
	for _, i := range o.Installed {
		if i.OLM != nil && i.OLM.Package == name {
			return *i.OLM, true
		}
	}
	return Package{}, false
}

// KnownPackage says what a package of the Operator Lifecycle Manager brings, in the
// terms of inference. Its webhooks are there once the operator runs.
func KnownPackage(name string) (infer.KnownPackage, bool) {
	o, p, ok := OfPackage(name)
	if !ok {
		return infer.KnownPackage{}, false
	}
	known := infer.KnownPackage{Source: "as known of package " + p.Package + " " + o.Version, Groups: o.Groups, Modes: p.Modes}
	for _, crd := range o.Kinds {
		known.Kinds = append(known.Kinds, infer.KnownKind{Group: crd.Group, Kind: crd.Kind, Plural: crd.Plural})
	}
	for _, made := range o.Objects {
		known.Objects = append(known.Objects, infer.KnownObject{Kind: made.Kind, Namespace: made.Namespace, Name: made.Name})
	}
	plain := func(name string) (string, bool) { return name, true }
	for _, w := range o.Webhooks {
		for _, hook := range w.known(values{}, plain) {
			hook.Name, hook.AtRuntime = p.Package, true
			known.Webhooks = append(known.Webhooks, hook)
		}
	}
	known.Webhooks = slices.DeleteFunc(known.Webhooks, func(w infer.KnownWebhook) bool { return w.FailurePolicy == policyIgnore || w.Selective })
	return known, true
}
