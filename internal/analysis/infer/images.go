package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/operators"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Image is an image that an object names, and the field that does.
type Image struct{ Reference, Field string }

// Images are those of the pods of an object, in their order; an empty one is written so.
func Images(o manifest.Object) []Image {
	gvk := o.GroupVersionKind()
	spec, path := podSpec(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind})
	var all []Image
	containers(spec, path, func(c map[string]any, field string) {
		if image, ok := c["image"].(string); ok {
			all = append(all, Image{image, field + ".image"})
		}
	})
	return all
}

// OperatorImages are the images of the pods that an operator makes of a custom resource: those of
// fields that are known, and those of lists of containers, which have the form of Kubernetes in
// every kind that has one.
func OperatorImages(o manifest.Object) []Image {
	gvk := o.GroupVersionKind()
	if spec, _ := podSpec(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind}); spec != nil || !customGroup(gvk.Group) {
		return nil
	}
	var all []Image
	for _, field := range operators.Of(gvk.Group, gvk.Kind).Images {
		follow(o.Object, strings.Split(field, "."), "", func(image, field string, _ map[string]any) {
			all = append(all, Image{image, field})
		})
	}
	everywhere(o.Object["spec"], "spec", "spec", func(m map[string]any, path, _ string) {
		if strings.Contains(path+".", ".values.") || strings.Contains(path+".", ".valuesObject.") {
			return // of a chart, which decides what they mean
		}
		containers(m, path, func(c map[string]any, field string) {
			// Policies write patterns of both.
			name, image := text(c, "name"), text(c, "image")
			if name != "" && image != "" && !strings.ContainsAny(name+image, "*?!|&()") {
				all = append(all, Image{image, field + ".image"})
			}
		})
	})
	return all
}
