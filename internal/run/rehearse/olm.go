package rehearse

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
)

const (
	olmGroup      = "operators.coreos.com"
	olmNamespace  = "openshift-operator-lifecycle-manager"
	sourcesOfOLM  = "openshift-marketplace"
	globalOfOLM   = "openshift-operators"
	definitionOf  = "subscriptions." + olmGroup
	olmController = "catalog-operator"
)

// clusterHasOLM reports whether the cluster is taken to have the Operator Lifecycle
// Manager, as OpenShift has: a platform has Subscriptions, and nothing of it brings
// their CRD.
func clusterHasOLM(loaded *analysis.Result) bool {
	if len(loaded.Installations) == 0 {
		return false
	}
	for _, objects := range loaded.Objects {
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" && o.GetName() == definitionOf {
				return false
			}
		}
	}
	return true
}

// toldOfOLM says what a rehearsal takes for granted of OLM and its packages.
func toldOfOLM(loaded *analysis.Result) []finding.Finding {
	var out []finding.Finding
	tell := func(i int, severity finding.Severity, text string) {
		at := loaded.Installations[i].Subscription
		out = append(out, finding.Finding{Rule: "assumed", Severity: severity, Scope: finding.Rule, Component: at.Component, Resource: at.Object,
			Position: at.Position, Basis: finding.Catalogue, Message: text})
	}
	if clusterHasOLM(loaded) {
		tell(0, finding.Warning, "the cluster is taken to have the Operator Lifecycle Manager with the catalogues of OpenShift, since nothing here brings its CRDs")
	}
	told := map[string]bool{}
	for i, in := range loaded.Installations {
		if told[in.Package] {
			continue
		}
		told[in.Package] = true
		if in.Known == "" {
			tell(i, finding.Warning, fmt.Sprintf("package %s is not known: the rehearsal lets its ClusterServiceVersion succeed, and makes no CRDs and nothing that runs", in.Package))
			continue
		}
		tell(i, finding.Info, fmt.Sprintf("the CRDs that package %s brings accept any field in the rehearsal: their names are known and not their schemas, %s", in.Package, in.Known))
	}
	return out
}

// applyOLM puts onto the plane what a cluster with OLM has from the beginning.
func applyOLM(ctx context.Context, access *rest.Config, loaded *analysis.Result) error {
	if !clusterHasOLM(loaded) {
		return nil
	}
	client, err := dynamic.NewForConfig(access)
	if err != nil {
		return err
	}
	for _, o := range clusterOLM() {
		gvk := o.GroupVersionKind()
		var resource dynamic.ResourceInterface = client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"})
		if ns := o.GetNamespace(); ns != "" {
			resource = client.Resource(schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"}).Namespace(ns)
		}
		var last error
		err := wait.ExponentialBackoffWithContext(ctx, applyPatience(), func(context.Context) (bool, error) {
			_, last = resource.Create(ctx, o, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(last) {
				last = nil
			}
			// A kind is served moments after its CRD.
			if apierrors.IsNotFound(last) || engine.Transient(last) {
				return false, nil
			}
			return true, last
		})
		if last != nil {
			err = last
		}
		if err != nil {
			return fmt.Errorf("make %s %s: %w", gvk.Kind, o.GetName(), err)
		}
	}
	return nil
}

// clusterOLM are the objects of OLM on OpenShift: its CRDs, which accept anything, the
// controller, the catalogues and the OperatorGroup for all namespaces. Source:
// OpenShift, "Understanding OperatorHub", "Operator groups".
func clusterOLM() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	add := func(object map[string]any) { out = append(out, &unstructured.Unstructured{Object: object}) }
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	for _, o := range catalogue.Operators() {
		for _, crd := range o.Kinds {
			if crd.Group != olmGroup {
				continue
			}
			var versions []any
			for i, v := range crd.Versions {
				versions = append(versions, map[string]any{
					"name": v, "served": true, "storage": i == 0, "subresources": map[string]any{"status": map[string]any{}},
					"schema": map[string]any{"openAPIV3Schema": open},
				})
			}
			scope := "Namespaced"
			if crd.ClusterWide {
				scope = "Cluster"
			}
			add(map[string]any{
				"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": crd.Plural + "." + crd.Group},
				"spec": map[string]any{
					"group": crd.Group, "scope": scope, "versions": versions,
					"names": map[string]any{"kind": crd.Kind, "listKind": crd.Kind + "List", "plural": crd.Plural, "singular": strings.ToLower(crd.Kind)},
				},
			})
		}
	}
	for _, name := range []string{olmNamespace, sourcesOfOLM, globalOfOLM} {
		add(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}})
	}
	labels := map[string]any{"app": olmController}
	add(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": olmController, "namespace": olmNamespace},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "quay.io/operator-framework/olm"}}},
			},
		},
	})
	for _, name := range []string{"redhat-operators", "certified-operators", "community-operators", "redhat-marketplace"} {
		add(map[string]any{
			"apiVersion": olmGroup + "/v1alpha1", "kind": "CatalogSource", "metadata": map[string]any{"name": name, "namespace": sourcesOfOLM},
			"spec": map[string]any{"sourceType": "grpc"},
		})
	}
	add(map[string]any{
		"apiVersion": olmGroup + "/v1", "kind": "OperatorGroup", "metadata": map[string]any{"name": "global-operators", "namespace": globalOfOLM}, "spec": map[string]any{},
	})
	return out
}
