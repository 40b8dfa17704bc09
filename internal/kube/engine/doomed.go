package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// doomed is one live object that is to be deleted.
type doomed struct {
	item    inventoryItem
	mapping mapping
	live    *unstructured.Unstructured
	// place is its hook or wave, the greatest first.
	place int
}

// serves is the kind that the object defines, if it is a CRD.
func (d doomed) serves() (schema.GroupKind, bool) { return crdKind(d.live) }

// holds reports whether deleting the object deletes another one with it.
func (d doomed) holds(item inventoryItem) bool {
	if d.item.Group == "" && d.item.Kind == "Namespace" {
		return item.Namespace == d.item.Name
	}
	gk, ok := d.serves()
	return ok && item.gvk().GroupKind() == gk
}

// survey looks up what there is to delete, in the order in which it is, and what
// asks to be kept.
func (e *Engine) survey(ctx context.Context, inv inventory) (found []doomed, left []finding.Resource, err error) {
	hooks := len(inv.HookObjects)
	all := slices.Concat(inv.HookObjects, inv.Objects)
	live := make([]doomed, len(all))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i, item := range all {
		group.Go(func() (err error) {
			live[i], err = e.doom(groupCtx, inv.Component, item)
			live[i].place = item.Wave
			if i < hooks {
				// Hooks have run, and wait for nothing.
				live[i].place = hookPlace
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	seen := map[finding.Resource]bool{}
	var kept []inventoryItem
	for _, d := range live {
		switch {
		case d.live == nil || seen[d.item.resource()]:
		case keeps(d.live):
			kept = append(kept, d.item)
		default:
			found = append(found, d)
		}
		seen[d.item.resource()] = true
	}
	found, kept = keepHolders(found, kept)
	for _, item := range kept {
		left = append(left, item.resource())
	}
	sortDoomed(found)
	return found, left, nil
}

// hookPlace comes before every wave in a deletion.
const hookPlace = 1 << 30

// doom looks an object up; live is nil for one that is not there, or is not the
// component's any more.
func (e *Engine) doom(ctx context.Context, component string, item inventoryItem) (doomed, error) {
	d := doomed{item: item}
	var err error
	d.mapping, err = e.lookup(ctx, item.gvk())
	if Unserved(err) {
		return d, nil // its CRD is gone, and the object with it
	}
	if err != nil {
		return d, objectError(item.resource(), nil, err)
	}
	live, err := e.get(ctx, d.mapping, item.resource())
	if err != nil || live == nil || live.GetAnnotations()[ComponentAnnotation] != component {
		return d, err
	}
	d.live = live
	return d, nil
}

// keeps reports whether an object asks to outlive its component, or to be asked
// about first. Source: Argo CD user guide, "Sync Options" (Prune and Delete, false
// or confirm); Helm, "Tell Helm Not To Uninstall a Resource".
func keeps(live *unstructured.Unstructured) bool {
	annotations := live.GetAnnotations()
	for _, option := range manifest.Words(annotations[optionsAnnotation]) {
		name, value, _ := strings.Cut(option, "=")
		if (name == "Prune" || name == "Delete") && (strings.EqualFold(value, "false") || strings.EqualFold(value, "confirm")) {
			return true
		}
	}
	return annotations["helm.sh/resource-policy"] == "keep"
}

// keepHolders keeps the Namespaces and CRDs of what is kept.
func keepHolders(found []doomed, kept []inventoryItem) ([]doomed, []inventoryItem) {
	for again := true; again; {
		again = false
		found = slices.DeleteFunc(found, func(d doomed) bool {
			holds := slices.ContainsFunc(kept, d.holds)
			if holds {
				kept, again = append(kept, d.item), true
			}
			return holds
		})
	}
	return found, kept
}

// sortDoomed puts objects in the reverse of the order in which they were
// applied. A Namespace or CRD that a sync pulled forward to what needed it was
// applied before that, whatever its own wave says.
func sortDoomed(found []doomed) {
	for i := range found {
		for _, d := range found {
			if d.place < hookPlace && found[i].place > d.place && found[i].holds(d.item) {
				found[i].place = d.place
			}
		}
	}
	slices.SortFunc(found, func(a, b doomed) int {
		if d := cmp.Compare(b.place, a.place); d != 0 {
			return d
		}
		if d := cmp.Compare(manifest.KindRank(b.item.Kind), manifest.KindRank(a.item.Kind)); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(b.item.Kind, a.item.Kind), cmp.Compare(b.item.resource().String(), a.item.resource().String()))
	})
}

// refuse returns an error where deleting a Namespace or CRD would take objects of
// other components along, or what the engine itself needs.
func (e *Engine) refuse(ctx context.Context, name string, found []doomed) error {
	for _, d := range found {
		if d.item.Group == "" && d.item.Kind == "Namespace" && d.item.Name == inventoryNamespace {
			return &executor.ObjectError{Object: d.item.resource(), Final: true, Message: "is not deleted: it holds the inventories of all components"}
		}
		stay, leave, err := e.dependOn(ctx, name, d)
		if err != nil {
			return err
		}
		if len(stay) > 0 {
			return &executor.ObjectError{Object: d.item.resource(), Final: true, Message: shorten(fmt.Sprintf(
				"component %s is not removed, and nothing of it is deleted: its %s %s %s of components that stay: %s; let one of them render it, or annotate it with argocd.argoproj.io/sync-options: Delete=false",
				name, d.item.Kind, d.item.Name, d.verb(), strings.Join(stay, ", ")))}
		}
		if len(leave) > 0 {
			return &executor.ObjectError{Object: d.item.resource(), Message: shorten(fmt.Sprintf(
				"%s %s still %s of components that are removed as well: %s", d.item.Kind, d.item.Name, d.verb(), strings.Join(leave, ", ")))}
		}
	}
	return nil
}

func (d doomed) verb() string {
	if d.item.Kind == "Namespace" {
		return "holds objects"
	}
	return "serves objects"
}

// dependOn names other components of which live objects would be deleted with
// one, with the first of them: a few of those that stay and of those that go.
func (e *Engine) dependOn(ctx context.Context, name string, d doomed) (stay, leave []string, err error) {
	const most = 5
	for _, inv := range e.inventories() {
		if inv.owner() == e.own(name) {
			continue
		}
		i := slices.IndexFunc(slices.Concat(inv.Objects, inv.HookObjects), func(item inventoryItem) bool {
			if err != nil || !d.holds(item) {
				return false
			}
			var there bool
			there, err = e.isWithin(ctx, inv.Component, item, d)
			return there
		})
		if err != nil {
			return nil, nil, err
		}
		if i < 0 {
			continue
		}
		text := inv.Component + " (" + slices.Concat(inv.Objects, inv.HookObjects)[i].resource().Human() + ")"
		if e.components[inv.Component] == nil && inv.Scope == e.config.Scope {
			leave = append(leave, text)
		} else {
			stay = append(stay, text)
		}
	}
	return stay[:min(len(stay), most)], leave[:min(len(leave), most)], nil
}

// isWithin reports whether an object of a component that an inventory lists in a
// Namespace or CRD is there at all: a kind may turn out to have no namespace, and
// an object may have been deleted by hand.
func (e *Engine) isWithin(ctx context.Context, component string, item inventoryItem, d doomed) (bool, error) {
	found, err := e.doom(ctx, component, item)
	if err != nil || found.live == nil {
		return false, err
	}
	return d.item.Kind != "Namespace" || found.mapping.namespaced, nil
}
