package appset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// deciding are the fields of a source that say what is applied, and under which
// names: none may be made of what is not known. The address of a folder is not
// among them: the folder may be one of this repository.
func deciding() [][]string {
	return [][]string{
		{"path"}, {"chart"}, {"directory"}, {"helm", "namespace"}, {"helm", "skipCrds"}, {"helm", "fileParameters"},
		{"kustomize", "namePrefix"}, {"kustomize", "nameSuffix"}, {"kustomize", "namespace"}, {"kustomize", "components"},
	}
}

// settle makes an Application of which parameters are not known one that can be
// read, or says why it cannot. alone says that its generator makes no other one.
// The value is nil for one that is there already.
func (x *expansion) settle(set *yamldoc.Value, app *Application, alone bool) *repofs.InputError {
	v := app.Value
	if !app.Assumed && marked(v) == nil {
		return nil
	}
	if m := marked(v.At("spec", "project")); m != nil {
		return x.needs(m, Marks(m.Text), "spec.project")
	}
	if m := marked(v.At("spec", "destination", "namespace")); m != nil {
		app.Namespace = Written(m.Text)
	}
	for _, key := range x.steps(set) {
		if m := marked(v.At("metadata", "labels", key)); m != nil {
			return x.needs(m, Marks(m.Text), "the label "+key+" of its steps")
		}
	}
	spec := v.At("spec")
	if spec == nil {
		spec = &yamldoc.Value{Kind: yamldoc.Map, Position: v.Position}
	}
	var err *repofs.InputError
	if list := spec.At("sources"); list != nil && len(list.Items) > 0 {
		sources := &yamldoc.Value{Kind: yamldoc.List, Position: list.Position, Items: slices.Clone(list.Items)}
		app.Lacks = make([]string, len(list.Items))
		for i, s := range list.Items {
			if sources.Items[i], app.Lacks[i], err = x.source(s, fmt.Sprintf("spec.sources[%d]", i)); err != nil {
				return err
			}
		}
		spec = spec.With("sources", sources)
	} else if s := spec.At("source"); s == nil {
		return x.unsure(v)
	} else {
		app.Lacks = make([]string, 1)
		if s, app.Lacks[0], err = x.source(s, "spec.source"); err != nil {
			return err
		}
		spec = spec.With("source", s)
	}
	for _, e := range spec.Entries {
		switch e.Key {
		case "source", "sources":
		case "destination":
			spec = spec.With(e.Key, restored(e.Value))
		default:
			spec = spec.With(e.Key, pruned(e.Value))
		}
	}
	app.Value = v.With("spec", spec)
	x.name(app, alone)
	return nil
}

// needs says which parameters something needs that are not known, and why they
// are not.
func (x *expansion) needs(at *yamldoc.Value, parameters []string, field string) *repofs.InputError {
	text := "parameters"
	if list := slices.DeleteFunc(slices.Clone(parameters), func(s string) bool { return s == "" }); len(list) > 0 {
		slices.Sort(list)
		text = strings.Join(slices.Compact(list), ", ")
	}
	if len(x.reasons) == 0 {
		return fail(at.Position, "", "%s of the ApplicationSet %s needs %s, which is not known", field, x.set, text)
	}
	why := x.reasons[0]
	return fail(why.Position, why.Hint, "%s, and %s needs %s", why.Message, field, text)
}

// unsure says why an Application is not known at all.
func (x *expansion) unsure(v *yamldoc.Value) *repofs.InputError {
	if len(x.reasons) == 0 {
		return fail(v.Position, "", "the template of the ApplicationSet %s has no source", x.set)
	}
	return x.reasons[0]
}

// steps are the labels that the steps of a RollingSync match.
func (x *expansion) steps(set *yamldoc.Value) []string {
	var keys []string
	if list := set.At("spec", "strategy", "rollingSync", "steps"); list != nil {
		for _, step := range list.Items {
			if expressions := step.At("matchExpressions"); expressions != nil {
				for _, e := range expressions.Items {
					keys = append(keys, e.TextAt("key"))
				}
			}
		}
	}
	return keys
}

// source takes out of a source what is not known. lacks says what that was.
func (x *expansion) source(s *yamldoc.Value, field string) (out *yamldoc.Value, lacks string, err *repofs.InputError) {
	fields := deciding()
	if s.TextAt("chart") != "" {
		fields = append(fields, []string{"repoURL"}, []string{"targetRevision"})
	}
	for _, keys := range fields {
		if m := marked(s.At(keys...)); m != nil {
			return nil, "", x.needs(m, Marks(m.Text), field+"."+strings.Join(keys, "."))
		}
	}
	var parts []string
	out = s
	for _, key := range []string{"helm", "kustomize"} {
		section := s.At(key)
		if section == nil || section.Kind != yamldoc.Map {
			continue
		}
		if text := section.At("values"); key == "helm" && text != nil && IsMarked(text.Text) {
			section = parsedValues(section, text)
			parts = append(parts, "helm.values")
		}
		for _, e := range section.Entries {
			if marked(e.Value) == nil {
				continue
			}
			parts = append(parts, key+"."+e.Key)
			if e.Value.Kind == yamldoc.List {
				section = section.With(e.Key, wholeItems(e.Value))
			} else {
				section = section.With(e.Key, pruned(e.Value))
			}
		}
		out = out.With(key, section)
	}
	for _, e := range out.Entries {
		if marked(e.Value) != nil {
			out = out.With(e.Key, restored(e.Value))
		}
	}
	slices.Sort(parts)
	return out, strings.Join(slices.Compact(parts), ", "), nil
}

