package argocd

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

// environmentKeys are the parameters by which ApplicationSets tell environments
// apart, those that say most first. The last is the folder that a git generator
// found.
func environmentKeys() []string {
	return []string{"environment", "env", "stage", "cluster", "clusterName", "cluster.name", "name", folderKey}
}

const folderKey = "folder"

// environmentOf is what a generated Application says of its environment by one
// parameter.
func environmentOf(app document, key string) string {
	g := app.generated
	switch key {
	case folderKey:
		if about, ok := g.parameters["path"].(map[string]any); ok {
			dir, _ := about["path"].(string)
			return folderEnvironment(dir)
		}
		return folderEnvironment(g.parameter("path"))
	case "name":
		// Only the name of a cluster says where an Application goes.
		if g.parameter("server") == "" || g.parameter("name") != destination(app) && g.parameter("server") != app.value.TextAt("spec", "destination", "server") {
			return ""
		}
		return g.parameter("name")
	case "cluster.name":
		if nested, ok := g.parameters["cluster"].(map[string]any); ok {
			text, _ := nested["name"].(string)
			return text
		}
		return g.parameter(key)
	default:
		for _, name := range []string{key, "values." + key, "metadata.labels." + key} {
			if value := g.parameter(name); value != "" {
				return value
			}
		}
		// A Go template has the same below maps.
		values, _ := g.parameters["values"].(map[string]any)
		metadata, _ := g.parameters["metadata"].(map[string]any)
		labels, _ := metadata["labels"].(map[string]any)
		value, _ := values[key].(string)
		label, _ := labels[key].(string)
		return cmp.Or(value, label)
	}
}

// split makes an environment for each that ApplicationSets generate for.
func (r *Repository) split(ctx context.Context, e Environment) ([]Environment, error) {
	generated, err := r.generatedBy(ctx, e)
	if err != nil {
		return nil, err
	}
	// What is all in another repository says nothing of the environments of this one.
	generated = slices.DeleteFunc(generated, r.isElsewhere)
	for _, key := range environmentKeys() {
		values := map[string]bool{}
		for _, app := range generated {
			if value := environmentOf(app, key); value != "" {
				values[value] = true
			}
		}
		if len(values) < 2 || !alternatives(generated, key) {
			continue
		}
		var all []Environment
		for _, value := range slices.Sorted(maps.Keys(values)) {
			one := e
			one.key, one.value, one.values = key, value, values
			one.Name = inName(value)
			if e.Name != defaultName {
				one.Name = e.Name + "-" + one.Name
			}
			all = append(all, one)
		}
		return all, nil
	}
	return []Environment{e}, nil
}

// isElsewhere reports whether all that an Application takes is in folders of other repositories.
func (r *Repository) isElsewhere(d document) bool {
	return !slices.ContainsFunc(d.sources(), func(s source) bool {
		_, local := r.local(s)
		return local || s.path() == "" || isOCI(s) || hasPlaceholder(s.repoURL())
	})
}

// alternatives reports whether the values of a parameter tell environments apart,
// and not groups of one platform, as {cluster: core} and {cluster: apps} may, or
// stages that stand side by side. What is called an environment is one. Others are
// where their Applications go to several clusters, or where two have the same
// Application but for the value in its name: nobody has both in one platform.
func alternatives(generated []document, key string) bool {
	if sideBySide(generated, key) {
		return false
	}
	if key == "environment" || key == "env" {
		return true
	}
	goes, first := "", true
	owner := map[string]string{}
	for _, app := range generated {
		value := environmentOf(app, key)
		if value == "" {
			continue
		}
		to := destination(app)
		if !first && to != goes {
			return true
		}
		goes, first = to, false
		base := strings.Trim(strings.ReplaceAll(app.name(), value, ""), "-._")
		if other, ok := owner[base]; ok && other != value {
			return true
		}
		owner[base] = value
	}
	return false
}

// sideBySide reports whether what is generated for the values of a parameter is meant
// for one cluster: a set generates for all of the values, all of it goes to the same
// cluster, and no namespace has something of two values.
func sideBySide(generated []document, key string) bool {
	values, whole := map[string]bool{}, map[string]map[string]bool{}
	owner := map[string]string{}
	to := ""
	for _, app := range generated {
		value := environmentOf(app, key)
		if value == "" {
			continue
		}
		ns, goes, set := app.value.TextAt("spec", "destination", "namespace"), destination(app), app.generated.set.name()
		unclear := hasPlaceholder(ns) && !strings.Contains(ns, value)
		if other, ok := owner[ns]; ns == "" || unclear || ok && other != value || hasPlaceholder(goes) || to != "" && goes != to {
			return false
		}
		owner[ns], to, values[value] = value, goes, true
		if whole[set] == nil {
			whole[set] = map[string]bool{}
		}
		whole[set][value] = true
	}
	for _, of := range whole {
		if len(of) == len(values) {
			return true
		}
	}
	return false
}
