package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/drive"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/rollout"
)

// removals is what the engine knows of components that it does not roll out.
type removals struct {
	mu sync.Mutex
	// others are the inventories of components that are not part of the rollout,
	// by name.
	others map[string]inventory
	// sequence is the greatest place in the order of application.
	sequence int
	// waiting is what the deletions that go on wait for, by component.
	waiting map[string]drive.Observation
}

// remember keeps an inventory that was read.
func (e *Engine) remember(inv inventory) {
	r := &e.removals
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence = max(r.sequence, inv.Sequence)
	if e.components[inv.Component] == nil {
		r.others[inv.Component] = inv
	}
}

// stamp notes in the inventory of a component, before its first object is
// applied, what its removal will need when the repository lacks it.
func (e *Engine) stamp(inv *inventory, c *component) {
	inv.Scope, inv.Requires = e.config.Scope, e.config.Requires[c.name]
	inv.HookObjects = merge(hookItems(c.tasks), inv.HookObjects)
	if inv.Sequence > 0 {
		return
	}
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	e.removals.sequence++
	inv.Sequence = e.removals.sequence
}

// hookItems lists the hooks of a component.
func hookItems(tasks []*task) []inventoryItem {
	var out []inventoryItem
	for _, t := range tasks {
		if t.hook {
			out = append(out, itemOf(t))
		}
	}
	return out
}

// other is the inventory of a component that is not part of the rollout.
func (e *Engine) other(name string) (inv inventory, ok bool) {
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	inv, ok = e.removals.others[name]
	return inv, ok
}

// inventories are those of every component that is known, the rollout's included,
// by name.
func (e *Engine) inventories() []inventory {
	var out []inventory
	for _, c := range e.components {
		inv := c.getInventory()
		inv.Component = c.name
		// What is rendered counts as there, whether or not it is applied already.
		inv.Objects = merge(items(c.tasks), inv.Objects)
		inv.HookObjects = merge(hookItems(c.tasks), inv.HookObjects)
		out = append(out, inv)
	}
	e.removals.mu.Lock()
	for _, inv := range e.removals.others {
		out = append(out, inv)
	}
	e.removals.mu.Unlock()
	slices.SortFunc(out, func(a, b inventory) int { return cmp.Compare(a.Component, b.Component) })
	return out
}

