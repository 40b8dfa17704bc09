package rule

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Set is a compiled set of rules. Earlier rules win.
type Set struct {
	Operators    []*CompiledOperator
	Provisioners []Provisioner
	Injectors    []Injector
	Installers   []*CompiledInstaller
}

// CompiledOperator is an Operator that can be evaluated.
type CompiledOperator struct {
	Operator

	Source       string // the document it comes from
	WhenExpr     *Evaluation
	VarValues    *Evaluation
	Requirements []CompiledRequirement
	ChildRules   []CompiledChild
	Ready        *Evaluation
	Waiting      *Evaluation
}

// CompiledRequirement is a Requirement that can be evaluated.
type CompiledRequirement struct {
	Requirement

	// Looked says what to look for, for every item: a map of kind, namespace, object
	// and select.
	Looked              *Evaluation
	KeysExpr, ReadyExpr *Evaluation
	WaitingStatus       *Evaluation
}

// CompiledChild is a Child that can be evaluated.
type CompiledChild struct {
	Child

	// Objects makes the object for every item.
	Objects *Evaluation
}

// CompiledInstaller is an Installer that can be evaluated.
type CompiledInstaller struct {
	Installer

	Source     string
	ChildRules []CompiledChild
}

// Makers are the built-ins that a rule may name.
func Makers() []string { return []string{"certificate", "xrd"} }

// ParseError is a rule document that cannot be used.
type ParseError struct {
	Source string // the name of the document
	Rule   string // the rule in it, where that is known
	Err    error
}

// Error implements error.
func (e *ParseError) Error() string {
	if e.Rule == "" {
		return fmt.Sprintf("simulation rules %s: %v", e.Source, e.Err)
	}
	return fmt.Sprintf("simulation rules %s: %s: %v", e.Source, e.Rule, e.Err)
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// Documents parses a file of rule documents. Whether their expressions can be used
// is not looked at.
func Documents(source, text string) ([]Document, error) {
	if len(text) > maxDocument {
		return nil, &ParseError{Source: source, Err: fmt.Errorf("is larger than %d bytes", maxDocument)}
	}
	var out []Document
	reader := kyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, &ParseError{Source: source, Err: err}
		}
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		var d Document
		if err := yaml.UnmarshalStrict(part, &d); err != nil {
			return nil, &ParseError{Source: source, Err: err}
		}
		if d.APIVersion == "" && len(d.Operators)+len(d.Provisioners)+len(d.Injectors)+len(d.Installers) == 0 {
			continue // comments only
		}
		if d.APIVersion != APIVersion {
			return nil, &ParseError{Source: source, Err: fmt.Errorf("apiVersion is %q, not %s", d.APIVersion, APIVersion)}
		}
		out = append(out, d)
	}
}

// Add parses a file of rule documents and appends its rules to the set. They are
// evaluated in this process.
func (s *Set) Add(source string, text []byte) error {
	return s.addHere(&compiler{}, source, text)
}

// AddTested is Add for rules whose expressions are known to compile. Each is
// compiled when it is first evaluated: a platform uses few of them.
func (s *Set) AddTested(source string, text []byte) error {
	return s.addHere(&compiler{late: true}, source, text)
}

func (s *Set) addHere(c *compiler, source string, text []byte) error {
	documents, err := Documents(source, string(text))
	if err != nil {
		return err
	}
	return s.add(c, source, documents)
}

// AddElsewhere is Add for rules that this process neither parses nor evaluates.
func (s *Set) AddElsewhere(ctx context.Context, elsewhere Elsewhere, source string, text []byte) error {
	documents, err := elsewhere.Documents(ctx, source, string(text))
	if err != nil {
		return err
	}
	return s.add(&compiler{elsewhere: elsewhere}, source, documents)
}

