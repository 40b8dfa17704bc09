package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/ignore"
)

// ignored are the ignoreDifferences of a component, in two halves: what a repository
// writes as patterns and programs is evaluated by workers. Source: Argo CD user guide,
// "Diff Customization"; util/argo/normalizers.
type ignored struct {
	evaluated []ignore.Rule
	rules     []ignoreRule // of the same length
}

// ignoreRule is the other half of an entry.
type ignoreRule struct {
	namespace, name string
	pointers        [][]string
	managers        []string
	jq              []string
}

// IgnoreError is an entry of ignoreDifferences that cannot be understood.
type IgnoreError struct {
	Component string
	Position  finding.Position
	Message   string
}

// Error implements error.
func (e *IgnoreError) Error() string {
	return fmt.Sprintf("%s: component %s: %s", e.Position, e.Component, e.Message)
}

// CheckIgnored returns an *IgnoreError for the first of the components that
// respects ignoreDifferences which cannot be understood.
func CheckIgnored(ctx context.Context, components []model.Component) error {
	for _, c := range components {
		if !parseOptions(c.SyncOptions).respectIgnored {
			continue
		}
		if _, err := compileIgnore(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// compileIgnore reads the ignoreDifferences of a component; errors are *IgnoreError
// or the cause of ctx.
func compileIgnore(ctx context.Context, m model.Component) (ignored, error) {
	var out ignored
	for i, written := range m.IgnoreDifferences {
		wrong := func(err error) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return &IgnoreError{m.Name, m.At(fmt.Sprintf("ignoreDifferences[%d]", i)), fmt.Sprintf("ignoreDifferences[%d]: %v", i, err)}
		}
		evaluated := ignore.Rule{Group: written.Group, Kind: written.Kind, JQ: written.JQPathExpressions}
		if err := evaluate.CheckIgnore(ctx, evaluated); err != nil {
			return ignored{}, wrong(err)
		}
		rule := ignoreRule{namespace: written.Namespace, name: written.Name, managers: written.ManagedFieldsManagers, jq: written.JQPathExpressions}
		for _, text := range written.JSONPointers {
			pointer, err := parsePointer(text)
			if err != nil {
				return ignored{}, wrong(fmt.Errorf("JSON pointer %s: %w", text, err))
			}
			rule.pointers = append(rule.pointers, pointer)
		}
		out.evaluated, out.rules = append(out.evaluated, evaluated), append(out.rules, rule)
	}
	return out, nil
}

// parsePointer splits a JSON pointer (RFC 6901).
func parsePointer(text string) ([]string, error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, errors.New("does not begin with a slash")
	}
	parts := strings.Split(rest, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return parts, nil
}

// about returns the rules about an object.
func (i ignored) about(ctx context.Context, obj *unstructured.Unstructured) ([]ignoreRule, error) {
	if len(i.rules) == 0 {
		return nil, nil
	}
	gk := obj.GroupVersionKind().GroupKind()
	indices, err := evaluate.Ignoring(ctx, i.evaluated, gk.Group, gk.Kind)
	if err != nil {
		return nil, fmt.Errorf("ignoreDifferences: %w", err)
	}
	var about []ignoreRule
	for _, index := range indices {
		if r := i.rules[index]; (r.name == "" || r.name == obj.GetName()) && (r.namespace == "" || r.namespace == obj.GetNamespace()) {
			about = append(about, r)
		}
	}
	return about, nil
}

// strip removes the ignored fields from an object. Managers of fields are those
// of the live object. What a rule does not find is nothing to remove.
func strip(ctx context.Context, rules []ignoreRule, obj, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := obj.DeepCopy()
	for _, r := range rules {
		for _, pointer := range r.pointers {
			removePointer(out.Object, pointer)
		}
		var err error
		if out.Object, err = evaluate.Without(ctx, r.jq, out.Object); err != nil {
			return nil, fmt.Errorf("jq expressions of ignoreDifferences: %w", err)
		}
		for _, path := range managedPaths(live, r.managers) {
			removePath(out.Object, path)
		}
	}
	return out, nil
}

// removePointer removes what a JSON pointer points at.
func removePointer(at any, pointer []string) any {
	key, last := pointer[0], len(pointer) == 1
	switch at := at.(type) {
	case map[string]any:
		child, ok := at[key]
		switch {
		case ok && last:
			delete(at, key)
		case ok:
			at[key] = removePointer(child, pointer[1:])
		}
	case []any:
		i, err := strconv.Atoi(key)
		switch {
		case err != nil || i < 0 || i >= len(at):
		case last:
			return slices.Delete(at, i, i+1)
		default:
			at[i] = removePointer(at[i], pointer[1:])
		}
	}
	return at
}

// managedPaths are the fields of a live object that managers own: leaves only,
// since owning the item of a list is not owning what others put into it.
func managedPaths(live *unstructured.Unstructured, managers []string) []fieldpath.Path {
	var out []fieldpath.Path
	if len(managers) == 0 {
		return nil
	}
	for _, entry := range live.GetManagedFields() {
		var set fieldpath.Set
		if !slices.Contains(managers, entry.Manager) || entry.FieldsV1 == nil ||
			set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			continue
		}
		set.Leaves().Iterate(func(path fieldpath.Path) {
			if len(path) > 0 && path[len(path)-1].FieldName != nil {
				out = append(out, path.Copy())
			}
		})
	}
	return out
}

// removePath removes the field at a path of a field manager.
func removePath(at any, path fieldpath.Path) {
	element := path[0]
	switch at := at.(type) {
	case map[string]any:
		if element.FieldName == nil {
			return
		}
		if len(path) == 1 {
			delete(at, *element.FieldName)
		} else if child, ok := at[*element.FieldName]; ok {
			removePath(child, path[1:])
		}
	case []any:
		if element.Key == nil || len(path) == 1 {
			return
		}
		for _, item := range at {
			fields, ok := item.(map[string]any)
			same := func(f value.Field) bool { return fmt.Sprint(fields[f.Name]) == fmt.Sprint(f.Value.Unstructured()) }
			if ok && !slices.ContainsFunc(*element.Key, func(f value.Field) bool { return !same(f) }) {
				removePath(item, path[1:])
			}
		}
	}
}

// respecting returns the object with the ignored fields as they are in the
// cluster, which is RespectIgnoreDifferences=true: what is ignored is not
// written. Leaving the fields out would remove those that an earlier apply owns.
// The status is never taken over. Source: Argo CD, controller/sync.go,
// normalizeTargetResources.
func respecting(ctx context.Context, rules []ignoreRule, target, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live = live.DeepCopy()
	unstructured.RemoveNestedField(live.Object, "status")
	kept, err := strip(ctx, rules, live, live)
	if err != nil {
		return nil, err
	}
	wanted, err := strip(ctx, rules, target, live)
	if err != nil {
		return nil, err
	}
	for _, obj := range []*unstructured.Unstructured{live, kept} {
		unstructured.RemoveNestedField(obj.Object, "metadata", "managedFields")
	}
	original, err := json.Marshal(kept.Object)
	if err != nil {
		return nil, err
	}
	modified, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(wanted.Object)
	if err != nil {
		return nil, err
	}
	merged, err := carry(target, original, modified, document)
	if err != nil {
		return nil, fmt.Errorf("keep ignored fields: %w", err)
	}
	out := &unstructured.Unstructured{}
	if err := out.UnmarshalJSON(merged); err != nil {
		return nil, fmt.Errorf("keep ignored fields: %w", err)
	}
	return out, nil
}

// carry brings what modified has and original lacks into a document: lists are
// merged by key for the kinds of Kubernetes, and as a whole for others.
func carry(target *unstructured.Unstructured, original, modified, document []byte) ([]byte, error) {
	typed, err := scheme.Scheme.New(target.GroupVersionKind())
	if runtime.IsNotRegisteredError(err) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, original)
		if err != nil {
			return nil, err
		}
		return mergeJSON(document, patch)
	}
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(modified, modified, original, meta, true)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(document, patch, typed)
}

// mergeJSON applies a JSON merge patch (RFC 7396).
func mergeJSON(document, patch []byte) ([]byte, error) {
	var to, change any
	if err := json.Unmarshal(document, &to); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	return json.Marshal(mergeValue(to, change))
}

func mergeValue(to, change any) any {
	changes, ok := change.(map[string]any)
	if !ok {
		return change
	}
	out, ok := to.(map[string]any)
	if !ok {
		out = map[string]any{}
	}
	for key, v := range changes {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = mergeValue(out[key], v)
		}
	}
	return out
}
