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

// How much CPU time an answer may take; tests shorten them.
var (
	// smallTime is that of a script, an expression or the template of a rule.
	smallTime = time.Second
	// fileTime is that of a file of rules.
	fileTime = 10 * time.Second
)

// maxAnswer bounds what one of them may make, in bytes of JSON.
const maxAnswer = 4 << 20

// Ask has a worker compute an answer that takes little time: see ask.
func Ask[Q, A any](ctx context.Context, method string, question Q) (A, error) {
	return ask[Q, A](ctx, method, question, smallTime)
}

// AskOfFile has a worker compute an answer about a whole file: see ask.
func AskOfFile[Q, A any](ctx context.Context, method string, question Q) (A, error) {
	return ask[Q, A](ctx, method, question, fileTime)
}

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
