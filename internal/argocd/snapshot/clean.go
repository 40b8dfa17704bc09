package snapshot

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/installation"
)

// cleaner makes what may be shown of objects.
type cleaner struct{ leftOut []string }

// leave notes what is left out.
func (c *cleaner) leave(of *unstructured.Unstructured, what string) {
	c.leftOut = append(c.leftOut, fmt.Sprintf("%s %s: %s", of.GetKind(), of.GetName(), what))
}

// named is an object with nothing but its names.
func named(of *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": of.GetAPIVersion(), "kind": of.GetKind()}}
	o.SetName(of.GetName())
	o.SetNamespace(of.GetNamespace())
	return o
}

// labelled is an object with its names, labels and annotations.
func (c *cleaner) labelled(of *unstructured.Unstructured) *unstructured.Unstructured {
	o := named(of)
	labels := map[string]string{}
	for key, value := range of.GetLabels() {
		if confidential.Text(value) {
			c.leave(of, "label "+key)
			continue
		}
		labels[key] = value
	}
	annotations := map[string]string{}
	for key, value := range of.GetAnnotations() {
		switch {
		case passing.MatchString(key), copied.MatchString(key):
		case isObject(value), confidential.Named([]string{"metadata", "annotations", key}, false), confidential.Text(value):
			c.leave(of, "annotation "+key)
		default:
			annotations[key] = finding.Redact(value)
		}
	}
	if len(labels) > 0 {
		o.SetLabels(labels)
	}
	if len(annotations) > 0 {
		o.SetAnnotations(annotations)
	}
	return o
}

var (
	// passing matches annotations that come and go, and say nothing of the object.
	passing = lazyregexp.New(`^argocd\.argoproj\.io/(refresh|hydrate|application-set-refresh)$|^notified\.notifications\.argoproj\.io|^deployment\.kubernetes\.io/revision$|^reloader\.`)
	// copied matches annotations in which tools keep the object as it was applied, of
	// kubectl, kapp, Rancher and kopf among others.
	copied = lazyregexp.New(`(?i)last-?applied|last-?handled|/(applied|original)|configuration$`)
)

// isObject reports whether a text may be an object or a list: what is in one has names of
// its own.
func isObject(text string) bool {
	return strings.ContainsAny(text, "\n{[")
}

// configMap keeps the settings that are known to be none that are secret.
func (c *cleaner) configMap(of *unstructured.Unstructured) *unstructured.Unstructured {
	o := named(of)
	data, _, _ := unstructured.NestedStringMap(of.Object, "data")
	kept := map[string]any{}
	for key, value := range data {
		if !installation.Public(of.GetName(), key, value) {
			c.leave(of, key)
			continue
		}
		kept[key] = finding.Redact(value)
	}
	o.Object["data"] = kept
	return o
}

// workload keeps the settings that a process is started with; nil where there are
// none.
func (c *cleaner) workload(of *unstructured.Unstructured) *unstructured.Unstructured {
	all, _, _ := unstructured.NestedSlice(of.Object, "spec", "template", "spec", "containers")
	var kept []any
	for _, one := range all {
		container, _ := one.(map[string]any)
		command, _, _ := unstructured.NestedStringSlice(container, "command")
		words, _, _ := unstructured.NestedStringSlice(container, "args")
		args := []any{}
		for _, word := range installation.Arguments(slices.Concat(command, words)) {
			args = append(args, word)
		}
		env := []any{}
		variables, _, _ := unstructured.NestedSlice(container, "env")
		for _, v := range variables {
			variable, _ := v.(map[string]any)
			name, _ := variable["name"].(string)
			if value, ok := variable["value"].(string); ok && installation.IsVariable(name) {
				env = append(env, map[string]any{"name": name, "value": value})
			}
		}
		if len(args)+len(env) > 0 {
			kept = append(kept, map[string]any{"name": container["name"], "args": args, "env": env})
		}
	}
	if len(kept) == 0 {
		return nil
	}
	o := named(of)
	_ = unstructured.SetNestedSlice(o.Object, kept, "spec", "template", "spec", "containers") // these are maps
	return o
}

// cluster keeps the name and the address of a cluster, and what selects it. How Argo
// CD gets in is in the rest.
func (c *cleaner) cluster(of *unstructured.Unstructured) *unstructured.Unstructured {
	o := c.labelled(of)
	data := map[string]any{}
	for _, key := range []string{"name", "server"} {
		encoded, _, _ := unstructured.NestedString(of.Object, "data", key)
		if value, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(value) > 0 {
			data[key] = finding.Redact(string(value))
		}
	}
	o.Object["stringData"] = data
	return o
}
