package appset

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// parameters is one set of parameters with the place it comes from.
type parameters struct {
	values map[string]any
	at     finding.Position
	// assumed is set where it is only supposed that the generator makes them.
	assumed bool
	// cluster is which cluster of Data they are of, from 1; 0 for none.
	cluster int
}

// supposed reports whether they stand for all that a generator may make.
func (p parameters) supposed() bool { return p.assumed && p.cluster == 0 }

// maxParameters is how many sets of parameters one generator may make.
const maxParameters = MaxApplications

// The names of the generators that learn outside the repository what they make.
const (
	clusterGenerator = "clusters"
	matrixGenerator  = "matrix"
	mergeGenerator   = "merge"
)

// parameters makes the sets of parameters of one generator, filtered by its
// selector. outer are the parameters of the first child of a matrix, which the
// fields of the second may use. Source: Argo CD, applicationset/generators.
func (x *expansion) parameters(g *yamldoc.Value, outer map[string]any) ([]parameters, *repofs.InputError) {
	if g.Kind != yamldoc.Map {
		return nil, fail(g.Position, "", "a generator is %s, not a map", g.Kind)
	}
	if err := x.ctx.Err(); err != nil {
		return nil, fail(g.Position, "", "%v", err)
	}
	selected, err := parseSelector(g)
	if err != nil {
		return nil, err
	}
	var all []parameters
	found := false
	for _, e := range g.Entries {
		if e.Key == "selector" || e.Value.Kind == yamldoc.Null {
			continue
		}
		made, err := x.named(e, outer)
		if err != nil {
			return nil, err
		}
		found = true
		all = append(all, made...)
		if len(all) > maxParameters {
			return nil, fail(e.Position, "", "the generator makes more than %d sets of parameters", maxParameters)
		}
	}
	if !found {
		return nil, fail(g.Position, "", "the generator is empty")
	}
	if selected == nil {
		return all, nil
	}
	return slices.DeleteFunc(all, func(p parameters) bool { return !p.assumed && !selected.Matches(flatten(p.values)) }), nil
}

// supposed is the one set of parameters that stands for all that a generator may
// make: those that are known by their names are marks, and its field values is
// read as far as it can be. open is set where there may be more. why says what
// would have to be known.
func (x *expansion) supposed(v *yamldoc.Value, names []string, open bool, why *repofs.InputError) ([]parameters, *repofs.InputError) {
	x.engine.partly = true
	p := map[string]any{}
	for _, name := range names {
		p[name] = Mark(name)
	}
	if open {
		p[openKey] = true
	}
	if err := x.values(v, p); err != nil {
		return nil, err
	}
	x.because(why)
	return []parameters{{values: p, at: why.Position, assumed: true}}, nil
}

// because notes why parameters are not known, once.
func (x *expansion) because(why *repofs.InputError) {
	if !slices.ContainsFunc(x.reasons, func(known *repofs.InputError) bool { return known.Message == why.Message }) {
		x.reasons = append(x.reasons, why)
	}
}

// named runs the generator of one field.
func (x *expansion) named(e yamldoc.Entry, outer map[string]any) ([]parameters, *repofs.InputError) {
	v := e.Value
	if len(outer) > 0 && e.Key != matrixGenerator && e.Key != mergeGenerator {
		filled, err := x.fillGenerator(v, outer)
		if err != nil {
			return nil, err
		}
		v = filled
	}
	switch e.Key {
	case "list":
		return x.list(v)
	case "git":
		return x.git(v)
	case clusterGenerator:
		return x.clusters(e.Position, v)
	case matrixGenerator:
		return x.matrix(v, outer)
	case mergeGenerator:
		return x.merge(v, outer)
	case "pullRequest", "scmProvider", "plugin", "clusterDecisionResource":
		return x.supplied(e.Key, e.Position, v)
	default:
		return nil, fail(e.Position, "", "the generator %s is not known", e.Key)
	}
}

