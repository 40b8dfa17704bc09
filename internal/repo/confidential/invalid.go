package confidential

import (
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// invalid is how an API server quotes a value that it refuses. Source:
// k8s.io/apimachinery/pkg/util/validation/field, Error.ErrorBody.
var invalid = lazyregexp.New(`(Invalid value|Unsupported value|Duplicate value): "((?:[^"\\]|\\.)*)"`)

// Invalid takes what looks like a secret out of the words of an API server about an
// object that is not known here.
func Invalid(message string) string {
	return invalid.ReplaceAllStringFunc(message, func(text string) string {
		m := invalid.FindStringSubmatch(text)
		if plain(m[2]) {
			return text
		}
		return m[1] + ": " + manifest.Redacted
	})
}
