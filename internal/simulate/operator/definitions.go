package operator

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// makeDefinitions makes the definitions of a Crossplane
// CompositeResourceDefinition: that of the composite, and that of its claim.
// Their schemas accept what the XRD's do, and more: what Crossplane adds to
// them is not spelled out.
func (w *work) makeDefinitions(ctx context.Context) error {
	spec, _ := w.self.Object["spec"].(map[string]any)
	namespaced := strings.HasSuffix(w.self.GetAPIVersion(), "/v2")
	switch textOf(spec, "scope") {
	case "Namespaced":
		namespaced = true
	case "Cluster", "LegacyCluster":
		namespaced = false
	}
	names, _ := spec["names"].(map[string]any)
	if _, err := w.apply(ctx, xrdDefinition(spec, names, "composite", namespaced), true); err != nil {
		return err
	}
	if claim, ok := spec["claimNames"].(map[string]any); ok {
		if _, err := w.apply(ctx, xrdDefinition(spec, claim, "claim", true), true); err != nil {
			return err
		}
	}
	return nil
}

func xrdDefinition(spec, names map[string]any, category string, namespaced bool) *unstructured.Unstructured {
	names = runtime.DeepCopyJSON(names)
	if textOf(names, "singular") == "" {
		names["singular"] = strings.ToLower(textOf(names, "kind"))
	}
	if textOf(names, "listKind") == "" {
		names["listKind"] = textOf(names, "kind") + "List"
	}
	names["categories"] = []any{category}
	var versions []any
	for _, v := range listOf(spec, "versions") {
		v, ok := v.(map[string]any)
		if !ok {
			continue
		}
		served, _ := v["served"].(bool)
		storage, _ := v["referenceable"].(bool)
		versions = append(versions, openVersion(textOf(v, "name"), served, storage))
	}
	return newDefinition(textOf(spec, "group"), names, namespaced, versions)
}

func newDefinition(group string, names map[string]any, namespaced bool, versions []any) *unstructured.Unstructured {
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": textOf(names, "plural") + "." + group},
		"spec":     map[string]any{"group": group, "names": names, "scope": scope, "versions": versions},
	}}
}

// openVersion is a version that accepts anything.
func openVersion(name string, served, storage bool) map[string]any {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	return map[string]any{
		"name": name, "served": served, "storage": storage,
		"subresources": map[string]any{"status": map[string]any{}},
		"schema": map[string]any{"openAPIV3Schema": map[string]any{
			"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			"properties": map[string]any{"spec": open, "status": open},
		}},
	}
}

// install makes what an installer makes once its workload is available. What is
// there already is left alone: the repository's own definitions have schemas.
func (e *Engine) install(ctx context.Context, name string) (time.Duration, error) {
	i, err := strconv.Atoi(name)
	installers := e.rules.Load().Installers
	if err != nil || i >= len(installers) {
		return 0, nil //nolint:nilerr // a key of rules that have been replaced
	}
	in := installers[i]
	workload, ok := e.workloads.Find("installer/"+name+in.Source, in.Controller)
	if !ok || !workload.Available {
		return 0, nil
	}
	self, err := runtime.DefaultUnstructuredConverter.ToUnstructured(workload.Object)
	if err != nil {
		return 0, fmt.Errorf("read %s %s/%s: %w", workload.Kind, workload.Namespace, workload.Name, err)
	}
	var objects []*unstructured.Unstructured
	for _, d := range in.Definitions {
		var versions []any
		for n, v := range d.Versions {
			versions = append(versions, openVersion(v, true, n == len(d.Versions)-1))
		}
		names := map[string]any{"kind": d.Kind, "plural": d.Plural, "singular": strings.ToLower(d.Kind), "listKind": d.Kind + "List"}
		objects = append(objects, newDefinition(d.Group, names, !d.Cluster, versions))
	}
	scope := rule.Scope{"self": self, "vars": map[string]any{}, "refs": map[string]any{}}
	for i := range in.ChildRules {
		made, err := expand(ctx, &in.ChildRules[i], scope)
		if err != nil {
			return 0, fmt.Errorf("installer %s: objects[%d]: %w", in.Name, i, err)
		}
		objects = append(objects, made...)
	}
	for _, o := range objects {
		if err := e.create(ctx, o, workload.Namespace); err != nil {
			return 0, fmt.Errorf("installer %s: %w", in.Name, err)
		}
	}
	return 0, nil
}

func (e *Engine) create(ctx context.Context, o *unstructured.Unstructured, namespace string) error {
	gvr, namespaced := definitionResource, false
	if o.GetKind() != "CustomResourceDefinition" {
		var err error
		if gvr, namespaced, err = e.resource(o.GroupVersionKind()); err != nil {
			return err
		}
	}
	var err error
	if namespaced {
		if o.GetNamespace() == "" {
			o.SetNamespace(namespace)
		}
		_, err = e.world.Dynamic.Resource(gvr).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = e.world.Dynamic.Resource(gvr).Create(ctx, o, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// installerID stands for installers in keys, in place of a kind.
const installerID = "installer"
