package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// compareObjects compares what an Application applies.
func (c *comparison) compareObjects(one *model.Component, ours []manifest.Object, other application) error {
	own, theirs := map[string]map[string]any{}, map[string]map[string]any{}
	for _, o := range ours {
		own[identity(o.Object, one.Namespace)] = plain(o.Object, one.Namespace)
	}
	for _, o := range other.Objects {
		if !named(o) || one.AppOfApps && isArgoCDs(o) {
			continue // nobody can apply one without a name
		}
		theirs[identity(o, one.Namespace)] = plain(o, one.Namespace)
	}
	if reflect.DeepEqual(own, theirs) {
		c.objects.equal += len(theirs)
		return nil
	}
	random, kinds, err := c.madeAtRandom(one, other, theirs)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(theirs)) {
		mine, ok := own[id]
		delete(own, id)
		switch {
		case random[id]:
			c.random++
		case !ok:
			c.objects.different++
			c.differ(other.Name, "only Argo CD has %s", id)
		case !reflect.DeepEqual(mine, theirs[id]):
			c.objects.different++
			c.differ(other.Name, "%s differs: %s", id, where("", mine, theirs[id]))
		default:
			c.objects.equal++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(own)) {
		if !kinds[kindOf(id)] {
			c.objects.different++
			c.differ(other.Name, "only Ladder has %s", id)
		}
	}
	return nil
}

// madeAtRandom are the objects of an Application that a second reading of Argo CD's has
// otherwise, and the kinds of those that it does not have.
func (c *comparison) madeAtRandom(one *model.Component, other application, theirs map[string]map[string]any) (random, kinds map[string]bool, err error) {
	if c.second == nil {
		second, err := c.again()
		if err != nil {
			return nil, nil, err
		}
		c.second = &second
	}
	again := map[string]map[string]any{}
	for _, a := range c.second.Applications {
		if a.Name == other.Name && reflect.DeepEqual(a.Spec, other.Spec) {
			for _, o := range a.Objects {
				again[identity(o, one.Namespace)] = plain(o, one.Namespace)
			}
		}
	}
	random, kinds = map[string]bool{}, map[string]bool{}
	for id, o := range theirs {
		random[id] = !reflect.DeepEqual(o, again[id])
		if again[id] == nil {
			kinds[kindOf(id)] = true
		}
	}
	return random, kinds, nil
}

// kindOf is the group and kind of an identity.
func kindOf(id string) string {
	kind, _, _ := strings.Cut(id, " ")
	return kind
}

func named(o map[string]any) bool {
	meta, _ := o["metadata"].(map[string]any)
	return meta["name"] != nil || meta["generateName"] != nil
}

func isArgoCDs(o map[string]any) bool {
	version, _ := o["apiVersion"].(string)
	return strings.HasPrefix(version, "argoproj.io/") && slices.Contains([]any{"Application", "ApplicationSet", "AppProject"}, o["kind"])
}

// identity names an object. The namespace of the destination is that of an object that
// has none.
func identity(o map[string]any, namespace string) string {
	version, _ := o["apiVersion"].(string)
	group, _, ok := strings.Cut(version, "/")
	if !ok {
		group = ""
	}
	meta, _ := o["metadata"].(map[string]any)
	in, _ := meta["namespace"].(string)
	if in == namespace {
		in = ""
	}
	name := meta["name"]
	if name == nil {
		name = meta["generateName"]
	}
	return fmt.Sprintf("%s/%v %s/%v", group, o["kind"], in, name)
}

// plain is an object as it is compared: numbers as JSON has them, without what both
// sides may write or leave out.
func plain(o map[string]any, namespace string) map[string]any {
	text, err := json.Marshal(o)
	if err != nil {
		return o
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return o
	}
	if meta, ok := out["metadata"].(map[string]any); ok {
		if meta["namespace"] == namespace || meta["namespace"] == "" {
			delete(meta, "namespace")
		}
		delete(meta, "creationTimestamp")
	}
	kustomizeVersion(out)
	without(out)
	return out
}

// kustomizeVersion takes the version out of the label that kustomize writes where
// buildMetadata asks for it.
func kustomizeVersion(o map[string]any) {
	const label = "app.kubernetes.io/managed-by"
	meta, _ := o["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	if by, _ := labels[label].(string); strings.HasPrefix(by, "kustomize-") {
		labels[label] = "kustomize"
	}
}

// without removes what is the same as nothing: null, and empty maps and lists.
func without(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			without(child)
			if isNothing(child) {
				delete(v, key)
			}
		}
	case []any:
		for _, child := range v {
			without(child)
		}
	}
}

func isNothing(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// where is the first place at which two values differ.
func where(at string, a, b any) string {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			keys := map[string]bool{}
			for k := range x {
				keys[k] = true
			}
			for k := range y {
				keys[k] = true
			}
			var sorted []string
			for k := range keys {
				sorted = append(sorted, k)
			}
			slices.Sort(sorted)
			for _, k := range sorted {
				if !reflect.DeepEqual(x[k], y[k]) {
					return where(at+"."+k, x[k], y[k])
				}
			}
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok {
			if len(x) != len(y) {
				at += fmt.Sprintf("(%d items, Argo CD %d)", len(x), len(y))
			}
			for i := range min(len(x), len(y)) {
				if !reflect.DeepEqual(x[i], y[i]) {
					return where(fmt.Sprintf("%s[%d]", at, i), x[i], y[i])
				}
			}
		}
	}
	x, isText := a.(string)
	if y, ok := b.(string); ok && isText {
		ours, theirs := strings.Split(x, "\n"), strings.Split(y, "\n")
		for i := range min(len(ours), len(theirs)) {
			if ours[i] != theirs[i] {
				return fmt.Sprintf("%s line %d is %.120q, Argo CD: %.120q", at, i+1, ours[i], theirs[i])
			}
		}
	}
	return fmt.Sprintf("%s is %.120v, Argo CD: %.120v", at, a, b)
}
