package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Where inventories are kept: one ConfigMap per component.
const (
	inventoryNamespace = "ladder-system"
	inventoryLabel     = "ladder.rollout-ladder.dev/inventory"
	inventoryKey       = "inventory.json"
	inventoryVersion   = "1"
)

// inventory is what a component has in the cluster. It is written before the
// first object of a sync is applied, then holding the old objects and the new
// ones, and after the last one, then holding the new ones only: at any moment
// every object that may exist is in it.
type inventory struct {
	FormatVersion string `json:"formatVersion"`
	Component     string `json:"component"`
	// Revision is the revision at which the last sync went through, empty
	// before the first and during one.
	Revision string `json:"revision,omitempty"`
	// Previous is the revision before a sync that is going on.
	Previous string          `json:"previous,omitempty"`
	Objects  []inventoryItem `json:"objects,omitempty"`
	// Run and Hooks remember which hooks of which run have succeeded, so that
	// a resumed sync does not run them twice.
	Run   string   `json:"run,omitempty"`
	Hooks []string `json:"hooks,omitempty"`
	// Scope, Sequence, Requires and HookObjects are for a removal when the
	// repository lacks the component: which platform it belongs to (Config.Scope),
	// its place in the order in which components were first applied, what were
	// its gates when it was applied last, and its hooks.
	Scope       string          `json:"scope,omitempty"`
	Sequence    int             `json:"sequence,omitempty"`
	Requires    []string        `json:"requires,omitempty"`
	HookObjects []inventoryItem `json:"hookObjects,omitempty"`
}

type inventoryItem struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Wave      int    `json:"wave,omitempty"`
}

func (i inventoryItem) resource() finding.Resource {
	return finding.Resource{Group: i.Group, Kind: i.Kind, Namespace: i.Namespace, Name: i.Name}
}

func (i inventoryItem) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: i.Group, Version: i.Version, Kind: i.Kind}
}

// items lists what a component consists of: everything but hooks.
func items(tasks []*task) []inventoryItem {
	var out []inventoryItem
	for _, t := range tasks {
		if !t.hook {
			out = append(out, itemOf(t))
		}
	}
	return out
}

func itemOf(t *task) inventoryItem {
	gvk := t.object.GroupVersionKind()
	return inventoryItem{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind,
		Namespace: t.resource.Namespace, Name: t.resource.Name, Wave: t.wave,
	}
}

// stale lists the items of old that are not in now, in the order in which they
// are deleted: the reverse of the order in which they were applied.
func stale(old, now []inventoryItem) []inventoryItem {
	rendered := map[finding.Resource]bool{}
	for _, i := range now {
		rendered[i.resource()] = true
	}
	var out []inventoryItem
	for _, i := range old {
		if !rendered[i.resource()] {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b inventoryItem) int {
		return -compareItems(a, b)
	})
	return out
}

func compareItems(a, b inventoryItem) int {
	if a.Wave != b.Wave {
		return a.Wave - b.Wave
	}
	if d := manifest.KindRank(a.Kind) - manifest.KindRank(b.Kind); d != 0 {
		return d
	}
	return strings.Compare(a.resource().String(), b.resource().String())
}

// merge adds to now what only old has.
func merge(now, old []inventoryItem) []inventoryItem {
	out := slices.Concat(now, stale(old, now))
	slices.SortFunc(out, compareItems)
	return out
}

var unfit = lazyregexp.New(`[^a-z0-9.-]+`)

// owner names a component of a platform: platforms on one cluster may have
// components of the same name.
type owner struct{ scope, component string }

func (i inventory) owner() owner { return owner{i.Scope, i.Component} }

// inventoryName is the name of a component's ConfigMap: readable, and distinct in
// any case.
func (o owner) inventoryName() string {
	name := "inventory-" + o.scope + "-" + o.component
	if o.scope == "" {
		name = "inventory-" + o.component
	}
	fit := strings.Trim(unfit.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	if o.scope == "" && fit == name && len(name) <= 253 {
		return name
	}
	sum := sha256.Sum256([]byte(o.scope + "\x00" + o.component))
	return fit[:min(len(fit), 200)] + "-" + hex.EncodeToString(sum[:4])
}

// own is a component of this engine's platform.
func (e *Engine) own(component string) owner { return owner{e.config.Scope, component} }

func configMapKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}

// loadInventories reads all inventories, once.
func (e *Engine) loadInventories(ctx context.Context) error {
	e.inventoryMu.Lock()
	defer e.inventoryMu.Unlock()
	if e.inventoryLoaded {
		return nil
	}
	m, err := e.lookup(ctx, configMapKind())
	if err != nil {
		return fmt.Errorf("read inventories: %w", err)
	}
	var list *unstructured.UnstructuredList
	err = e.Try(ctx, func() (err error) {
		list, err = e.resourceFor(m, inventoryNamespace).List(ctx, metav1.ListOptions{LabelSelector: inventoryLabel + "=true"})
		return err
	})
	if err != nil {
		return fmt.Errorf("read inventories: %w", err)
	}
	for _, cm := range list.Items {
		text, _, _ := unstructured.NestedString(cm.Object, "data", inventoryKey)
		var inv inventory
		if err := json.Unmarshal([]byte(text), &inv); err != nil {
			return fmt.Errorf("read inventory %s/%s: %w", inventoryNamespace, cm.GetName(), err)
		}
		if inv.FormatVersion != inventoryVersion {
			return fmt.Errorf("inventory %s/%s has format version %q, not %q",
				inventoryNamespace, cm.GetName(), inv.FormatVersion, inventoryVersion)
		}
		e.remember(inv)
		if c := e.components[inv.Component]; c != nil && inv.Scope == e.config.Scope {
			c.setInventory(inv)
		}
	}
	e.inventoryLoaded = true
	return nil
}

// saveInventory writes the inventory of a component.
func (e *Engine) saveInventory(ctx context.Context, inv inventory) error {
	inv.FormatVersion = inventoryVersion
	if err := e.ensureInventoryNamespace(ctx); err != nil {
		return err
	}
	text, err := json.Marshal(inv)
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	r := finding.Resource{Kind: "ConfigMap", Namespace: inventoryNamespace, Name: e.own(inv.Component).inventoryName()}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": r.Name, "namespace": r.Namespace, "labels": map[string]any{inventoryLabel: "true"}},
		"data":     map[string]any{inventoryKey: string(text)},
	}}
	m, err := e.lookup(ctx, configMapKind())
	if err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	if _, err := e.Apply(ctx, e.resourceFor(m, r.Namespace), object, e.config.FieldManager); err != nil {
		return objectError(r, nil, err)
	}
	e.components[inv.Component].setInventory(inv)
	return nil
}

func (e *Engine) ensureInventoryNamespace(ctx context.Context) error {
	e.inventoryMu.Lock()
	defer e.inventoryMu.Unlock()
	if e.inventoryNamespace {
		return nil
	}
	if err := e.ensureNamespace(ctx, nil, inventoryNamespace); err != nil {
		return err
	}
	e.inventoryNamespace = true
	return nil
}

// hookRecord names a hook in an inventory.
func hookRecord(t *task) string { return t.phase.String() + " " + t.resource.String() }

// withHook returns the records with one more, sorted.
func withHook(records []string, record string) []string {
	set := map[string]bool{record: true}
	for _, r := range records {
		set[r] = true
	}
	return slices.Sorted(maps.Keys(set))
}
