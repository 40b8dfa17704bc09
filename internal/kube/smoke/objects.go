package smoke

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// checkCondition holds when every wanted condition has its wanted status. A
// Gateway's listeners and a route's parents keep conditions of their own; they
// are looked at where the object itself has none of that type.
func checkCondition(ctx context.Context, client Client, check model.Check) (string, error) {
	gk := schema.GroupKind{Group: check.Group, Kind: check.ObjectKind}
	obj, err := client.Get(ctx, gk, check.Namespace, check.Name)
	if err != nil {
		return "", err
	}
	wanted := slices.Sorted(maps.Keys(check.Conditions))
	for _, kind := range wanted {
		if err := hasCondition(obj, kind, check.Conditions[kind]); err != nil {
			return "", err
		}
	}
	return strings.Join(wanted, ", ") + " as wanted", nil
}

func hasCondition(obj *unstructured.Unstructured, kind, want string) error {
	found := conditionsOf(obj, kind)
	if len(found) == 0 {
		return fmt.Errorf("has no condition %s yet", kind)
	}
	for _, c := range found {
		status, _ := c["status"].(string)
		if generation, ok := c["observedGeneration"].(int64); ok && generation < obj.GetGeneration() {
			return fmt.Errorf("condition %s is about an older generation", kind)
		}
		if status == want {
			continue
		}
		why := ""
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		if told := strings.Trim(reason+": "+message, ": "); told != "" {
			why = ": " + told
		}
		return fmt.Errorf("condition %s is %s, not %s%s", kind, cmp.Or(status, "empty"), want, why)
	}
	return nil
}

// conditionsOf returns the conditions of a type: the object's own, else those of
// the parents of a route.
func conditionsOf(obj *unstructured.Unstructured, kind string) []map[string]any {
	pick := func(list any) (out []map[string]any) {
		items, _ := list.([]any)
		for _, item := range items {
			if m, ok := item.(map[string]any); ok && m["type"] == kind {
				out = append(out, m)
			}
		}
		return out
	}
	status, _ := obj.Object["status"].(map[string]any)
	if own := pick(status["conditions"]); len(own) > 0 {
		return own
	}
	var out []map[string]any
	parents, _ := status["parents"].([]any)
	for _, p := range parents {
		if m, ok := p.(map[string]any); ok {
			out = append(out, pick(m["conditions"])...)
		}
	}
	return out
}

// checkSecret holds when a Secret has all keys and none of them is empty.
func checkSecret(ctx context.Context, client Client, check model.Check) (string, error) {
	data, err := secretData(ctx, client, check.Namespace, check.Name)
	if err != nil {
		return "", err
	}
	if len(check.Keys) == 0 {
		if len(data) == 0 {
			return "", errors.New("has no keys")
		}
		return fmt.Sprintf("has %d keys", len(data)), nil
	}
	for _, key := range check.Keys {
		value, ok := data[key]
		if !ok {
			return "", fmt.Errorf("has no key %s", key)
		}
		if len(value) == 0 {
			return "", fmt.Errorf("key %s is empty", key)
		}
	}
	return "has " + strings.Join(check.Keys, ", "), nil
}

// secretData reads a Secret. Its errors name keys, never values.
func secretData(ctx context.Context, client Client, namespace, name string) (map[string][]byte, error) {
	obj, err := client.Get(ctx, schema.GroupKind{Kind: "Secret"}, namespace, name)
	if err != nil {
		return nil, err
	}
	encoded, _ := obj.Object["data"].(map[string]any)
	data := make(map[string][]byte, len(encoded))
	for key, v := range encoded {
		text, _ := v.(string)
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("key %s is not base64", key)
		}
		data[key] = value
	}
	return data, nil
}

// checkJob holds when a Job has completed.
func checkJob(ctx context.Context, client Client, check model.Check) (string, error) {
	obj, err := client.Get(ctx, schema.GroupKind{Group: "batch", Kind: "Job"}, check.Namespace, check.Name)
	if err != nil {
		return "", err
	}
	for _, c := range conditionsOf(obj, "Failed") {
		if c["status"] == "True" {
			message, _ := c["message"].(string)
			return "", fmt.Errorf("has failed: %s", message)
		}
	}
	if err := hasCondition(obj, "Complete", "True"); err != nil {
		return "", errors.New("has not completed yet")
	}
	return "has completed", nil
}

// checkEndpoint holds when a Service has a ready endpoint.
func checkEndpoint(ctx context.Context, client Client, namespace, name string) (string, error) {
	if _, err := client.Get(ctx, schema.GroupKind{Kind: "Service"}, namespace, name); err != nil {
		return "", err
	}
	slicesOf, err := client.List(ctx, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}, namespace)
	if err != nil {
		return "", err
	}
	ready := 0
	for _, s := range slicesOf {
		if s.GetLabels()["kubernetes.io/service-name"] != name {
			continue
		}
		endpoints, _ := s.Object["endpoints"].([]any)
		for _, e := range endpoints {
			m, _ := e.(map[string]any)
			conditions, _ := m["conditions"].(map[string]any)
			// A missing condition means ready. Source: EndpointSlice API.
			if r, said := conditions["ready"].(bool); !said || r {
				ready++
			}
		}
	}
	if ready == 0 {
		return "", fmt.Errorf("Service %s/%s has no ready endpoint", namespace, name)
	}
	return fmt.Sprintf("Service %s/%s has %d ready endpoints", namespace, name, ready), nil
}

// checkCEL holds when an expression over one object, or over all of a kind, is
// true.
func checkCEL(ctx context.Context, client Client, check model.Check) (string, error) {
	gk := schema.GroupKind{Group: check.Group, Kind: check.ObjectKind}
	var value any
	if check.Name != "" {
		obj, err := client.Get(ctx, gk, check.Namespace, check.Name)
		if err != nil {
			return "", err
		}
		value = obj.Object
	} else {
		list, err := client.List(ctx, gk, check.Namespace)
		if err != nil {
			return "", err
		}
		objects := make([]any, 0, len(list))
		for _, obj := range list {
			objects = append(objects, obj.Object)
		}
		value = objects
	}
	brief := health.Brief(check.Expression)
	holds, reason, err := evaluate.CEL(ctx, check.Expression, check.Variable(), value)
	if err != nil {
		return "", err
	}
	if holds {
		return brief + " holds", nil
	}
	// The reason of an evaluation names fields and functions; over a Secret it
	// could quote a value.
	if reason == "" || gk.Kind == "Secret" {
		return "", fmt.Errorf("%s does not hold", brief)
	}
	return "", fmt.Errorf("%s does not hold: %s", brief, reason)
}
