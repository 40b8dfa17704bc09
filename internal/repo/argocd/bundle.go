package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// bundles are charts that make Argo CD's objects of their values, and how: what they make is known, so
// that they need not be fetched. Sources: argo-helm, charts/argocd-apps; gnunn-gitops/helm-charts,
// argocd-app-of-app; validatedpatterns/clustergroup-chart.
var bundles = map[string]func(values *yamldoc.Value, namespace string) []document{
	"argocd-apps":       bundledObjects,
	"argocd-app-of-app": appOfAppObjects,
	groupChart:          clusterGroupObjects,
}

// isBundle reports whether a chart is one of them.
func isBundle(name string) bool { return bundles[name] != nil }

// makesOf are the objects that a chart of this name makes of its values.
func makesOf(name string, values *yamldoc.Value, namespace string) []document {
	if values == nil {
		return nil
	}
	return bundles[name](values, namespace)
}

// appOfAppObjects are the objects of the chart argocd-app-of-app: an Application for each entry of
// applications that is on, with what default.app has where it says nothing, and an AppProject for each
// of projects.
func appOfAppObjects(values *yamldoc.Value, namespace string) []document {
	var all []document
	common := values.At("default", "app")
	if apps := values.At("applications"); apps != nil {
		for _, e := range apps.Entries {
			if on := firstOf(e.Value, common, "enabled"); on != nil && on.Text == "false" || on == nil {
				continue
			}
			all = append(all, appOfApp(e.Key, e.Value, common, values, namespace))
		}
	}
	if projects := values.At("projects"); projects != nil {
		for _, e := range projects.Entries {
			all = append(all, appOfAppProject(e.Key, e.Value, values.At("default", "project"), namespace))
		}
	}
	return all
}

// appOfApp is the Application of one entry.
func appOfApp(name string, v, common, values *yamldoc.Value, namespace string) document {
	at := v.Position
	source := mapOf(at)
	for _, key := range []string{"path", "repoURL", "targetRevision"} {
		source = with(source, key, firstOf(v, common, "source", key))
	}
	source = withText(source, firstOf(v, common, "source", "extraSourceFields"))
	to := with(mapOf(at), "namespace", firstOf(v, common, "destination", "namespace"))
	if cluster := firstOf(v, common, "destination", "name"); cluster != nil && cluster.Text != "" {
		to = with(to, "name", cluster)
	} else {
		to = with(to, "server", firstOf(v, common, "destination", "server"))
	}
	project := values.At("projectOverride")
	if project == nil || project.Text == "" {
		project = firstOf(v, common, "project")
	}
	spec := with(with(with(mapOf(at), "project", project), "source", source), "destination", to)
	if on := firstOf(v, common, "enableAutoSync"); on != nil && on.Text == "true" {
		automated := with(mapOf(at), "selfHeal", truth(at))
		if prune := firstOf(v, common, "autoSyncPrune"); prune == nil || prune.Text == "true" {
			automated = with(automated, "prune", truth(at))
		}
		policy := with(mapOf(at), "automated", automated)
		policy = with(with(policy, "retry", v.At("syncPolicyRetry")), "syncOptions", v.At("syncOptions"))
		spec = with(spec, "syncPolicy", policy)
	}
	spec = withText(spec, firstOf(v, common, "extraFields"))
	metadata := with(with(mapOf(at), "name", yamldoc.Text(name, at)), "namespace", yamldoc.Text(namespace, at))
	for _, key := range []string{"labels", "annotations"} {
		metadata = with(metadata, key, mergedMaps(common.At(key), v.At(key)))
	}
	return objectOf("Application", metadata, spec, at)
}

// appOfAppProject is the AppProject of one entry.
func appOfAppProject(name string, v, common *yamldoc.Value, namespace string) document {
	at := v.Position
	spec := withText(mapOf(at), v.At("extraFields"))
	spec = with(with(spec, "description", v.At("description")), "sourceRepos", v.At("sourceRepos"))
	if list := firstOf(v, common, "destinations"); list != nil {
		if parsed, err := yamldoc.ParseOne(at.File, []byte(list.Text)); err == nil && list.Kind == yamldoc.Scalar {
			list = parsed.Located(list.Position)
		}
		spec = with(spec, "destinations", list)
	}
	metadata := with(with(mapOf(at), "name", yamldoc.Text(name, at)), "namespace", yamldoc.Text(namespace, at))
	return objectOf("AppProject", with(metadata, "annotations", v.At("annotations")), spec, at)
}

