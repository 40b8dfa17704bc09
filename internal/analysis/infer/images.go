package infer

import "github.com/rollout-ladder/ladder/internal/repo/manifest"

// Images are the images that the pods of an object name, in their order.
func Images(o manifest.Object) []string {
	gvk := o.GroupVersionKind()
	spec, path := podSpec(&object{Object: o, g: gvk.Group, v: gvk.Version, k: gvk.Kind})
	var all []string
	containers(spec, path, func(c map[string]any, _ string) {
		if image := text(c, "image"); image != "" {
			all = append(all, image)
		}
	})
	return all
}