// Remove implements drive.Engine. Objects are deleted wave by wave and kind by
// kind, in the foreground: an object counts as gone only when what it owns is,
// so that a workload has stopped before what it needs is deleted.
func (e *Engine) Remove(ctx context.Context, name string) ([]finding.Resource, error) {
	if e.components[name] != nil {
		return nil, fmt.Errorf("component %s is part of this rollout and is not removed", name)
	}
	if err := e.loadInventories(ctx); err != nil {
		return nil, err
	}
	inv, ok := e.other(name)
	if !ok {
		return nil, nil // it was removed before
	}
	if inv.Scope != e.config.Scope {
		return nil, fmt.Errorf("component %s belongs to %q, not to %q", name, inv.Scope, e.config.Scope)
	}
	defer e.tellRemoval(name, finding.Resource{}, "")
	found, left, err := e.survey(ctx, inv)
	if err != nil {
		return nil, err
	}
	if err := e.refuse(name, found); err != nil {
		return nil, err
	}
	for _, group := range cut(found, func(a, b doomed) bool { return a.place == b.place && a.item.Kind == b.item.Kind }) {
		if err := e.deleteAll(ctx, name, group); err != nil {
			return nil, err
		}
	}
	return left, e.dropInventory(ctx, name)
}

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
	d.mapping, err = e.mapper.lookup(item.gvk())
	if isUnserved(err) {
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

// keeps reports whether an object asks to outlive its component. Source: Argo CD
// user guide, "Sync Options" (Prune=false, Delete=false); Helm, "Tell Helm Not To
// Uninstall a Resource".
func keeps(live *unstructured.Unstructured) bool {
	annotations := live.GetAnnotations()
	for _, option := range splitList(annotations[optionsAnnotation]) {
		if name, value, _ := strings.Cut(option, "="); (name == "Prune" || name == "Delete") && strings.EqualFold(value, "false") {
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
		if d := cmp.Compare(kindRank(b.item.Kind), kindRank(a.item.Kind)); d != 0 {
			return d
		}
		return cmp.Or(cmp.Compare(b.item.Kind, a.item.Kind), cmp.Compare(b.item.resource().String(), a.item.resource().String()))
	})
}

// refuse returns an error where deleting a Namespace or CRD would take objects of
// other components along, or what the engine itself needs.
func (e *Engine) refuse(name string, found []doomed) error {
	for _, d := range found {
		if d.item.Group == "" && d.item.Kind == "Namespace" && d.item.Name == inventoryNamespace {
			return &drive.ObjectError{Object: d.item.resource(), Final: true, Message: "is not deleted: it holds the inventories of all components"}
		}
		stay, leave := e.dependOn(name, d)
		if len(stay) > 0 {
			return &drive.ObjectError{Object: d.item.resource(), Final: true, Message: shorten(fmt.Sprintf(
				"component %s is not removed, and nothing of it is deleted: its %s %s %s of components that stay: %s; let one of them render it, or annotate it with argocd.argoproj.io/sync-options: Delete=false",
				name, d.item.Kind, d.item.Name, d.verb(), strings.Join(stay, ", ")))}
		}
		if len(leave) > 0 {
			return &drive.ObjectError{Object: d.item.resource(), Message: shorten(fmt.Sprintf(
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

// dependOn names the objects of other components that are deleted with one, a
// few of those that stay and of those that go.
func (e *Engine) dependOn(name string, d doomed) (stay, leave []string) {
	const most = 5
	for _, inv := range e.inventories() {
		if inv.Component == name {
			continue
		}
		goes := e.components[inv.Component] == nil && inv.Scope == e.config.Scope
		for _, item := range slices.Concat(inv.Objects, inv.HookObjects) {
			if !d.holds(item) {
				continue
			}
			text := inv.Component + " (" + item.resource().Human() + ")"
			if goes {
				leave = append(leave, text)
			} else {
				stay = append(stay, text)
			}
			break
		}
	}
	return stay[:min(len(stay), most)], leave[:min(len(leave), most)]
}

// deleteAll deletes objects together and returns when all are gone.
func (e *Engine) deleteAll(ctx context.Context, component string, group []doomed) error {
	errs := make([]error, len(group))
	var deletions errgroup.Group
	deletions.SetLimit(16)
	for i, d := range group {
		deletions.Go(func() error {
			errs[i] = e.deleteOne(ctx, component, d)
			return nil
		})
	}
	_ = deletions.Wait() // every deletion keeps its own error
	return errors.Join(errs...)
}

// deleteOne deletes one very object and returns when it is gone. Its finalizers
// are left to whoever put them there.
func (e *Engine) deleteOne(ctx context.Context, component string, d doomed) error {
	policy, uid := metav1.DeletePropagationForeground, d.live.GetUID()
	options := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}}
	r := d.item.resource()
	err := e.try(ctx, func() error { return e.resourceFor(d.mapping, r.Namespace).Delete(ctx, r.Name, options) })
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil && !apierrors.IsConflict(err) {
		return objectError(r, nil, err)
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		live, err := e.get(ctx, d.mapping, r)
		if err != nil {
			return err
		}
		if live == nil || live.GetUID() != uid {
			return nil
		}
		e.tellRemoval(component, r, lingers(live))
		if err := pause(ctx, e.config.Clock, wait); err != nil {
			return err
		}
	}
}

// lingers says why an object that was deleted is still there.
func lingers(live *unstructured.Unstructured) string {
	what := live.GetKind() + " " + live.GetName()
	if live.GetNamespace() != "" {
		what = live.GetKind() + " " + live.GetNamespace() + "/" + live.GetName()
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		// Source: k8s.io/api/core/v1, NamespaceConditionType.
		kind, _ := condition["type"].(string)
		message, _ := condition["message"].(string)
		if live.GetKind() == "Namespace" && condition["status"] == "True" && message != "" &&
			(kind == "NamespaceContentRemaining" || kind == "NamespaceFinalizersRemaining" || strings.HasPrefix(kind, "NamespaceDeletion")) {
			return shorten(what + " is being deleted: " + message)
		}
	}
	var others []string
	for _, f := range live.GetFinalizers() {
		if f == metav1.FinalizerDeleteDependents {
			f = "the deletion of what it owns"
		}
		others = append(others, f)
	}
	if len(others) == 0 {
		return what + " is being deleted"
	}
	return shorten(what + " is being deleted and waits for " + strings.Join(others, ", "))
}

// tellRemoval has Watch report what a deletion waits for; an empty message ends
// that.
func (e *Engine) tellRemoval(component string, object finding.Resource, message string) {
	e.removals.mu.Lock()
	if message == "" {
		delete(e.removals.waiting, component)
	} else {
		e.removals.waiting[component] = drive.Observation{
			Component: component, Health: rollout.Progressing, Object: object, Message: message, At: e.config.Clock.Now(),
		}
	}
	e.removals.mu.Unlock()
	e.dirty.add(component)
}

// reportRemoval tells what the deletion of a component that is not part of the
// rollout waits for.
func (e *Engine) reportRemoval(component string, sink func(drive.Observation)) {
	e.removals.mu.Lock()
	seen, ok := e.removals.waiting[component]
	e.removals.mu.Unlock()
	if ok {
		sink(seen)
	}
}

// dropInventory forgets a component of which nothing is left.
func (e *Engine) dropInventory(ctx context.Context, name string) error {
	m, err := e.mapper.lookup(configMapKind())
	if err != nil {
		return fmt.Errorf("delete inventory: %w", err)
	}
	r := finding.Resource{Kind: "ConfigMap", Namespace: inventoryNamespace, Name: inventoryName(name)}
	if err := e.remove(ctx, m, r, nil); err != nil {
		return err
	}
	e.removals.mu.Lock()
	defer e.removals.mu.Unlock()
	delete(e.removals.others, name)
	return nil
}
