package argocd

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Validated Patterns: an operator installs the chart clustergroup with values of the repository, which
// makes the Applications, projects, Namespaces and Subscriptions of a group of clusters. Source:
// validatedpatterns/patterns-operator, internal/controller, argo.go; validatedpatterns/clustergroup-chart.

const (
	patternValues = "values-global.yaml"
	// groupChart is what the chart is called, patternCharts where it is unless values say another place.
	groupChart, patternCharts = "clustergroup", "https://charts.validatedpatterns.io/"
	// patternRef is the name of the source with the values.
	patternRef = "patternref"
	// patternRetries is how often a sync is tried again where nothing says otherwise.
	patternRetries = 20
)

// validated is the Validated Pattern that an operator is told to install.
type validated struct {
	name, address string
	// chart is the folder of the chart; empty where it is not in the repository.
	chart  string
	global *yamldoc.Value // what patternValues has
	groups []string       // those of which there are values, that of the hub first
}

// groupValues is the file of values of a group.
func groupValues(group string) string { return "values-" + group + ".yaml" }

// pattern reads whether the repository is one; nil where it is none.
func (r *Repository) pattern() *validated {
	global := r.topValues(patternValues)
	if global == nil {
		return nil
	}
	hub := global.TextAt("main", "clusterGroupName")
	values := r.topValues(groupValues(hub))
	if hub == "" || values == nil || values.At("clusterGroup") == nil {
		return nil
	}
	p := &validated{global: global, groups: []string{hub}, address: "https://" + r.origin()}
	p.name = cmp.Or(global.TextAt("global", "pattern"), path.Base(r.origin()))
	if r.origin() == "" {
		p.address = "https://repository.invalid/" + p.name
	}
	r.own[normaliseURL(p.address)] = true
	eachEntry(values.At("clusterGroup", "managedClusterGroups"), func(key string, v *yamldoc.Value) {
		name := cmp.Or(v.TextAt("name"), key)
		if r.topValues(groupValues(name)) != nil && !slices.Contains(p.groups, name) {
			p.groups = append(p.groups, name)
		}
	})
	for dir := range r.charts {
		if v := r.topValues(dir + "/Chart.yaml"); v != nil && v.TextAt("name") == groupChart && (p.chart == "" || dir < p.chart) {
			p.chart = dir
		}
	}
	return p
}

// topValues is a file of values at the top; nil where it is not there, or no YAML.
func (r *Repository) topValues(file string) *yamldoc.Value {
	data, err := r.tree.Read(file)
	if err != nil || len(data) > maxGivenSize {
		return nil
	}
	v, err := yamldoc.ParseOne(file, data)
	if err != nil {
		return nil
	}
	return v
}

// environments are the groups of a pattern.
func (p *validated) environments() []Environment {
	var all []Environment
	for _, group := range p.groups {
		root := p.root(group)
		told := newFinding(RuleAssumed, finding.Info, root.position(), root.name(),
			"the pattern %s is taken to be installed with the values of %s and %s", p.name, patternValues, groupValues(group))
		all = append(all, Environment{Name: group, roots: []entry{{document: root}}, idle: []finding.Finding{told}})
	}
	return all
}

// root is the Application that the operator makes for a group.
func (p *validated) root(group string) document {
	at := finding.Position{File: groupValues(group), Line: 1}
	name := p.name + "-" + group
	helm := map[string]any{
		"ignoreMissingValueFiles": true,
		"valuesObject": map[string]any{"global": map[string]any{
			"pattern": p.name, "namespace": "openshift-operators", "repoURL": p.address, "originURL": p.address, "targetRevision": "HEAD",
		}},
	}
	spec := map[string]any{
		"project": "default", "destination": map[string]any{"name": inCluster, "namespace": name},
		"syncPolicy": map[string]any{"automated": map[string]any{}, "retry": map[string]any{"limit": patternRetries}},
	}
	if p.chart != "" {
		helm["valueFiles"] = []any{"/" + patternValues, "/" + groupValues(group)}
		spec["source"] = map[string]any{"repoURL": p.address, "targetRevision": "HEAD", "path": p.chart, "helm": helm}
	} else {
		helm["valueFiles"] = []any{"$" + patternRef + "/" + patternValues, "$" + patternRef + "/" + groupValues(group)}
		from := p.global.At("main", "multiSourceConfig")
		spec["sources"] = []any{
			map[string]any{"repoURL": p.address, "targetRevision": "HEAD", "ref": patternRef},
			map[string]any{
				"repoURL": cmp.Or(from.TextAt("helmRepoUrl"), patternCharts), "chart": groupChart,
				"targetRevision": cmp.Or(from.TextAt("clusterGroupChartVersion"), "*"), "helm": helm,
			},
		}
	}
	metadata := map[string]any{"name": name, "namespace": "openshift-gitops"}
	d := objectOf("Application", yamldoc.FromAny(metadata, at), yamldoc.FromAny(spec, at), at)
	d.rendered = true // the operator makes it
	return d
}

