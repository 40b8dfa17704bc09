package repofs

import (
	"errors"
	"io/fs"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Failure is an error on its way to another process: its InputErrors, or a text
// where there are none. Of their causes only a missing file is kept.
type Failure struct {
	Inputs []inputFailure `json:"inputs,omitempty"`
	Text   string         `json:"text,omitempty"`
}

type inputFailure struct {
	Position finding.Position `json:"position"`
	Message  string           `json:"message"`
	Hint     string           `json:"hint,omitempty"`
	Missing  bool             `json:"missing,omitempty"`
}

// Fail makes a Failure of an error, and nil of none.
func Fail(err error) *Failure {
	if err == nil {
		return nil
	}
	f := &Failure{}
	for _, e := range InputErrors(err) {
		f.Inputs = append(f.Inputs, inputFailure{e.Position, e.Message, e.Hint, errors.Is(e, fs.ErrNotExist)})
	}
	if len(f.Inputs) == 0 {
		f.Text = err.Error()
	}
	return f
}

// Err is the error, nil for no Failure.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	if len(f.Inputs) == 0 {
		return errors.New(f.Text)
	}
	all := make([]error, len(f.Inputs))
	for i, in := range f.Inputs {
		e := &InputError{Position: in.Position, Message: in.Message, Hint: in.Hint}
		if in.Missing {
			e.Err = fs.ErrNotExist
		}
		all[i] = e
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}
