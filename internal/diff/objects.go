package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// rendered is an object with its component.
type rendered struct {
	component string
	object    manifest.Object
}

// objects compares the objects of the components that are rendered on both
// sides. An object that another component renders now is changed, not removed
// and added.
func objects(from, to Side, skip map[string]bool) ObjectChange {
	out := ObjectChange{Added: []Object{}, Removed: []Object{}, Changed: []ObjectReworked{}}
	a, b := all(from, skip), all(to, skip)
	same := func(keep func(x, y rendered) bool) {
		for r, left := range a {
			right := b[r]
			for i := 0; i < len(left); i++ {
				j := slices.IndexFunc(right, func(y rendered) bool { return keep(left[i], y) })
				if j < 0 {
					continue
				}
				if change, ok := reworked(r, left[i], right[j]); ok {
					out.Changed = append(out.Changed, change)
				}
				left, right = slices.Delete(left, i, i+1), slices.Delete(right, j, j+1)
				i--
			}
			a[r], b[r] = left, right
		}
	}
	same(func(x, y rendered) bool { return x.component == y.component })
	same(func(rendered, rendered) bool { return true })
	for _, left := range a {
		for _, o := range left {
			out.Removed = append(out.Removed, o.named())
		}
	}
	for _, right := range b {
		for _, o := range right {
			out.Added = append(out.Added, o.named())
		}
	}
	for _, l := range [][]Object{out.Added, out.Removed} {
		slices.SortFunc(l, func(x, y Object) int {
			return cmp.Or(strings.Compare(x.Component, y.Component), compareResources(x.Resource, y.Resource), x.Position.Compare(y.Position))
		})
	}
	slices.SortFunc(out.Changed, compareReworked)
	return out
}

func compareReworked(x, y ObjectReworked) int {
	return cmp.Or(compareResources(x.Resource, y.Resource), strings.Compare(x.To.Component, y.To.Component),
		strings.Compare(x.From.Component, y.From.Component), x.To.Position.Compare(y.To.Position), x.From.Position.Compare(y.From.Position))
}

// all lists objects by what names them, those of one name by component.
func all(s Side, skip map[string]bool) map[finding.Resource][]rendered {
	out := map[finding.Resource][]rendered{}
	for component, objects := range s.Objects {
		if skip[component] {
			continue
		}
		for _, o := range objects {
			out[o.Resource()] = append(out[o.Resource()], rendered{component, o})
		}
	}
	for _, l := range out {
		slices.SortStableFunc(l, func(a, b rendered) int { return strings.Compare(a.component, b.component) })
	}
	return out
}

func (r rendered) named() Object {
	return Object{Component: r.component, Resource: r.object.Resource(), Position: r.object.Origin.Position()}
}

func (r rendered) origin() Origin {
	return Origin{Component: r.component, Position: r.object.Origin.Position()}
}

// reworked compares two objects of one name.
func reworked(r finding.Resource, x, y rendered) (ObjectReworked, bool) {
	var fields []Field
	if secret := isSecret(x.object.Object) || isSecret(y.object.Object); secret {
		fields = diffSecrets(x.object.Object, y.object.Object)
	} else {
		fields = diff(x.object.Object, y.object.Object)
	}
	if len(fields) == 0 && x.component == y.component {
		return ObjectReworked{}, false
	}
	return ObjectReworked{Resource: r, From: x.origin(), To: y.origin(), Fields: list(fields)}, true
}

func isSecret(o map[string]any) bool { return o["kind"] == "Secret" && o["apiVersion"] == "v1" }

func compareResources(a, b finding.Resource) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name),
	)
}