// clusterGroupObjects are the Applications and the AppProjects that the chart makes.
func clusterGroupObjects(values *yamldoc.Value, _ string) []document {
	global, group := values.At("global"), values.At("clusterGroup")
	namespace := global.TextAt("pattern") + "-" + group.TextAt("name")
	var all []document
	eachEntry(group.At("applications"), func(key string, v *yamldoc.Value) {
		// An ApplicationSet needs what is not in the values.
		sets := v.At("generators") != nil || v.At("generatorFile") != nil || v.TextAt("useGeneratorValues") == "true"
		if v.Kind == yamldoc.Map && v.TextAt("disabled") != "true" && !sets {
			all = append(all, groupApplication(cmp.Or(v.TextAt("name"), key), v, global, group, namespace))
		}
	})
	for _, list := range []string{"projects", "argoProjects"} {
		eachEntry(group.At(list), func(key string, v *yamldoc.Value) {
			name := cmp.Or(v.TextAt("name"), v.Text, key)
			anything := []any{map[string]any{"group": "*", "kind": "*"}}
			spec := map[string]any{
				"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"namespace": "*", "server": "*"}},
				"clusterResourceWhitelist": anything, "namespaceResourceWhitelist": anything,
			}
			metadata := map[string]any{"name": name, "namespace": namespace}
			all = append(all, objectOf("AppProject", yamldoc.FromAny(metadata, v.Position), yamldoc.FromAny(spec, v.Position), v.Position))
		})
	}
	return all
}

// eachEntry visits the entries of a map, or the elements of a list, whose keys are empty.
func eachEntry(v *yamldoc.Value, visit func(key string, v *yamldoc.Value)) {
	if v == nil {
		return
	}
	for _, e := range v.Entries {
		visit(e.Key, e.Value)
	}
	for _, item := range v.Items {
		visit("", item)
	}
}

// groupApplication is the Application of one entry.
func groupApplication(name string, v, global, group *yamldoc.Value, namespace string) document {
	at := v.Position
	files := []string{patternValues, groupValues(group.TextAt("name"))}
	for _, more := range []*yamldoc.Value{group.At("sharedValueFiles"), v.At("extraValueFiles")} {
		for _, item := range more.Elements() {
			if !strings.Contains(item.Text, "{{") {
				files = append(files, strings.TrimPrefix(item.Text, "/"))
			}
		}
	}
	var parameters []any
	set := func(name, value string) {
		if value != "" {
			parameters = append(parameters, map[string]any{"name": name, "value": value})
		}
	}
	for _, key := range []string{"repoURL", "originURL", "targetRevision", "namespace", "pattern"} {
		set("global."+key, global.TextAt(key))
	}
	set("clusterGroup.name", group.TextAt("name"))
	for _, item := range v.At("overrides").Elements() {
		set(item.TextAt("name"), item.TextAt("value"))
	}
	chart := v.TextAt("chart")
	helm := map[string]any{"ignoreMissingValueFiles": true, "parameters": parameters}
	source := map[string]any{}
	var list []any
	for _, file := range files {
		if chart != "" {
			file = "$" + patternRef + "/" + file
		} else {
			file = "/" + file
		}
		list = append(list, file)
	}
	helm["valueFiles"] = list
	if v.TextAt("kustomize") != "true" && v.At("plugin") == nil {
		source["helm"] = helm
	}
	if plugin := v.At("plugin"); plugin != nil {
		source["plugin"] = plugin.Any()
	}
	spec := map[string]any{
		"project":     cmp.Or(v.TextAt("project"), v.TextAt("argoProject"), "default"),
		"destination": map[string]any{"name": inCluster, "namespace": cmp.Or(v.TextAt("namespace"), namespace)},
		"syncPolicy":  map[string]any{"automated": map[string]any{}, "retry": map[string]any{"limit": patternRetries}},
	}
	if policy := v.At("syncPolicy"); policy != nil {
		spec["syncPolicy"] = policy.Any()
	}
	revision := cmp.Or(v.TextAt("chartVersion"), v.TextAt("targetRevision"), global.TextAt("targetRevision"))
	if chart != "" {
		source["repoURL"], source["chart"] = cmp.Or(v.TextAt("repoURL"), global.TextAt("multiSourceRepoUrl"), patternCharts), chart
		source["targetRevision"] = cmp.Or(v.TextAt("chartVersion"), "*")
		spec["sources"] = []any{map[string]any{"repoURL": global.TextAt("repoURL"), "targetRevision": global.TextAt("targetRevision"), "ref": patternRef}, source}
	} else {
		source["repoURL"], source["path"], source["targetRevision"] = cmp.Or(v.TextAt("repoURL"), global.TextAt("repoURL")), v.TextAt("path"), revision
		spec["source"] = source
	}
	metadata := map[string]any{"name": name, "namespace": namespace}
	if annotations := v.At("annotations"); annotations != nil && annotations.Kind == yamldoc.Map {
		metadata["annotations"] = annotations.Any()
	}
	return objectOf("Application", yamldoc.FromAny(metadata, at), yamldoc.FromAny(spec, at), at)
}
