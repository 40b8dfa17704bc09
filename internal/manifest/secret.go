package manifest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/finding"
)

// Redacted stands where the value of a Secret would.
const Redacted = "[redacted]"

// lastApplied holds a whole object, with the values of a Secret. Source: kubectl
// apply.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// WithoutSecrets returns a copy of an object that may be shown: a Secret with its
// names and keys but not its values, any object without the credentials of the
// addresses it names.
func WithoutSecrets(object map[string]any) map[string]any {
	shown := (&unstructured.Unstructured{Object: object}).DeepCopy()
	shown.Object, _ = withoutCredentials(shown.Object).(map[string]any)
	if kind, _ := object["kind"].(string); kind != "Secret" || object["apiVersion"] != "v1" {
		return shown.Object
	}
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

// withoutCredentials takes the credentials out of every text of a value, which it
// changes.
func withoutCredentials(value any) any {
	switch v := value.(type) {
	case string:
		return finding.Redact(v)
	case map[string]any:
		for key, inner := range v {
			v[key] = withoutCredentials(inner)
		}
	case []any:
		for i, inner := range v {
			v[i] = withoutCredentials(inner)
		}
	}
	return value
}
