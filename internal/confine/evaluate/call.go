package evaluate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine"
)

// smallTime is how much CPU time a script, an expression or the template of a rule
// may take; tests shorten it.
var smallTime = time.Second

// maxAnswer bounds what one of them may make, in bytes of JSON.
const maxAnswer = 4 << 20

// ask has a worker compute an answer. Its errors are for people, or the cause of
// ctx.
func ask[Q, A any](ctx context.Context, method string, question Q, limit time.Duration) (answer A, err error) {
	if ctx.Err() != nil {
		return answer, context.Cause(ctx)
	}
	body, err := json.Marshal(question)
	if err != nil {
		return answer, fmt.Errorf("ask a worker: %w", err)
	}
	same := func() [sha256.Size]byte { return identity(method, question, body) }
	if endless.holds(same) {
		return answer, overTime(limit)
	}
	data, err := Workers.Do(ctx, confine.Call{Method: method, Request: body, Time: limit})
	if over := (*confine.LimitError)(nil); errors.As(err, &over) && over.Limit == confine.Time {
		endless.add(same())
		return answer, overTime(limit)
	}
	if err != nil {
		return answer, err
	}
	if len(data) > maxAnswer {
		return answer, fmt.Errorf("makes more than %d MiB", maxAnswer>>20)
	}
	// Whole numbers stay whole.
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &answer); err != nil {
		return answer, fmt.Errorf("read the answer of a worker: %w", err)
	}
	return answer, nil
}

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
