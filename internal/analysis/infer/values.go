package infer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Values: what a chart that is not rendered is told to read. Charts pass what has
// the form of an environment, of a source of one, of a volume or of a priority on to their pods;
// whether this one does is not seen, so that such a need is soft.

// layer is one layer of the values of a chart.
type layer struct {
	data     map[string]any
	position finding.Position
}

// layers reads the values of a source, the weakest first.
func (x *index) layers(src model.Source) []layer {
	var out []layer
	for _, f := range src.ValueFiles {
		if x.in.Read == nil || src.Kind == model.Git {
			break // there is nothing to read, or not here
		}
		text, err := x.in.Read(f.Path)
		if err != nil || len(text) > maxValues {
			continue
		}
		var data map[string]any
		if manifest.Unmarshal(text, &data) == nil && data != nil {
			out = append(out, layer{data, finding.Position{File: f.Path, Line: 1}})
		}
	}
	if len(src.Values) > 0 {
		out = append(out, layer{src.Values, src.Position})
	}
	return out
}

// parameters are the pairs of --set as the strongest layer of values; one of an entry of a
// list makes a list, which stands for the whole one.
func parameters(src model.Source) layer {
	data := map[string]any{}
	for _, pairs := range []map[string]string{src.StringParameters, src.FileParameters, src.Parameters} {
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			_ = strvals.ParseInto(name+"="+pairs[name], data) // what is no parameter fails where it is rendered
		}
	}
	return layer{data: data}
}

// maxValues is the greatest value file that is read, in bytes.
const maxValues = 1 << 20

// configured finds what the unrendered charts of a component are configured to read.
func (x *index) configured(found *collection, i int) {
	c := &x.in.Components[i]
	for _, src := range c.Sources {
		if remote := src.Kind == model.Chart && src.RepoURL != ""; !remote && src.Kind != model.Git {
			continue
		}
		written := x.layers(src)
		layers := append(slices.Clone(written), parameters(src))
		for n := range written {
			walkValues(layers[n].data, nil, func(k key, path []string, part string) {
				if k.Kind != kindPriorityClass {
					k.Namespace = c.Namespace
				}
				if c.Namespace == "" || !plausible(k) || builtin(k) || overridden(layers[n+1:], path) || switchedOff(layers, path, "enabled") || moved(layers, path) {
					return
				}
				x.tell(found, i, k, layers[n].position, path)
				if reference := path[:len(path)-1]; part != "" && src.Incomplete == "" && !overridden(layers[n+1:], reference) && !switchedOff(layers, path, "create") {
					x.tellPart(found, i, k, part, layers[n].position, path)
				}
			})
		}
	}
}

func (x *index) tell(found *collection, i int, k key, at finding.Position, path []string) {
	place := dependency.Place{Hook: 1}
	required := x.world.required(k)
	verb := "is told to read " + required.Human()
	told := finding.Evidence{Text: "the chart of " + x.name(i) + " " + verb, File: at.File, Line: at.Line, Field: dotted(path)}
	p, ok := x.find(k, i, place)
	if !ok {
		found.missTold(i, k, verb, told)
	}
	if !ok || p.component == i {
		return
	}
	found.add(&dependency.Dependency{
		Rule: ruleOf(k.Kind), Required: required, Strength: plan.Soft, Effect: dependency.Ready, Basis: finding.Rendered, Reason: verb,
		Consumer: dependency.End{Component: x.name(i), Place: place, Position: at}, Provider: x.end(p),
		Evidence: []finding.Evidence{told, x.provided(p)},
	}, i, p.component, plan.Soft)
}

// tellPart tells of a key that a chart is told to read of a Secret which does not have it.
// The chart may write to Secrets, but not to those that the External Secrets Operator
// owns: it puts them back.
func (x *index) tellPart(found *collection, i int, k key, part string, at finding.Position, path []string) {
	c := x.contents[k]
	if c == nil || c.open || c.parts[part] || !partName(part) || slices.ContainsFunc(c.by, func(p provider) bool {
		return !p.object.is("external-secrets.io", "ExternalSecret") || !x.whole(p.component, k)
	}) {
		return
	}
	required := x.world.required(k)
	verb := "is told to read key " + part + " of " + required.Human()
	provider := x.sorted(c.by)[0]
	found.lacks[lackKey{i, k, part}] = dependency.Lack{
		Rule: ruleKey, Required: required, Part: part, Has: slices.Sorted(maps.Keys(c.parts)), Strength: plan.Soft, Reason: verb,
		Consumer: dependency.End{Component: x.name(i), Place: dependency.Place{Hook: 1}, Position: at}, Provider: x.end(provider),
		Evidence: []finding.Evidence{{Text: "the chart of " + x.name(i) + " " + verb, File: at.File, Line: at.Line, Field: dotted(path)}, x.provided(provider)},
	}
}

