package model

import (
	"maps"
	"slices"
	"strings"
)

// KustomizeOptions are what an Application sets over the kustomization that it
// takes. Source: Argo CD, ApplicationSourceKustomize.
type KustomizeOptions struct {
	NamePrefix, NameSuffix, Namespace string
	// Images are overrides as kustomize edit set image writes them:
	// "name=new:tag", "name:tag", "name@digest".
	Images []string
	// Replicas maps the names of workloads to a number.
	Replicas                        map[string]int
	CommonLabels, CommonAnnotations map[string]string
	// LabelWithoutSelector keeps the labels out of selectors and templates,
	// LabelIncludeTemplates puts them into templates all the same.
	LabelWithoutSelector, LabelIncludeTemplates bool
	// Patches are those of a kustomization: maps of patch or path, and target.
	Patches []any
	// Components are folders relative to the kustomization.
	Components []string
	// Generate makes a kustomization of all manifests below the folder, where it has
	// none. Source: Flux, github.com/fluxcd/pkg/kustomize, Generator.
	Generate bool
}

// Apply edits the content of a kustomization, decoded from YAML, the way Argo CD
// edits it before it is built.
func (o *KustomizeOptions) Apply(content map[string]any) {
	if o == nil {
		return
	}
	for key, value := range map[string]string{"namePrefix": o.NamePrefix, "nameSuffix": o.NameSuffix, "namespace": o.Namespace} {
		if value != "" {
			content[key] = value
		}
	}
	for _, image := range o.Images {
		set(content, "images", parseImage(image))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Replicas)) {
		set(content, "replicas", map[string]any{"name": name, "count": o.Replicas[name]})
	}
	if len(o.CommonLabels) > 0 {
		add(content, "labels", map[string]any{
			"pairs": AnyMap(o.CommonLabels), "includeSelectors": !o.LabelWithoutSelector,
			"includeTemplates": o.LabelIncludeTemplates || !o.LabelWithoutSelector,
		})
	}
	if len(o.CommonAnnotations) > 0 {
		merged := AnyMap(o.CommonAnnotations)
		if written, ok := content["commonAnnotations"].(map[string]any); ok {
			for k, v := range written {
				if _, ok := merged[k]; !ok {
					merged[k] = v
				}
			}
		}
		content["commonAnnotations"] = merged
	}
	for _, patch := range o.Patches {
		add(content, "patches", patch)
	}
	for _, c := range o.Components {
		add(content, "components", c)
	}
}

// add appends to a list of a kustomization.
func add(content map[string]any, key string, item any) {
	list, _ := content[key].([]any)
	content[key] = append(slices.Clone(list), item)
}

// set replaces the item of a list that has the same name, or appends.
func set(content map[string]any, key string, item map[string]any) {
	list, _ := content[key].([]any)
	list = slices.DeleteFunc(slices.Clone(list), func(old any) bool {
		m, ok := old.(map[string]any)
		return ok && m["name"] == item["name"]
	})
	content[key] = append(list, item)
}

// parseImage reads an override of an image. Source: kustomize edit set image.
func parseImage(text string) map[string]any {
	name, override, renamed := strings.Cut(text, "=")
	if !renamed {
		override = name
	}
	base, digest, hasDigest := strings.Cut(override, "@")
	tag := ""
	if i := strings.LastIndex(base, ":"); i > strings.LastIndex(base, "/") {
		base, tag = base[:i], base[i+1:]
	}
	if !renamed {
		name = base
	}
	image := map[string]any{"name": name}
	if renamed && base != "" && base != name {
		image["newName"] = base
	}
	if tag != "" {
		image["newTag"] = tag
	}
	if hasDigest {
		image["digest"] = digest
	}
	return image
}

// AnyMap is a map of texts as JSON has it.
func AnyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
