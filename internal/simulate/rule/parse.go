package rule

import (
	"bufio"
	"bytes"
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
	WhenExpr     *Expression
	VarTemplates []*Template
	Requirements []CompiledRequirement
	ChildRules   []CompiledChild
	Ready        *Template
	Waiting      *Template
}

// CompiledRequirement is a Requirement that can be evaluated.
type CompiledRequirement struct {
	Requirement

	EachExpr, WhenExpr, KeysExpr, ReadyExpr *Expression
	KindText, NamespaceText, ObjectText     *Template
	SelectLabels                            *Template
	WaitingStatus                           *Template
}

// CompiledChild is a Child that can be evaluated.
type CompiledChild struct {
	Child

	EachExpr, WhenExpr *Expression
	Template           *Template
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

// Add parses a file of rule documents and appends its rules to the set.
func (s *Set) Add(source string, text []byte) error {
	if len(text) > maxDocument {
		return &ParseError{Source: source, Err: fmt.Errorf("is larger than %d bytes", maxDocument)}
	}
	c, err := newCompiler()
	if err != nil {
		return err
	}
	reader := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		part, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &ParseError{Source: source, Err: err}
		}
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		var d Document
		if err := yaml.UnmarshalStrict(part, &d); err != nil {
			return &ParseError{Source: source, Err: err}
		}
		if d.APIVersion == "" && len(d.Operators)+len(d.Provisioners)+len(d.Injectors)+len(d.Installers) == 0 {
			continue // comments only
		}
		if d.APIVersion != APIVersion {
			return &ParseError{Source: source, Err: fmt.Errorf("apiVersion is %q, not %s", d.APIVersion, APIVersion)}
		}
		if err := s.add(c, source, d); err != nil {
			return err
		}
	}
}

func (s *Set) add(c *compiler, source string, d Document) error {
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
	if out.WhenExpr, err = c.compile(o.When); err != nil {
		return nil, fmt.Errorf("when: %w", err)
	}
	for _, v := range o.Vars {
		t, err := c.template(v.Value)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		out.VarTemplates = append(out.VarTemplates, t)
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
	if out.Ready, err = c.template(o.Status.Ready); err != nil {
		return nil, fmt.Errorf("status.ready: %w", err)
	}
	if out.Waiting, err = c.template(o.Status.Waiting); err != nil {
		return nil, fmt.Errorf("status.waiting: %w", err)
	}
	return out, nil
}

func (c *compiler) requirement(r Requirement) (CompiledRequirement, error) {
	out := CompiledRequirement{Requirement: r}
	var errs [9]error
	out.EachExpr, errs[0] = c.compile(r.Each)
	out.WhenExpr, errs[1] = c.compile(r.When)
	out.KeysExpr, errs[2] = c.compile(r.Keys)
	out.ReadyExpr, errs[3] = c.compile(r.Ready)
	out.KindText, errs[4] = c.template(r.Kind)
	out.ObjectText, errs[5] = c.template(r.Object)
	if r.Namespace != nil {
		out.NamespaceText, errs[6] = c.template(*r.Namespace)
	}
	out.WaitingStatus, errs[7] = c.template(r.Waiting)
	out.SelectLabels, errs[8] = c.template(r.Select)
	if r.Kind == "" || (r.Object == "") == (r.Select == nil) {
		return out, errors.New("needs kind and one of object and select")
	}
	return out, errors.Join(errs[:]...)
}

func (c *compiler) children(children []Child) ([]CompiledChild, error) {
	var out []CompiledChild
	for i, child := range children {
		compiled := CompiledChild{Child: child}
		var errs [3]error
		compiled.EachExpr, errs[0] = c.compile(child.Each)
		compiled.WhenExpr, errs[1] = c.compile(child.When)
		compiled.Template, errs[2] = c.template(child.Object)
		if err := errors.Join(errs[:]...); err != nil {
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