func objectOf(kind string, metadata, spec *yamldoc.Value, at finding.Position) document {
	v := with(with(mapOf(at), "apiVersion", yamldoc.Text("argoproj.io/v1alpha1", at)), "kind", yamldoc.Text(kind, at))
	v = with(with(v, "metadata", metadata), "spec", spec)
	return document{value: v, written: v}
}

// firstOf is what the first of two values has at a path; nil where neither has anything.
func firstOf(v, common *yamldoc.Value, keys ...string) *yamldoc.Value {
	for _, of := range []*yamldoc.Value{v, common} {
		if found := of.At(keys...); found != nil && found.Kind != yamldoc.Null {
			return found
		}
	}
	return nil
}

func mapOf(at finding.Position) *yamldoc.Value {
	return &yamldoc.Value{Kind: yamldoc.Map, Position: at}
}

func truth(at finding.Position) *yamldoc.Value { return yamldoc.FromAny(true, at) }

// with adds an entry to a map; nil adds none.
func with(m *yamldoc.Value, key string, value *yamldoc.Value) *yamldoc.Value {
	if value == nil {
		return m
	}
	out := *m
	out.Entries = append(slices.Clone(m.Entries), yamldoc.Entry{Key: key, Value: value, Position: value.Position})
	return &out
}

// withText adds the entries of a map that a value holds as text. What a template of Helm would fill in
// is left out.
func withText(m, text *yamldoc.Value) *yamldoc.Value {
	if text == nil || text.Text == "" || strings.Contains(text.Text, "{{") {
		return m
	}
	parsed, err := yamldoc.ParseOne(text.Position.File, []byte(text.Text))
	if err != nil || parsed.Kind != yamldoc.Map {
		return m
	}
	for _, e := range parsed.Located(text.Position).Entries {
		if m.At(e.Key) == nil {
			m = with(m, e.Key, e.Value)
		}
	}
	return m
}

// mergedMaps puts a map over another; nil where neither is there.
func mergedMaps(base, over *yamldoc.Value) *yamldoc.Value {
	switch {
	case over == nil || over.Kind != yamldoc.Map:
		if base != nil && base.Kind == yamldoc.Map {
			return base
		}
		return nil
	case base == nil || base.Kind != yamldoc.Map:
		return over
	}
	return mergeValues(base, over)
}

// findUnknownBundles tells of charts that kustomizations inflate, that are neither here nor known, and
// whose values look like those of a chart that makes Applications.
func (r *Repository) findUnknownBundles() {
	for _, dir := range r.kustomized {
		file := kustomizationFile(r.tree, dir)
		if file == "" || r.isUnused(dir+"/") {
			continue
		}
		data, err := r.tree.Read(file)
		if err != nil || !strings.Contains(string(data), "helmCharts") {
			continue
		}
		v, err := yamldoc.ParseKustomization(file, data)
		if err != nil {
			continue
		}
		for _, one := range r.inflations(dir, v) {
			if one.dir != "" || isBundle(one.name) {
				continue
			}
			stub := mapOf(one.item.Position)
			values := r.layered(document{value: stub, written: stub}, "", componentOf(dir, one))
			if names := applicationsIn(values); len(names) > 0 {
				r.notRead(one.item.Position, "", "the chart %s, which is not in this repository, seems to make Applications of its values, which are not read (%s)", one.name, few(names))
			}
		}
	}
}

// applicationsIn are the names of what looks like Applications in values: entries of a map that each
// have a source with a path or a chart.
func applicationsIn(values *yamldoc.Value) []string {
	for _, key := range []string{"applications", "apps", "argocdApplications"} {
		section := values.At(key)
		if section == nil || len(section.Entries) == 0 {
			continue
		}
		var names []string
		for _, e := range section.Entries {
			source := e.Value.At("source")
			if source == nil || source.TextAt("path") == "" && source.TextAt("chart") == "" {
				return nil
			}
			names = append(names, e.Key)
		}
		return names
	}
	return nil
}