func (s *Set) add(c *compiler, source string, documents []Document) error {
	for _, d := range documents {
		if err := s.addDocument(c, source, d); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) addDocument(c *compiler, source string, d Document) error {
	for _, o := range d.Operators {
		compiled, err := c.operator(o)
		if err != nil {
			return &ParseError{Source: source, Rule: "operator for " + strings.Join(o.For, ", ") + o.DefinedBy, Err: err}
		}
		compiled.Source = source
		s.Operators = append(s.Operators, compiled)
	}
	for _, p := range d.Provisioners {
		if err := errors.Join(glob(p.Name), selectors(p.Controller), notNegative(p.Takes)); err != nil {
			return &ParseError{Source: source, Rule: "provisioner " + p.Name, Err: err}
		}
		s.Provisioners = append(s.Provisioners, p)
	}
	for _, i := range d.Injectors {
		if err := errors.Join(glob(i.Name), glob(i.Service), selectors(i.Controller)); err != nil {
			return &ParseError{Source: source, Rule: "injector " + i.Name + i.Annotation, Err: err}
		}
		s.Injectors = append(s.Injectors, i)
	}
	for _, i := range d.Installers {
		compiled := &CompiledInstaller{Installer: i, Source: source}
		var err error
		if compiled.ChildRules, err = c.children(i.Objects); err == nil {
			err = errors.Join(selectors(i.Controller), definitions(i.Definitions))
		}
		if err != nil {
			return &ParseError{Source: source, Rule: "installer " + i.Name, Err: err}
		}
		s.Installers = append(s.Installers, compiled)
	}
	return nil
}

func (c *compiler) operator(o Operator) (*CompiledOperator, error) {
	if (len(o.For) == 0) == (o.DefinedBy == "") {
		return nil, errors.New("needs one of for and definedBy")
	}
	for _, id := range append(slices.Clone(o.For), o.DefinedBy) {
		if group, kind, ok := strings.Cut(id, "/"); id != "" && (!ok || group == "" || kind == "" || strings.Contains(kind, "/")) {
			return nil, fmt.Errorf("%q is not group/Kind", id)
		}
	}
	if o.Maker != "" && o.Maker != Makers()[0] && o.Maker != Makers()[1] {
		return nil, fmt.Errorf("unknown maker %q: one of %s", o.Maker, strings.Join(Makers(), ", "))
	}
	if err := errors.Join(selectors(o.Controller), notNegative(o.Delay)); err != nil {
		return nil, err
	}
	out := &CompiledOperator{Operator: o}
	var err error
	if out.WhenExpr, err = c.form(Form{When: o.When}); err != nil {
		return nil, fmt.Errorf("when: %w", err)
	}
	if out.VarValues, err = c.form(Form{Vars: o.Vars}); err != nil {
		return nil, err
	}
	for i, r := range o.Requires {
		compiled, err := c.requirement(r)
		if err != nil {
			return nil, fmt.Errorf("requires[%d]: %w", i, err)
		}
		out.Requirements = append(out.Requirements, compiled)
	}
	if out.ChildRules, err = c.children(o.Children); err != nil {
		return nil, err
	}
	if out.Ready, err = c.form(Form{Template: o.Status.Ready}); err != nil {
		return nil, fmt.Errorf("status.ready: %w", err)
	}
	if out.Waiting, err = c.form(Form{Template: o.Status.Waiting}); err != nil {
		return nil, fmt.Errorf("status.waiting: %w", err)
	}
	return out, nil
}

func (c *compiler) requirement(r Requirement) (CompiledRequirement, error) {
	out := CompiledRequirement{Requirement: r}
	looked := map[string]any{"kind": r.Kind, "object": r.Object}
	if r.Namespace != nil {
		looked["namespace"] = *r.Namespace
	}
	if r.Select != nil {
		looked["select"] = r.Select
	}
	var errs [4]error
	out.Looked, errs[0] = c.form(Form{Each: r.Each, When: r.When, Template: looked})
	out.KeysExpr, errs[1] = c.form(Form{Each: r.Keys})
	out.ReadyExpr, errs[2] = c.form(Form{When: r.Ready})
	out.WaitingStatus, errs[3] = c.form(Form{Template: r.Waiting})
	if r.Kind == "" || (r.Object == "") == (r.Select == nil) {
		return out, errors.New("needs kind and one of object and select")
	}
	return out, errors.Join(errs[:]...)
}

func (c *compiler) children(children []Child) ([]CompiledChild, error) {
	var out []CompiledChild
	for i, child := range children {
		compiled := CompiledChild{Child: child}
		var err error
		if compiled.Objects, err = c.form(Form{Each: child.Each, When: child.When, Template: child.Object}); err != nil {
			return nil, fmt.Errorf("children[%d]: %w", i, err)
		}
		if text(child.Object["kind"]) == "" || text(child.Object["apiVersion"]) == "" {
			return nil, fmt.Errorf("children[%d]: needs apiVersion and kind", i)
		}
		out = append(out, compiled)
	}
	return out, nil
}

func selectors(list []Selector) error {
	for _, s := range list {
		if err := glob(s.Name); err != nil {
			return err
		}
		if s.Name == "" && len(s.Labels) == 0 && s.Image == "" && s.Mentions == "" {
			return errors.New("a selector of controllers matches everything: give it a name, labels, an image or a mention")
		}
	}
	return nil
}

func definitions(list []Definition) error {
	for _, d := range list {
		if d.Group == "" || d.Kind == "" || d.Plural == "" || len(d.Versions) == 0 {
			return fmt.Errorf("a definition needs group, kind, plural and versions: %+v", d)
		}
	}
	return nil
}

func glob(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q: %w", pattern, err)
	}
	return nil
}

func notNegative(d Duration) error {
	if d < 0 {
		return fmt.Errorf("duration %v is below zero", time.Duration(d))
	}
	return nil
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