// walkValues visits what has the form of a reference of a pod, with the key that it names.
// A manifest that is written whole may say another namespace.
func walkValues(v any, path []string, visit func(k key, path []string, part string)) {
	switch x := v.(type) {
	case map[string]any:
		if text(x, "apiVersion") != "" && text(x, "kind") != "" || x["enabled"] == false && isIndex(last(path)) {
			return
		}
		for _, field := range sortedKeys(x) {
			here := append(slices.Clone(path), field)
			m, _ := x[field].(map[string]any)
			if m != nil && !truth(m, "optional") {
				switch inList := isIndex(last(path)); {
				case field == "secretKeyRef":
					visit(secretKey("", text(m, "name")), append(here, "name"), text(m, "key"))
				case field == "configMapKeyRef":
					visit(configMapKey("", text(m, "name")), append(here, "name"), "")
				case !inList: // what follows are entries of envFrom and of volumes
				case field == "secretRef":
					visit(secretKey("", text(m, "name")), append(here, "name"), "")
				case field == "configMapRef":
					visit(configMapKey("", text(m, "name")), append(here, "name"), "")
				case field == "secret":
					visit(secretKey("", text(m, "secretName")), append(here, "secretName"), "")
				case field == "configMap":
					visit(configMapKey("", text(m, "name")), append(here, "name"), "")
				case field == "persistentVolumeClaim":
					visit(pvcKey("", text(m, "claimName")), append(here, "claimName"), "")
				}
			}
			if name, ok := x[field].(string); ok {
				switch {
				case namesSecret(field):
					visit(secretKey("", name), here, "")
				case field == "existingClaim":
					visit(pvcKey("", name), here, "")
				case field == "priorityClassName":
					visit(key{Kind: kindPriorityClass, Name: name}, here, "")
				}
			}
			walkValues(x[field], here, visit)
		}
	case []any:
		for i, e := range x {
			walkValues(e, append(slices.Clone(path), strconv.Itoa(i)), visit)
		}
	}
}

// namesSecret reports whether charts name a Secret that is there in a field:
// existingSecret, existingConfigSecret, existingSecretName.
func namesSecret(field string) bool {
	field = strings.TrimSuffix(field, "Name")
	return strings.HasPrefix(field, "existing") && strings.HasSuffix(field, "Secret")
}

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}

func isIndex(part string) bool { return part != "" && part[0] >= '0' && part[0] <= '9' }

// overridden reports whether a later layer writes the same, or into it: lists are replaced
// whole.
func overridden(later []layer, path []string) bool {
	for _, l := range later {
		var v any = l.data
		for n, part := range path {
			m, ok := v.(map[string]any)
			if !ok {
				break
			}
			if v, ok = m[part]; !ok {
				break
			}
			if _, more := v.(map[string]any); !more || n == len(path)-1 {
				return true
			}
		}
	}
	return false
}

// moved reports whether a part of the chart around a path goes to a namespace of its own.
func moved(layers []layer, path []string) bool {
	const override = "namespaceOverride"
	return slices.ContainsFunc(layers, func(l layer) bool {
		for n := range path {
			if text(l.data, append(slices.Clone(path[:n]), override)...) != "" {
				return true
			}
		}
		return text(l.data, "global", override) != ""
	})
}

// switchedOff reports whether a part of the chart around a path is switched off by a
// field.
func switchedOff(layers []layer, path []string, field string) bool {
	for n := range path {
		off := false
		for _, l := range layers {
			if on, ok := value(l.data, append(slices.Clone(path[:n]), field)...).(bool); ok {
				off = !on
			}
		}
		if off {
			return true
		}
	}
	return false
}

// dotted writes a path as fields are written: "env[0].valueFrom".
func dotted(path []string) string {
	var b strings.Builder
	for _, part := range path {
		switch {
		case part == "":
		case isIndex(part):
			b.WriteString("[" + part + "]")
		case b.Len() > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	return b.String()
}
