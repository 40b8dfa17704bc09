package appset

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// matrix combines every set of its first child with every one of its second,
// whose fields may use the parameters of the first. Source: Argo CD, matrix
// generator.
func (x *expansion) matrix(v *yamldoc.Value, outer map[string]any) ([]parameters, *repofs.InputError) {
	children := v.At("generators")
	if children == nil || len(children.Items) != 2 {
		return nil, fail(v.Position, "nest a matrix in the matrix to combine more", "a matrix combines two generators")
	}
	first, err := x.parameters(children.Items[0], outer)
	if err != nil {
		return nil, err
	}
	var all []parameters
	for _, a := range first {
		inner := a.values
		if len(outer) > 0 {
			inner = merged(outer, a.values)
		}
		second, err := x.parameters(children.Items[1], inner)
		if err != nil {
			return nil, err
		}
		for _, b := range second {
			values, err := x.combined(v, a.values, b.values)
			if err != nil {
				return nil, err
			}
			at := b.at
			// The element of a list or file tells Applications apart; a generator
			// as a whole does not.
			if isWhole(children.Items[1], b.at.Line) {
				at = a.at
			}
			all = append(all, parameters{values: values, at: at, assumed: a.assumed || b.assumed, cluster: cmp.Or(a.cluster, b.cluster)})
		}
		if len(all) > maxParameters {
			return nil, fail(v.Position, "", "the matrix makes more than %d sets of parameters", maxParameters)
		}
	}
	return all, nil
}

// isWhole reports whether a line is that of a field of the generator itself.
func isWhole(g *yamldoc.Value, line int) bool {
	return slices.ContainsFunc(g.Entries, func(e yamldoc.Entry) bool { return e.Position.Line == line })
}

// combined joins two sets of parameters. The first wins with Go templates;
// without, two different values of one name are refused.
func (x *expansion) combined(v *yamldoc.Value, a, b map[string]any) (map[string]any, *repofs.InputError) {
	if x.engine.goTemplate {
		return merged(b, a), nil
	}
	out := maps.Clone(a)
	for _, key := range slices.Sorted(maps.Keys(b)) {
		if holdsMark(b[key]) && out[key] != nil {
			continue // the two would have to be equal
		}
		if known, ok := out[key]; ok && known != b[key] && !holdsMark(known) {
			return nil, fail(v.Position, "set pathParamPrefix on one of the two", "%sboth generators of the matrix set %s", refused, key)
		}
		out[key] = b[key]
	}
	return out, nil
}

// merged returns base with override put over it, maps within maps too. Empty
// values override nothing. Source: Argo CD uses mergo.WithOverride.
func merged(base, override map[string]any) map[string]any {
	out, _ := copied(base).(map[string]any)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range override {
		below, isMap := out[key].(map[string]any)
		over, both := value.(map[string]any)
		switch {
		case isMap && both:
			out[key] = merged(below, over)
		case isEmpty(value) && out[key] != nil:
		default:
			out[key] = copied(value)
		}
	}
	return out
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

// merge overrides the sets of its first child with those of the others that have
// the same merge keys. Source: Argo CD, merge generator.
func (x *expansion) merge(v *yamldoc.Value, outer map[string]any) ([]parameters, *repofs.InputError) {
	children := v.At("generators")
	if children == nil || len(children.Items) < 2 {
		return nil, fail(v.Position, "", "a merge needs two generators")
	}
	var keys []string
	if list := v.At("mergeKeys"); list != nil {
		for _, item := range list.Items {
			keys = append(keys, item.Text)
		}
	}
	if len(keys) == 0 {
		return nil, fail(v.Position, "add mergeKeys", "the merge has no keys")
	}
	slices.Sort(keys)
	base, err := x.parameters(children.Items[0], outer)
	if err != nil {
		return nil, err
	}
	if _, err := byKeys(v, keys, base); err != nil {
		return nil, err
	}
	for _, child := range children.Items[1:] {
		was := x.overriding
		x.overriding = true
		overrides, err := x.parameters(child, outer)
		x.overriding = was
		if err != nil {
			return nil, err
		}
		found, err := byKeys(v, keys, overrides)
		if err != nil {
			return nil, err
		}
		open := slices.IndexFunc(overrides, parameters.supposed)
		for i := range base {
			if base[i].supposed() {
				continue // it stands for one that nothing overrides
			}
			if open >= 0 {
				base[i] = doubted(keys, base[i], overrides[open], x.engine.goTemplate)
			}
			override, ok := found[mergeKey(keys, base[i].values)]
			switch {
			case !ok:
			case x.engine.goTemplate:
				base[i].values = merged(base[i].values, override.values)
			default:
				base[i].values = maps.Clone(base[i].values)
				maps.Copy(base[i].values, override.values)
			}
		}
	}
	return base, nil
}

// doubted is a set of parameters that another, of which the keys are not known,
// may override. What it overrides with the same stays known.
func doubted(keys []string, p, by parameters, deep bool) parameters {
	values := doubtedValues(p.values, by.values, deep)
	for _, k := range keys {
		if value, ok := p.values[k]; ok {
			values[k] = value
		}
	}
	return parameters{values: values, at: p.at, assumed: true, cluster: p.cluster}
}

// doubtedValues are the values of a set that others may override: deep says that maps
// are merged, as they are with Go templates.
func doubtedValues(values, by map[string]any, deep bool) map[string]any {
	out := maps.Clone(values)
	for k, v := range by {
		below, isMap := values[k].(map[string]any)
		over, both := v.(map[string]any)
		switch {
		case deep && isMap && both:
			out[k] = doubtedValues(below, over, deep)
		case k == openKey, reflect.DeepEqual(values[k], v):
		default:
			out[k] = Mark(k)
		}
	}
	if isOpen(by) {
		for k := range out {
			out[k] = Mark(k)
		}
		out[openKey] = true
	}
	return out
}

// byKeys indexes sets of parameters; two of the same key are refused.
func byKeys(v *yamldoc.Value, keys []string, sets []parameters) (map[string]parameters, *repofs.InputError) {
	found := make(map[string]parameters, len(sets))
	for _, p := range sets {
		if p.supposed() {
			continue
		}
		key := mergeKey(keys, p.values)
		if _, ok := found[key]; ok {
			why := refused
			if IsMarked(key) {
				why = ""
			}
			return nil, fail(v.Position, "name mergeKeys that every set of parameters has, each with another value", "%stwo sets of parameters have the same merge keys %s", why, key)
		}
		found[key] = p
	}
	return found, nil
}

func mergeKey(keys []string, values map[string]any) string {
	part := make(map[string]any, len(keys))
	for _, k := range keys {
		part[k] = values[k]
	}
	text, err := json.Marshal(part)
	if err != nil {
		return ""
	}
	return string(text)
}
