package appset

import (
	"errors"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// application fills in the template with one set of parameters.
func (x *expansion) application(set, written *yamldoc.Value, p parameters) (*yamldoc.Value, *repofs.InputError) {
	filled, err := x.fill(written, p.values)
	if err != nil {
		return nil, x.lacksKey(err, p)
	}
	at := written.Position
	app := &yamldoc.Value{Kind: yamldoc.Map, Position: at, Entries: []yamldoc.Entry{
		{Key: "apiVersion", Value: yamldoc.Text(set.TextAt("apiVersion"), at), Position: at},
		{Key: "kind", Value: yamldoc.Text("Application", at), Position: at},
	}}
	for _, key := range []string{"metadata", "spec"} {
		if e, ok := filled.Get(key); ok {
			app.Entries = append(app.Entries, e)
		}
	}
	if app, err = x.patch(set, app, p); err != nil {
		return nil, x.lacksKey(err, p)
	}
	// The controller makes Applications in the namespace of the set only.
	metadata := app.At("metadata")
	if metadata == nil || metadata.Kind != yamldoc.Map || metadata.TextAt("name") == "" {
		return nil, fail(at, "add metadata.name", "the template of the ApplicationSet %s gives no name", x.set)
	}
	namespace := yamldoc.Entry{Key: "namespace", Value: yamldoc.Text(set.TextAt("metadata", "namespace"), at), Position: at}
	entries := slices.DeleteFunc(slices.Clone(metadata.Entries), func(e yamldoc.Entry) bool { return e.Key == "namespace" })
	return app.With("metadata", &yamldoc.Value{Kind: yamldoc.Map, Position: metadata.Position, Entries: append(entries, namespace)}), nil
}

// patch applies templatePatch, a merge patch that may not change the project.
// Source: Argo CD, "Template Patch".
func (x *expansion) patch(set, app *yamldoc.Value, p parameters) (*yamldoc.Value, *repofs.InputError) {
	written := set.At("spec", "templatePatch")
	if written == nil || written.Text == "" {
		return app, nil
	}
	text, err := x.engine.text(written.Text, p.values)
	if err != nil {
		return nil, fail(written.Position, "", "the templatePatch of the ApplicationSet %s cannot be filled in: %v", x.set, err)
	}
	if IsMarked(text) {
		return nil, x.needs(written, Marks(text), "templatePatch")
	}
	parsed, parseErr := yamldoc.ParseOne(written.Position.File, []byte(text))
	if parseErr != nil || parsed.Kind != yamldoc.Map {
		return nil, fail(written.Position, "", "the templatePatch of the ApplicationSet %s gives no YAML map", x.set)
	}
	project := app.At("spec", "project")
	app = mergePatch(app, parsed.Located(written.Position))
	if spec := app.At("spec"); spec != nil && project != nil {
		app = app.With("spec", spec.With("project", project))
	}
	return app, nil
}

// mergePatch puts a patch over a value: maps are merged, null deletes, anything
// else replaces. Lists of Applications have no merge keys.
func mergePatch(base, patch *yamldoc.Value) *yamldoc.Value {
	if base == nil || base.Kind != yamldoc.Map || patch.Kind != yamldoc.Map || patch.TextAt("$patch") == "replace" {
		return withoutNulls(patch)
	}
	out := base
	for _, e := range patch.Entries {
		switch {
		case e.Key == "$patch":
		case e.Value.Kind == yamldoc.Null || e.Value.TextAt("$patch") == "delete":
			out = out.With(e.Key, nil)
		default:
			out = out.With(e.Key, mergePatch(base.At(e.Key), e.Value))
		}
	}
	return out
}

func withoutNulls(v *yamldoc.Value) *yamldoc.Value {
	if v.Kind != yamldoc.Map {
		return v
	}
	out := &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
	for _, e := range v.Entries {
		if e.Value.Kind != yamldoc.Null && e.Key != "$patch" {
			out.Entries = append(out.Entries, yamldoc.Entry{Key: e.Key, Value: withoutNulls(e.Value), Position: e.Position})
		}
	}
	return out
}

// overridden is the template of a set with that of one of its generators over
// it. Source: Argo CD, "Generator templates".
func overridden(g, template *yamldoc.Value) *yamldoc.Value {
	for _, e := range g.Entries {
		if own := e.Value.At("template"); own != nil && own.Kind == yamldoc.Map && e.Key != "selector" {
			return over(own, template)
		}
	}
	return template
}

// over keeps what the first value has and adds what only the second has.
func over(v, base *yamldoc.Value) *yamldoc.Value {
	switch {
	case base == nil || base.Kind == yamldoc.Null:
		return v
	case isUnset(v):
		return base
	case v.Kind != yamldoc.Map || base.Kind != yamldoc.Map:
		return v
	}
	out := base
	for _, e := range v.Entries {
		out = out.With(e.Key, over(e.Value, base.At(e.Key)))
	}
	return out
}

// isUnset reports whether a value is one that Go's types do not tell from none.
func isUnset(v *yamldoc.Value) bool {
	switch v.Kind {
	case yamldoc.Null:
		return true
	case yamldoc.Scalar:
		on, isBool := v.Bool()
		return v.Text == "" || isBool && !on
	default:
		return len(v.Items) == 0 && len(v.Entries) == 0
	}
}

// noTemplate is how the problem of a set begins whose template is none of Go.
const noTemplate = "the template of the ApplicationSet is not valid: "

// IsNoTemplate reports whether a problem of a set is that its template is none: Argo CD
// generates nothing of it.
func IsNoTemplate(problem *repofs.InputError) bool {
	return strings.HasPrefix(problem.Message, noTemplate)
}

// refused is how the problem of a generator begins that Argo CD does not run.
const refused = "Argo CD refuses the generator: "

// IsRefused reports whether a problem of a set is that Argo CD refuses a generator, and so
// generates nothing of the set.
func IsRefused(problem *repofs.InputError) bool { return strings.HasPrefix(problem.Message, refused) }

// lacksKey says of a template which parameters, all of them known, lack a key of it under
// missingkey=error: Argo CD generates nothing of the set then. Source: argo-cd,
// applicationset/controllers/template, GenerateApplications.
func (x *expansion) lacksKey(problem *repofs.InputError, p parameters) *repofs.InputError {
	_, why, ok := strings.Cut(problem.Message, "cannot be filled in: ")
	if !ok || !strings.Contains(why, "map has no entry for key") || p.assumed || x.engine.partly || holdsMark(p.values) {
		return problem
	}
	return fail(problem.Position, "add the key to the parameters, or a default to the template", "%s%s, in the parameters of %s", noTemplate, why, p.at)
}

// notFilled is the problem of a text that is not filled in. A function that is not known
// here may be known to Argo CD.
func (x *expansion) notFilled(at finding.Position, err error) *repofs.InputError {
	if syntax := (*syntaxError)(nil); errors.As(err, &syntax) && !strings.Contains(err.Error(), "not defined") {
		hint := ""
		if strings.Contains(err.Error(), "U+002D") {
			hint = `write a name with a dash as {{ index .metadata.labels "the-name" }}`
		}
		return fail(at, hint, "%s%v", noTemplate, err)
	}
	return fail(at, "", "the template of the ApplicationSet %s cannot be filled in: %v", x.set, err)
}

// fill fills in every text below a value, keys too.
func (x *expansion) fill(v *yamldoc.Value, p map[string]any) (*yamldoc.Value, *repofs.InputError) {
	if len(p) == 0 {
		return v, nil
	}
	switch v.Kind {
	case yamldoc.Scalar:
		if !v.IsString() {
			return v, nil
		}
		text, err := x.engine.text(v.Text, p)
		if err != nil {
			return nil, x.notFilled(v.Position, err)
		}
		if text == v.Text {
			return v, nil
		}
		return yamldoc.Text(text, v.Position), nil
	case yamldoc.List:
		out := &yamldoc.Value{Kind: yamldoc.List, Position: v.Position, Items: make([]*yamldoc.Value, len(v.Items))}
		for i, item := range v.Items {
			filled, err := x.fill(item, p)
			if err != nil {
				return nil, err
			}
			out.Items[i] = filled
		}
		return out, nil
	case yamldoc.Map:
		out := &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
		for _, e := range v.Entries {
			key, err := x.engine.text(e.Key, p)
			if err != nil {
				return nil, x.notFilled(e.Position, err)
			}
			filled, problem := x.fill(e.Value, p)
			if problem != nil {
				return nil, problem
			}
			out.Entries = append(out.Entries, yamldoc.Entry{Key: key, Value: filled, Position: e.Position})
		}
		return out, nil
	default:
		return v, nil
	}
}

// fillGenerator fills in the fields of the second generator of a matrix. Its
// field values may use parameters that it makes itself, which come later.
func (x *expansion) fillGenerator(v *yamldoc.Value, p map[string]any) (*yamldoc.Value, *repofs.InputError) {
	own := v.At("values")
	if own == nil || own.Kind != yamldoc.Map {
		return x.fill(v.With("template", nil), p)
	}
	filled, err := x.fill(v.With("values", nil).With("template", nil), p)
	if err != nil {
		return nil, err
	}
	out := &yamldoc.Value{Kind: yamldoc.Map, Position: own.Position}
	for _, e := range own.Entries {
		value := e.Value
		if text, ok := x.engine.resolved(value.Text, p); ok && value.Kind == yamldoc.Scalar {
			value = yamldoc.Text(text, value.Position)
		}
		out.Entries = append(out.Entries, yamldoc.Entry{Key: e.Key, Value: value, Position: e.Position})
	}
	return filled.With("values", out), nil
}
