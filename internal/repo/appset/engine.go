package appset

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// engine fills in templates, in one of the two languages of ApplicationSets.
type engine struct {
	goTemplate bool
	options    []string
	base       *template.Template
	parsed     map[string]*template.Template
	strict     map[string]*template.Template
	// partly is set once a parameter is not known.
	partly bool
}

func newEngine(spec *yamldoc.Value) *engine {
	e := &engine{parsed: map[string]*template.Template{}, strict: map[string]*template.Template{}}
	if on := spec.At("goTemplate"); on != nil {
		e.goTemplate, _ = on.Bool()
	}
	if list := spec.At("goTemplateOptions"); list != nil {
		for _, item := range list.Items {
			e.options = append(e.options, item.Text)
		}
	}
	return e
}

// text fills in one text.
func (e *engine) text(text string, p map[string]any) (string, error) {
	switch {
	case !strings.Contains(text, "{{"):
		return text, nil
	case e.goTemplate:
		t, err := e.template(e.parsed, text, e.options)
		if err != nil {
			return "", err
		}
		return e.fill(t, e.options, p)
	default:
		return classic(text, p)
	}
}

// resolved fills in one text of which all parameters must be there. ok is false
// where some are not.
func (e *engine) resolved(text string, p map[string]any) (filled string, ok bool) {
	if !e.goTemplate || !strings.Contains(text, "{{") {
		filled, err := e.text(text, p)
		return filled, err == nil
	}
	options := slices.DeleteFunc(slices.Clone(e.options), func(o string) bool { return strings.HasPrefix(o, "missingkey=") })
	options = append(options, "missingkey=error")
	t, err := e.template(e.strict, text, options)
	if err != nil {
		return "", false
	}
	filled, err = e.fill(t, options, p)
	return filled, err == nil
}

// classic replaces {{name}}; a name that is not known stays. Source: Argo CD,
// which uses fasttemplate.
func classic(text string, p map[string]any) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		tag, after, closed := strings.Cut(rest, "}}")
		b.WriteString(before)
		if !ok {
			break
		}
		if !closed {
			return "", errors.New("a {{ has no }}")
		}
		name := strings.TrimSpace(tag)
		if value, known := p[name].(string); known {
			b.WriteString(value)
		} else if !knowsTag(p, name) {
			b.WriteString(Mark(name))
		} else {
			b.WriteString("{{" + tag + "}}")
		}
		text = after
	}
	return b.String(), nil
}

// template parses a text, once.
func (e *engine) template(known map[string]*template.Template, text string, options []string) (*template.Template, error) {
	if t, ok := known[text]; ok {
		return t, nil
	}
	if e.base == nil {
		e.base = template.New("template").Funcs(functions())
	}
	t, err := e.base.Clone()
	if err != nil {
		return nil, fmt.Errorf("prepare the template: %w", err)
	}
	for _, o := range options {
		if !slices.Contains([]string{"missingkey=default", "missingkey=invalid", "missingkey=zero", "missingkey=error"}, o) {
			return nil, fmt.Errorf("goTemplateOptions %q is not known", o)
		}
		t.Option(o)
	}
	if t, err = t.Parse(text); err != nil {
		return nil, &syntaxError{explain(err, text, nil)}
	}
	known[text] = t
	return t, nil
}

// syntaxError says that a text is no template, whatever its parameters are.
type syntaxError struct{ err error }

func (e *syntaxError) Error() string { return e.err.Error() }

// fill runs a template, with marks for what is not known.
func (e *engine) fill(t *template.Template, options []string, p map[string]any) (string, error) {
	if e.partly && !knows(p, nil) {
		return e.masked(t, options, p)
	}
	return e.run(t, p)
}

func (e *engine) run(t *template.Template, p map[string]any) (string, error) {
	var out strings.Builder
	if err := t.Execute(&out, p); err != nil {
		return "", explain(err, t.Root.String(), p)
	}
	return out.String(), nil
}

// explain leaves out the name that a template has here only, and what may be secret
// in what it was given.
func explain(err error, written string, p map[string]any) error {
	var held confidential.Values
	held.AddText([]byte(written))
	held.Add(p)
	text := strings.TrimPrefix(err.Error(), "template: ")
	if rest, ok := strings.CutPrefix(text, "template:"); ok {
		text = "line " + rest
	}
	return errors.New(held.Redact(executing.ReplaceAllString(text, "at ")))
}

// executing is what the engine says of the name of a template.
var executing = lazyregexp.New(`executing "[^"]*" at `)