// list reads a list generator. Without Go templates every value is text, or a
// map of texts called values.
func (x *expansion) list(v *yamldoc.Value) ([]parameters, *repofs.InputError) {
	var all []parameters
	if v.Kind != yamldoc.Map && v.Kind != yamldoc.Null {
		return nil, fail(v.Position, "write its parameters below elements", "the generator list is %s, not a map: the API server refuses the set", v.Kind)
	}
	if elements := v.At("elements"); elements != nil {
		for _, item := range elements.Items {
			p, err := x.element(item)
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
	}
	text := v.TextAt("elementsYaml")
	if strings.TrimSpace(text) == "" {
		return all, nil
	}
	at := v.At("elementsYaml").Position
	if IsMarked(text) {
		return x.supposed(v, nil, true, fail(at, "", "the elementsYaml of the ApplicationSet %s is not known", x.set))
	}
	parsed, err := yamldoc.ParseOne(at.File, []byte(text))
	if err != nil || parsed.Kind != yamldoc.List {
		return nil, fail(at, "", "elementsYaml is not a YAML list")
	}
	for _, item := range parsed.Items {
		values, ok := plain(item).(map[string]any)
		if !ok {
			return nil, fail(at, "", "an element of elementsYaml is not a map")
		}
		all = append(all, parameters{values: values, at: at})
	}
	return all, nil
}

func (x *expansion) element(item *yamldoc.Value) (parameters, *repofs.InputError) {
	values, ok := plain(item).(map[string]any)
	if !ok {
		return parameters{}, fail(item.Position, "", "an element of the list is %s, not a map", item.Kind)
	}
	if x.engine.goTemplate {
		return parameters{values: values, at: item.Position}, nil
	}
	flat := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		nested, isMap := values[key].(map[string]any)
		if key == "values" && isMap {
			for k, value := range nested {
				text, ok := value.(string)
				if !ok {
					return parameters{}, fail(item.Position, "quote it, or set goTemplate: true", "values.%s of the element is not text", k)
				}
				flat["values."+k] = text
			}
			continue
		}
		text, ok := values[key].(string)
		if !ok {
			return parameters{}, fail(item.Position, "quote it, or set goTemplate: true", "%s of the element is not text", key)
		}
		flat[key] = text
	}
	return parameters{values: flat, at: item.Position}, nil
}

// The cluster that Argo CD runs in. Source: Argo CD, cluster generator.
const (
	inClusterName   = "in-cluster"
	inClusterServer = "https://kubernetes.default.svc"
)

