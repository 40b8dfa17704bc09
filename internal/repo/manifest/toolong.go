package manifest

import (
	"encoding/json"
	"maps"
)

// MostAnnotated is the length of all annotations of an object that the API server takes, in
// bytes. A client-side apply copies the object into one of them. Source:
// k8s.io/apimachinery, pkg/api/validation, TotalAnnotationSizeLimitB.
const MostAnnotated = 256 << 10

// IsTooLong reports whether an object is too long for the annotation that a client-side
// apply writes, and how long it is as JSON, in bytes. The status of a definition does not
// count, nor does what an earlier apply has written into that annotation.
func IsTooLong(object map[string]any) (length int, tooLong bool) {
	object = maps.Clone(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
			delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
			metadata["annotations"] = annotations
			object["metadata"] = metadata
		}
	}
	text, err := json.Marshal(object)
	return len(text), err == nil && len(text) > MostAnnotated
}
