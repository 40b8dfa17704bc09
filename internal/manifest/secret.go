package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Redacted stands where the value of a Secret would.
const Redacted = "[redacted]"

// lastApplied holds a whole object, with the values of a Secret. Source: kubectl
// apply.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// WithoutSecrets returns what may be shown of an object: of a Secret a copy with
// its names and keys but not its values, of any other the object as it is.
func WithoutSecrets(object map[string]any) map[string]any {
	if kind, _ := object["kind"].(string); kind != "Secret" || object["apiVersion"] != "v1" {
		return object
	}
	shown := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, field := range []string{"data", "stringData"} {
		switch values := shown.Object[field].(type) {
		case nil:
		case map[string]any:
			for key := range values {
				values[key] = Redacted
			}
		default:
			shown.Object[field] = Redacted
		}
	}
	if annotations, ok, _ := unstructured.NestedMap(shown.Object, "metadata", "annotations"); ok && annotations[lastApplied] != nil {
		_ = unstructured.SetNestedField(shown.Object, Redacted, "metadata", "annotations", lastApplied)
	}
	return shown.Object
}
