package child

import (
	"io"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// refusedValue is how the API server logs an object whose values have another
// type than the schema: with the values, also those of Secrets. Source:
// sigs.k8s.io/structured-merge-diff/v6/typed, "expected %s, got %v".
var refusedValue = lazyregexp.New(`(?s)(expected [a-z ]+, got )[^\n].*`)

// WithoutValues leaves refused values out of a log. Every Write is one message.
type WithoutValues struct{ Out io.Writer }

// Write implements io.Writer.
func (w WithoutValues) Write(message []byte) (int, error) {
	if _, err := w.Out.Write(refusedValue.ReplaceAll(message, []byte("${1}[redacted]\n"))); err != nil {
		return 0, err
	}
	return len(message), nil
}
