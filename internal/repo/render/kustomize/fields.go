package kustomize

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// isEmpty reports whether a kustomization says nothing any more, since all that it had is
// lacking. Source: kustomize, Kustomization.CheckEmpty.
func isEmpty(doc map[string]any) bool {
	for key, value := range doc {
		if key != "apiVersion" && key != "kind" && value != nil {
			return false
		}
	}
	return true
}

// fields are the names of a kustomization's fields by their lower-case form.
var fields = func() map[string]string {
	all := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all[strings.ToLower(name)] = name
		}
	}
	return all
}()

// canonical spells the fields as kustomize names them: it takes them in any case, as
// Go's JSON does.
func canonical(doc map[string]any) bool {
	changed := false
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		name, known := fields[strings.ToLower(key)]
		if _, there := doc[name]; !known || key == name || there {
			continue
		}
		doc[name] = doc[key]
		delete(doc, key)
		changed = true
	}
	return changed
}

// renew puts two old fields into their new form, which means the same; kustomize
// would complain about them on standard error. Source: kustomize edit fix.
func renew(doc map[string]any) bool {
	renewed := false
	if bases, ok := doc["bases"].([]any); ok {
		resources, _ := doc["resources"].([]any)
		doc["resources"] = append(resources, bases...)
		delete(doc, "bases")
		renewed = true
	}
	if common, ok := doc["commonLabels"].(map[string]any); ok {
		labels, _ := doc["labels"].([]any)
		doc["labels"] = append(labels, map[string]any{"pairs": common, "includeSelectors": true})
		delete(doc, "commonLabels")
		renewed = true
	}
	return renewCharts(doc) || renewed
}
