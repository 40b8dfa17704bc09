package infer

import "github.com/rollout-ladder/ladder/internal/repo/manifest"

// Image is an image that a pod of an object names, and the field that does.
type Image struct{ Reference, Field string }

// Images are those of an object, in their order; an empty one is written so.
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
