package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gobwas/glob"
	"github.com/itchyny/gojq"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	model "github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
)

// jqTime bounds one run of a jq expression, as in Argo CD.
const jqTime = time.Second

// ignoreRule is one entry of ignoreDifferences, compiled. Source: Argo CD user
// guide, "Diff Customization"; util/argo/normalizers.
type ignoreRule struct {
	group, kind     glob.Glob
	namespace, name string
	pointers        [][]string
	jq              []*gojq.Code
	managers        []string
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
func CheckIgnored(components []model.Component) error {
	for _, c := range components {
		if _, err := compileIgnore(c); err != nil && parseOptions(c.SyncOptions).respectIgnored {
			return err
		}
	}
	return nil
}

// compileIgnore compiles the ignoreDifferences of a component; errors are
// *IgnoreError.
func compileIgnore(m model.Component) ([]ignoreRule, error) {
	var rules []ignoreRule
	for i, written := range m.IgnoreDifferences {
		wrong := func(what string, err error) error {
			return &IgnoreError{m.Name, m.At(fmt.Sprintf("ignoreDifferences[%d]", i)), fmt.Sprintf("ignoreDifferences[%d]: %s: %v", i, what, err)}
		}
		rule := ignoreRule{namespace: written.Namespace, name: written.Name, managers: written.ManagedFieldsManagers}
		var err error
		if rule.group, err = glob.Compile(written.Group); err != nil {
			return nil, wrong("group "+written.Group, err)
		}
		if rule.kind, err = glob.Compile(written.Kind); err != nil {
			return nil, wrong("kind "+written.Kind, err)
		}
		for _, text := range written.JSONPointers {
			pointer, err := parsePointer(text)
			if err != nil {
				return nil, wrong("JSON pointer "+text, err)
			}
			rule.pointers = append(rule.pointers, pointer)
		}
		for _, text := range written.JQPathExpressions {
			query, err := gojq.Parse("del(" + text + ")")
			if err != nil {
				return nil, wrong("jq expression "+text, err)
			}
			// Without options a program reaches neither modules nor environment.
			code, err := gojq.Compile(query)
			if err != nil {
				return nil, wrong("jq expression "+text, err)
			}
			rule.jq = append(rule.jq, code)
		}
		rules = append(rules, rule)
	}
	return rules, nil
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

// matches reports whether the rule is about an object.
func (r ignoreRule) matches(obj *unstructured.Unstructured) bool {
	gk := obj.GroupVersionKind().GroupKind()
	return r.group.Match(gk.Group) && r.kind.Match(gk.Kind) &&
		(r.name == "" || r.name == obj.GetName()) && (r.namespace == "" || r.namespace == obj.GetNamespace())
}

// ignoring returns the rules about an object.
func ignoring(rules []ignoreRule, obj *unstructured.Unstructured) []ignoreRule {
	return slices.DeleteFunc(slices.Clone(rules), func(r ignoreRule) bool { return !r.matches(obj) })
}

// strip removes the ignored fields from an object. Managers of fields are those
// of the live object. What a rule does not find is nothing to remove.
func strip(rules []ignoreRule, obj, live *unstructured.Unstructured) *unstructured.Unstructured {
	out := obj.DeepCopy()
	for _, r := range rules {
		for _, pointer := range r.pointers {
			removePointer(out.Object, pointer)
		}
		for _, code := range r.jq {
			if changed, err := runJQ(code, out.Object); err == nil {
				out.Object = changed
			}
		}
		for _, path := range managedPaths(live, r.managers) {
			removePath(out.Object, path)
		}
	}
	return out
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

// runJQ runs a program that returns the object without some fields.
func runJQ(code *gojq.Code, object map[string]any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jqTime)
	defer cancel()
	// jq has other numbers than an object of the API machinery.
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var input any
	if err := json.Unmarshal(text, &input); err != nil {
		return nil, err
	}
	first, ok := code.RunWithContext(ctx, input).Next()
	if !ok {
		return nil, errors.New("returned nothing")
	}
	if err, failed := first.(error); failed {
		return nil, err
	}
	if text, err = json.Marshal(first); err != nil {
		return nil, err
	}
	var out unstructured.Unstructured
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, err
	}
	return out.Object, nil
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
func respecting(rules []ignoreRule, target, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live = live.DeepCopy()
	unstructured.RemoveNestedField(live.Object, "status")
	kept := strip(rules, live, live)
	wanted := strip(rules, target, live)
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
