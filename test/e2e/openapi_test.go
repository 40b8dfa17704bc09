package e2e

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/plane"
)

// defineWidgets adds a kind of its own to a plane.
func defineWidgets(t *testing.T, p *plane.Plane, group, property string) {
	t.Helper()
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "widgets." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Widget", "plural": "widgets"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "properties": map[string]any{property: map[string]any{"type": "integer"}},
				}},
			}},
		},
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := dynamicOf(t, p).Resource(definitions).Create(t.Context(), &unstructured.Unstructured{Object: definition}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestPlaneDescribesItsAPI holds that the description of the API, which is made
// when it is first read, has all kinds, also those that are added later.
func TestPlaneDescribesItsAPI(t *testing.T) {
	t.Parallel()
	p, client := startPlane(t)
	defineWidgets(t, p, "early.example.com", "earlySize")
	described := func(path, word string) error {
		paths, err := client.Discovery().OpenAPIV3().Paths()
		if err != nil {
			return err
		}
		group, ok := paths[path]
		if !ok {
			return fmt.Errorf("%s is not listed among %d", path, len(paths))
		}
		text, err := group.Schema(runtime.ContentTypeJSON)
		if err != nil {
			return err
		}
		if !strings.Contains(string(text), word) {
			return fmt.Errorf("%s says nothing of %s", path, word)
		}
		return nil
	}
	eventually(t, func() error { return described("apis/early.example.com/v1", "earlySize") })
	for path, word := range map[string]string{
		"api/v1": "io.k8s.api.core.v1.Pod", "apis/apps/v1": "io.k8s.api.apps.v1.Deployment",
		"apis/apiregistration.k8s.io/v1": "APIService", "apis/apiextensions.k8s.io/v1": "CustomResourceDefinition",
	} {
		if err := described(path, word); err != nil {
			t.Error(err)
		}
	}
	defineWidgets(t, p, "late.example.com", "lateSize")
	eventually(t, func() error { return described("apis/late.example.com/v1", "lateSize") })

	eventually(t, func() error {
		document, err := client.Discovery().OpenAPISchema()
		if err != nil {
			return err
		}
		defined := map[string]bool{}
		for _, d := range document.GetDefinitions().GetAdditionalProperties() {
			defined[d.GetName()] = true
		}
		for _, name := range []string{
			"io.k8s.api.core.v1.Pod", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
			"com.example.early.v1.Widget", "com.example.late.v1.Widget",
		} {
			if !defined[name] {
				return fmt.Errorf("OpenAPI v2 has no %s among %d definitions", name, len(defined))
			}
		}
		return nil
	})
}

// TestPlaneMutatesByPolicy holds that a policy which applies a configuration finds
// the description of what it mutates, although nobody has read it before.
func TestPlaneMutatesByPolicy(t *testing.T) {
	t.Parallel()
	_, client := startPlane(t)
	admission := client.AdmissionregistrationV1()
	equivalent := admissionv1.Equivalent
	if _, err := admission.MutatingAdmissionPolicies().Create(t.Context(), &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "labels"},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Mutations: []admissionv1.Mutation{{
				PatchType:          admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}`},
			}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := admission.MutatingAdmissionPolicyBindings().Create(t.Context(), &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "labels"},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: "labels"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server learns of a policy through a watch.
	eventually(t, func() error {
		made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		}, metav1.CreateOptions{})
		if err == nil && made.Labels["mutated"] != "yes" {
			err = fmt.Errorf("the policy did not touch %s", made.Name)
		}
		return err
	})
}
