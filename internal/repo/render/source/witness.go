package source

import "strings"

// Witness records what is asked of a view of any kind, equal questions too: a view may note something
// while it answers, and has to be asked the same in the same order for it. It is for one goroutine.
type Witness struct {
	View
	trace      Trace
	confidence confidence
}

// Trace returns the questions in their order. ok is false where the result must not be cached: it may hold the
// value of a Secret outside of a Secret.
func (w *Witness) Trace() (trace Trace, ok bool) { return w.trace, !w.confidence.broken() }

func (w *Witness) record(op, name, answered string, err error) {
	w.trace = append(w.trace, Step{Op: op, Path: name, Answer: answer(answered, err)})
}

// Read implements View.
func (w *Witness) Read(name string) ([]byte, error) {
	data, err := w.View.Read(name)
	w.record("read", name, digest(data), err)
	w.confidence.saw(name, data)
	return data, err
}

// List implements View.
func (w *Witness) List(name string) ([]string, error) {
	names, err := w.View.List(name)
	w.record("list", name, digest([]byte(strings.Join(names, "\x00"))), err)
	return names, err
}

// Stat implements View.
func (w *Witness) Stat(name string) (Kind, error) {
	kind, err := w.View.Stat(name)
	w.record("stat", name, string(kind), err)
	return kind, err
}

// Resolve implements View.
func (w *Witness) Resolve(name string) (string, error) {
	resolved, err := w.View.Resolve(name)
	w.record("resolve", name, resolved, err)
	return resolved, err
}

// Repeats asks a view what a trace has, in the same order, and reports whether it answers the same.
func (t Trace) Repeats(v View) bool {
	w := Witness{View: v}
	for i, step := range t {
		switch step.Op {
		case "read":
			_, _ = w.Read(step.Path)
		case "list":
			_, _ = w.List(step.Path)
		case "stat":
			_, _ = w.Stat(step.Path)
		default:
			_, _ = w.Resolve(step.Path)
		}
		if w.trace[i] != step {
			return false
		}
	}
	return true
}