// parsedValues puts the values of a text into valuesObject, which wins over it,
// without those that are not known. A text that is no YAML so far says nothing.
func parsedValues(helm, text *yamldoc.Value) *yamldoc.Value {
	helm = helm.With("values", nil)
	if helm.At("valuesObject") != nil {
		return helm
	}
	// Helm takes the last of two keys of one name.
	var values map[string]any
	if manifest.Unmarshal([]byte(text.Text), &values) != nil {
		return helm
	}
	return helm.With("valuesObject", pruned(yamldoc.FromAny(values, text.Position)))
}

// pruned is a value without what is not known; nil where nothing is left.
func pruned(v *yamldoc.Value) *yamldoc.Value {
	if marked(v) == nil {
		return v
	}
	out := &yamldoc.Value{Kind: v.Kind, Position: v.Position}
	for _, item := range v.Items {
		if kept := pruned(item); kept != nil {
			out.Items = append(out.Items, kept)
		}
	}
	for _, e := range v.Entries {
		if kept := pruned(e.Value); kept != nil && !IsMarked(e.Key) {
			out.Entries = append(out.Entries, yamldoc.Entry{Key: e.Key, Value: kept, Position: e.Position})
		}
	}
	if len(out.Items)+len(out.Entries) == 0 {
		return nil
	}
	return out
}

// wholeItems is a list without the items of which something is not known: half a
// parameter or a patch is none.
func wholeItems(list *yamldoc.Value) *yamldoc.Value {
	items := slices.DeleteFunc(slices.Clone(list.Items), func(v *yamldoc.Value) bool { return marked(v) != nil })
	if len(items) == 0 {
		return nil
	}
	return &yamldoc.Value{Kind: yamldoc.List, Position: list.Position, Items: items}
}

// restored writes what is not known as a template does.
func restored(v *yamldoc.Value) *yamldoc.Value {
	if marked(v) == nil {
		return v
	}
	if v.Kind == yamldoc.Scalar {
		return yamldoc.Text(Written(v.Text), v.Position)
	}
	out := &yamldoc.Value{Kind: v.Kind, Position: v.Position}
	for _, item := range v.Items {
		out.Items = append(out.Items, restored(item))
	}
	for _, e := range v.Entries {
		out.Entries = append(out.Entries, yamldoc.Entry{Key: Written(e.Key), Value: restored(e.Value), Position: e.Position})
	}
	return out
}

// name settles the metadata of an Application. A name that is not known is that
// of the set, with what is known of it where a generator makes several. Generators
// that differ only in the clusters they select make one.
func (x *expansion) name(app *Application, alone bool) {
	metadata := app.Value.At("metadata")
	name := metadata.TextAt("name")
	if IsMarked(name) {
		part := strings.Trim(dashes.ReplaceAllString(marks.ReplaceAllString(name, "-"), "-"), "-.")
		if name = x.set; !alone && part != "" {
			name = part
		}
	}
	what, called := applied(app.Value), metadata.TextAt("name")
	app.called = called
	taken := map[string]bool{}
	for _, other := range x.result.Applications {
		if app.Assumed && applied(other.Value) == what && (!other.Assumed && app.Cluster == 0 || other.called == called) && (app.Cluster == 0 || other.Cluster == app.Cluster) {
			app.Value = nil
			return
		}
		taken[other.Value.TextAt("metadata", "name")] = true
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	for _, key := range []string{"labels", "annotations"} {
		if e, ok := metadata.Get(key); ok {
			metadata = metadata.With(key, pruned(e.Value))
		}
	}
	app.Value = app.Value.With("metadata", metadata.With("name", yamldoc.Text(unique, metadata.Position)))
}

// applied is what an Application applies and where to, whatever its cluster and
// the versions of its charts.
func applied(app *yamldoc.Value) string {
	var b strings.Builder
	sources := []*yamldoc.Value{app.At("spec", "source")}
	if list := app.At("spec", "sources"); list != nil {
		sources = list.Items
	}
	for _, s := range sources {
		for _, key := range []string{"repoURL", "path", "chart"} {
			fmt.Fprintf(&b, "%q ", s.TextAt(key))
		}
	}
	fmt.Fprintf(&b, "%q", app.TextAt("spec", "destination", "namespace"))
	return b.String()
}
