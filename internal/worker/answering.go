package worker

import (
	"context"
	"encoding/json"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
)

// answering is a method that needs nothing but its question.
func answering[Q, A any](compute func(Q) (A, error)) confine.Method {
	return func(_ context.Context, body []byte, _ *confine.Parent) ([]byte, error) {
		var question Q
		if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &question); err != nil {
			return nil, err
		}
		answer, err := compute(question)
		if err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	}
}

// maxKept bounds the texts that a worker keeps what it has compiled of, in bytes:
// what one repository file leaves behind must not be what another one dies of.
const maxKept = 1 << 20

// kept is what a worker has compiled, by its text. A worker is at one of the calls that
// use it at a time: none of them is Together.
type kept[T any] struct {
	by   map[string]T
	size int
}

// get returns what is kept of a text, or compiles it.
func (k *kept[T]) get(text string, compile func() (T, error)) (T, error) {
	if compiled, ok := k.by[text]; ok {
		return compiled, nil
	}
	compiled, err := compile()
	if err != nil || len(text) > maxKept {
		return compiled, err
	}
	if k.size += len(text); k.by == nil || k.size > maxKept {
		k.by, k.size = map[string]T{}, len(text)
	}
	k.by[text] = compiled
	return compiled, nil
}
