package rule

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// Form is what is evaluated at once: the template for every item of Each for which
// When holds. Without Each there is one item, null.
type Form struct {
	Each     string `json:"each,omitempty"`
	When     string `json:"when,omitempty"`
	Template any    `json:"template,omitempty"`
	// Vars, where there are any, are what is evaluated in place of the template: one
	// after the other, each seeing those before it.
	Vars []Var `json:"vars,omitempty"`
}

// Made is what a form makes of an item.
type Made struct {
	Item  any `json:"item,omitempty"`
	Value any `json:"value,omitempty"`
}

// Elsewhere reads rules and evaluates forms outside of this process.
type Elsewhere interface {
	// Documents is Documents of this package.
	Documents(ctx context.Context, source, text string) ([]Document, error)
	// Evaluate compiles a form and evaluates it.
	Evaluate(ctx context.Context, form Form, scope Scope) ([]Made, error)
}

// Evaluation is a form that can be evaluated, here or elsewhere.
type Evaluation struct {
	here *compiled

	elsewhere Elsewhere
	form      Form
	uses      []string // variables
}

// compiled is a form, compiled.
type compiled struct {
	each, when *Expression
	template   *Template
	names      []string // of the variables
	vars       []*Template
}

// form makes an evaluation of a form; nil of an empty one.
func (c *compiler) form(f Form) (*Evaluation, error) {
	if strings.TrimSpace(f.Each) == "" && strings.TrimSpace(f.When) == "" && f.Template == nil && len(f.Vars) == 0 {
		return nil, nil
	}
	if c.elsewhere != nil {
		text, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		e := &Evaluation{elsewhere: c.elsewhere, form: f}
		for _, v := range variables {
			if strings.Contains(string(text), v) {
				e.uses = append(e.uses, v)
			}
		}
		return e, nil
	}
	here := &compiled{}
	var err error
	if here.each, err = c.compile(f.Each); err != nil {
		return nil, err
	}
	if here.when, err = c.compile(f.When); err != nil {
		return nil, err
	}
	if here.template, err = c.template(f.Template); err != nil {
		return nil, err
	}
	for _, v := range f.Vars {
		t, err := c.template(v.Value)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		here.names, here.vars = append(here.names, v.Name), append(here.vars, t)
	}
	return &Evaluation{here: here}, nil
}

// Compile makes an evaluation of a form in this process.
func Compile(f Form) (*Evaluation, error) {
	return (&compiler{}).form(f)
}

// All evaluates the form; a nil one makes null, once. Items for which When does not
// hold are left out.
func (e *Evaluation) All(ctx context.Context, s Scope) ([]Made, error) {
	switch {
	case e == nil:
		return []Made{{}}, nil
	case e.here != nil:
		return e.here.all(s)
	}
	seen := make(Scope, len(e.uses))
	for _, v := range e.uses {
		if value, ok := s[v]; ok {
			seen[v] = value
		}
	}
	return e.elsewhere.Evaluate(ctx, e.form, seen)
}

func (c *compiled) all(scope Scope) ([]Made, error) {
	items, err := c.each.Items(scope)
	if err != nil {
		return nil, err
	}
	s := make(Scope, len(variables))
	for _, v := range variables {
		s[v] = scope[v]
	}
	made := []Made{}
	for _, item := range items {
		if c.each != nil {
			s["item"] = item
		}
		ok, err := c.when.Bool(s)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		value, err := c.value(s)
		if err != nil {
			return nil, err
		}
		made = append(made, Made{item, value})
	}
	return made, nil
}

func (c *compiled) value(s Scope) (any, error) {
	if len(c.vars) == 0 {
		return c.template.Eval(s)
	}
	vars := map[string]any{}
	s["vars"] = vars
	for i, t := range c.vars {
		value, err := t.Eval(s)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", c.names[i], err)
		}
		vars[c.names[i]] = value
	}
	return vars, nil
}

// Holds reports whether the form makes anything: whether its condition holds.
func (e *Evaluation) Holds(ctx context.Context, s Scope) (bool, error) {
	made, err := e.All(ctx, s)
	return len(made) > 0, err
}

// Map evaluates a form that makes one map; null becomes nil.
func (e *Evaluation) Map(ctx context.Context, s Scope) (map[string]any, error) {
	made, err := e.All(ctx, s)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	return made[0].Map()
}

// Map is a value that is a map; null becomes nil.
func (m Made) Map() (map[string]any, error) { return Map(m.Value) }

// Map is a value that is a map; null becomes nil.
func Map(v any) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	out, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%v is no map", v)
	}
	return out, nil
}

// Text is a value that is a text; null becomes "".
func Text(v any) (string, error) {
	if v == nil {
		return "", nil
	}
	out, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%v is no text", v)
	}
	return out, nil
}
