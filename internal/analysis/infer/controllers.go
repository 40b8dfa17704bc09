package infer

import (
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// Controllers: a custom resource becomes Ready only while the controller of its
// kind runs. An object does not name its controller. Known are those with a
// well-known image, and those whose ServiceAccount may write the status of the
// kind (rbac.go).

func controllerKey(group, kind string) key {
	return key{Kind: kindController, Name: group + "/" + kind}
}

// learnControllers finds who reconciles what.
func (x *index) learnControllers() {
	writers := x.statusWriters()
	for i, of := range x.objects {
		for _, o := range of {
			if !o.is("apps", "Deployment", "StatefulSet", "DaemonSet") {
				continue
			}
			add := func(k key) {
				x.add(k, provider{component: i, object: o, place: o.place, position: o.Origin.Position(), basis: finding.Rendered})
			}
			controllersIn(o, add)
			for _, k := range writers[o] {
				add(k)
			}
		}
	}
}

func controllersIn(o *object, add func(key)) {
	each(list(o.root(), "spec", "template", "spec", "containers"), "", func(c map[string]any, _ string) {
		for _, known := range controllersOf(imageRepository(text(c, "image"))) {
			words := append(slices.Clone(list(c, "args")), list(c, "command")...)
			if slices.ContainsFunc(known.Without, func(w string) bool { return slices.Contains(words, any(w)) }) {
				continue
			}
			if len(known.Kinds) == 0 {
				add(controllerKey(known.Group, "*"))
			}
			for _, kind := range known.Kinds {
				add(controllerKey(known.Group, kind))
			}
		}
	})
}

// byImage are the controllers by the end of the repository of their image.
var byImage = sync.OnceValue(func() map[string][]operators.Controller {
	by := map[string][]operators.Controller{}
	for _, c := range operators.Controllers() {
		by[c.Image] = append(by[c.Image], c)
	}
	return by
})

// controllersOf are those that the image of a repository may be.
func controllersOf(repository string) (found []operators.Controller) {
	for more := true; more; _, repository, more = strings.Cut(repository, "/") {
		found = append(found, byImage()[repository]...)
	}
	return found
}

// imageRepository cuts tag and digest off an image.
func imageRepository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	return image
}

// configures reports whether a kind of a known operator only configures it:
// nothing becomes Ready there.
func configures(group, kind string) bool {
	of := false
	for _, known := range operators.Controllers() {
		if known.Group == group {
			if len(known.Kinds) == 0 || slices.Contains(known.Kinds, kind) {
				return false
			}
			of = true
		}
	}
	return of
}

func requiresController(w *world, o *object, add func(need)) {
	if !customGroup(o.g) || ownKind(o.g, o.k) || configures(o.g, o.k) {
		return
	}
	or := []key{controllerKey(o.g, "*")}
	for _, name := range w.resources(o.g, o.k) {
		or = append(or, controllerKey(o.g, name))
	}
	add(need{key: controllerKey(o.g, o.k), or: or, field: "kind",
		strength: plan.Hard, effect: dependency.Ready, verb: "is reconciled by the controller of " + o.g})
}