// clusters reads a cluster generator. The cluster that Argo CD runs in is always
// there, unless a selector asks for labels, which it has none of.
func (x *expansion) clusters(at finding.Position, v *yamldoc.Value) ([]parameters, *repofs.InputError) {
	selected, err := parseSelector(v)
	if err != nil {
		return nil, err
	}
	asks := len(selected) > 0
	if asks && (len(x.data.Clusters) == 0 || marked(v.At("selector")) != nil) {
		return x.someCluster(at, v)
	}
	var all []parameters
	inCluster := false
	add := func(c Cluster, index int, known bool) *repofs.InputError {
		// One of which the address is not known may be that of Argo CD.
		inCluster = inCluster || c.Server == inClusterServer || IsMarked(c.Server) || c.Assumed != "" && c.Server == "https://"+c.Name
		p := x.cluster(c)
		if !known {
			x.unlabelled(at, p)
		}
		if err := x.values(v, p); err != nil {
			return err
		}
		made := parameters{values: p, at: at, assumed: c.Assumed != ""}
		if x.data.Found {
			made.cluster = index
		}
		all = append(all, made)
		return nil
	}
	for i, c := range x.data.Clusters {
		if c.Elsewhere {
			continue
		}
		labels := maps.Clone(c.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		labels["argocd.argoproj.io/secret-type"] = "cluster"
		if asks && !selected.Matches(labels) {
			continue
		}
		if err := add(c, i+1, true); err != nil {
			return nil, err
		}
	}
	if asks && len(all) == 0 && x.data.Found && !x.overriding {
		return x.someCluster(at, v)
	}
	if !asks && !inCluster {
		if err := add(Cluster{Name: inClusterName, Server: inClusterServer}, 0, len(x.data.Clusters) > 0 && !x.data.Found); err != nil {
			return nil, err
		}
	}
	if flat := v.At("flatList"); flat != nil {
		if on, _ := flat.Bool(); on {
			list := make([]any, len(all))
			for i, p := range all {
				list[i] = p.values
			}
			return []parameters{{values: map[string]any{"clusters": list}, at: at}}, nil
		}
	}
	return all, nil
}

// someCluster stands for the clusters that a selector would find.
func (x *expansion) someCluster(at finding.Position, v *yamldoc.Value) ([]parameters, *repofs.InputError) {
	names := append([]string{"name", "nameNormalized", "server", "project"}, x.metadata()...)
	if flat := v.At("flatList"); flat != nil {
		if on, _ := flat.Bool(); on {
			names = []string{"clusters"}
		}
	}
	return x.supposed(v, names, false,
		fail(at, "say in ladder.yaml which clusters there are, with their labels: generators.clusters", "the clusters that the ApplicationSet %s selects are not known", x.set))
}

// metadata names the parameters that hold the labels and annotations of a cluster.
func (x *expansion) metadata() []string {
	if x.engine.goTemplate {
		return []string{"metadata"}
	}
	return []string{"metadata.labels", "metadata.annotations"}
}

// unlabelled marks the labels and annotations of a cluster as not known: those of
// the cluster that Argo CD runs in are in a Secret, where it has one.
func (x *expansion) unlabelled(at finding.Position, p map[string]any) {
	x.engine.partly = true
	for _, name := range x.metadata() {
		p[name] = Mark(name)
	}
	x.because(fail(at, "say in ladder.yaml which clusters there are, with their labels and annotations: generators.clusters",
		"the labels and annotations of the cluster that Argo CD runs in are not known"))
}

func (x *expansion) cluster(c Cluster) map[string]any {
	p := map[string]any{"name": c.Name, "nameNormalized": c.Name, "server": c.Server, "project": c.Project}
	if !IsMarked(c.Name) {
		p["nameNormalized"] = normalize(c.Name)
	}
	if x.engine.goTemplate {
		metadata := map[string]any{}
		if len(c.Labels) > 0 || c.OpenLabels {
			metadata["labels"] = openMap(c.Labels, c.OpenLabels)
		}
		if len(c.Annotations) > 0 || c.OpenAnnotations {
			metadata["annotations"] = openMap(c.Annotations, c.OpenAnnotations)
		}
		p["metadata"] = metadata
		x.engine.partly = x.engine.partly || holdsMark(p) || c.OpenLabels || c.OpenAnnotations
		return p
	}
	if c.OpenLabels || c.OpenAnnotations {
		p[openKey] = true
	}
	for k, value := range c.Labels {
		p["metadata.labels."+k] = value
	}
	for k, value := range c.Annotations {
		p["metadata.annotations."+k] = value
	}
	x.engine.partly = x.engine.partly || holdsMark(p) || isOpen(p)
	return p
}

// openMap is a map of which more may be there than is known.
func openMap(m map[string]string, open bool) map[string]any {
	out := model.AnyMap(m)
	if open {
		out[openKey] = true
	}
	return out
}

// supplied takes the parameters of a generator from the data of the ladder file.
func (x *expansion) supplied(name string, at finding.Position, v *yamldoc.Value) ([]parameters, *repofs.InputError) {
	var all []parameters
	for _, given := range x.data.Parameters[name] {
		if given.ApplicationSet != "" && given.ApplicationSet != x.set {
			continue
		}
		values, _ := copied(given.Values).(map[string]any)
		if !x.engine.goTemplate {
			values = model.AnyMap(flatten(values))
		}
		if err := x.values(v, values); err != nil {
			return nil, err
		}
		all = append(all, parameters{values: values, at: cmp.Or(given.Position, at)})
	}
	if len(all) == 0 {
		return x.supposed(v, nil, true, fail(at, "give its parameters in ladder.yaml: generators."+section(name), "what the generator %s of the ApplicationSet %s makes is not in the repository", name, x.set))
	}
	return all, nil
}

// section is the section of the ladder file that supplies a generator.
func section(generator string) string {
	if generator == "pullRequest" {
		return "pullRequests"
	}
	return generator
}

// values adds the field values of a generator to its parameters; they may use
// these.
func (x *expansion) values(v *yamldoc.Value, p map[string]any) *repofs.InputError {
	list := v.At("values")
	if list == nil || len(list.Entries) == 0 {
		return nil
	}
	made := map[string]any{}
	for _, e := range list.Entries {
		text, err := x.engine.text(e.Value.Text, p)
		if err != nil {
			return fail(e.Value.Position, "", "values.%s: %v", e.Key, err)
		}
		made[e.Key] = text
	}
	if x.engine.goTemplate {
		p["values"] = made
		return nil
	}
	for k, text := range made {
		p["values."+k] = text
	}
	return nil
}

// plain turns a value into the types of encoding/json.
func plain(v *yamldoc.Value) any { return copied(v.Any()) }

func copied(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var out any
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// flatten writes nested parameters as selectors and the older templates see
// them: "metadata.labels.tier", "list.0".
func flatten(values map[string]any) map[string]string {
	out := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		join := func(key string) string {
			if prefix == "" {
				return key
			}
			return prefix + "." + key
		}
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				walk(join(k), item)
			}
		case []any:
			for i, item := range v {
				walk(join(strconv.Itoa(i)), item)
			}
		case []string:
			for i, item := range v {
				walk(join(strconv.Itoa(i)), item)
			}
		default:
			out[prefix] = fmt.Sprint(v)
		}
	}
	walk("", values)
	return out
}
