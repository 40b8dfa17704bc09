package manifest

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/finding"
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
	kept, _ := KeysOnly(object)
	shown := (&unstructured.Unstructured{Object: kept}).DeepCopy()
	shown.Object, _ = withoutCredentials(shown.Object).(map[string]any)
	return shown.Object
}

// PublicFields are the fields of a Secret that hold no secret. What else stands in one,
// a misspelt field too, is taken for a value.
var PublicFields = []string{"apiVersion", "kind", "metadata", "type", "immutable"}

// KeysOnly returns a Secret with its keys but not its values, and whether there
// were any. Anything else is returned as it is. The object is not changed.
func KeysOnly(object map[string]any) (kept map[string]any, had bool) {
	if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
		return object, false
	}
	kept = maps.Clone(object)
	for field, value := range kept {
		if slices.Contains(PublicFields, field) || value == nil {
			continue
		}
		values, ok := value.(map[string]any)
		if ok && len(values) == 0 {
			continue
		}
		had = true
		kept[field] = Redacted
		if ok && (field == "data" || field == "stringData") {
			keys := make(map[string]any, len(values))
			for key := range values {
				keys[key] = Redacted
			}
			kept[field] = keys
		}
	}
	metadata, _ := kept["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations[lastApplied] != nil {
		had = true
		annotations, metadata = maps.Clone(annotations), maps.Clone(metadata)
		annotations[lastApplied] = Redacted
		metadata["annotations"], kept["metadata"] = annotations, metadata
	}
	return kept, had
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
