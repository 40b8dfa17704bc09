package source

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// The operations by which a process that may not open files asks one that may.
const (
	opRead    = "read"
	opList    = "list"
	opStat    = "stat"
	opResolve = "resolve"
)

// maxAnswer is how much one answer holds, in bytes, unless a single file is larger.
const maxAnswer = 32 << 20

// refusal is an error of a View on its way to another process.
type refusal struct {
	Missing bool   `json:"missing,omitempty"`
	Escape  bool   `json:"escape,omitempty"`
	Limit   int64  `json:"limit,omitempty"` // of an *SizeError
	Path    string `json:"path,omitempty"`
	Text    string `json:"text,omitempty"`
}

func refuse(err error) refusal {
	var escape *EscapeError
	var size *SizeError
	var failed *fs.PathError
	switch {
	case errors.As(err, &escape):
		return refusal{Escape: true, Path: escape.Path}
	case errors.As(err, &size):
		return refusal{Limit: size.Limit, Path: size.Path}
	case errors.As(err, &failed):
		return refusal{Missing: errors.Is(err, fs.ErrNotExist), Path: failed.Path, Text: failed.Err.Error()}
	default:
		return refusal{Missing: errors.Is(err, fs.ErrNotExist), Text: err.Error()}
	}
}

func (r refusal) error() error {
	switch {
	case r.Escape:
		return &EscapeError{Path: r.Path}
	case r.Limit > 0:
		return &SizeError{Path: r.Path, Limit: r.Limit}
	case r.Missing:
		return &fs.PathError{Op: "open", Path: r.Path, Err: fs.ErrNotExist}
	case r.Path != "":
		return &fs.PathError{Op: "read", Path: r.Path, Err: errors.New(r.Text)}
	default:
		return errors.New(r.Text)
	}
}

// Answer answers a question of an Asked view. ok is false for an operation that is
// not one of a View.
func Answer(v View, operation string, request []byte) (answer []byte, ok bool, err error) {
	var names []string
	switch operation {
	case opRead, opList, opStat, opResolve:
	default:
		return nil, false, nil
	}
	if err := json.Unmarshal(request, &names); err != nil || len(names) == 0 {
		return nil, true, errors.New("the question is malformed")
	}
	for _, name := range names {
		data, err := one(v, operation, name)
		if answer = appendPart(answer, data, err); len(answer) > maxAnswer {
			break // the rest is asked for again
		}
	}
	return answer, true, nil
}

// one answers a question about one name.
func one(v View, operation, name string) (data []byte, err error) {
	switch operation {
	case opRead:
		return v.Read(name)
	case opList:
		all, err := v.List(name)
		if err != nil {
			return nil, err
		}
		return json.Marshal(all)
	case opStat:
		kind, err := v.Stat(name)
		return []byte(kind), err
	default:
		resolved, err := v.Resolve(name)
		return []byte(resolved), err
	}
}

// The first byte of a part says what it is.
const (
	partData    = 0
	partRefusal = 1
)

func appendPart(answer, data []byte, err error) []byte {
	first := byte(partData)
	if err != nil {
		first = partRefusal
		data, _ = json.Marshal(refuse(err)) // texts and numbers only
	}
	answer = append(answer, first)
	answer = binary.BigEndian.AppendUint32(answer, uint32(len(data))) //nolint:gosec // MaxFile is less
	return append(answer, data...)
}

// cutPart reads the first part of an answer.
func cutPart(answer []byte) (p part, rest []byte, ok bool) {
	if len(answer) < 5 || len(answer)-5 < int(binary.BigEndian.Uint32(answer[1:])) {
		return part{}, nil, false
	}
	n := int(binary.BigEndian.Uint32(answer[1:]))
	p = part{data: answer[5 : 5+n : 5+n]}
	if answer[0] == partRefusal {
		var r refusal
		if err := json.Unmarshal(p.data, &r); err != nil {
			r.Text = err.Error()
		}
		p = part{err: r.error()}
	}
	return p, answer[5+n:], true
}

// Asked is a View by questions to another process. It remembers the answers.
type Asked struct {
	ask    func(operation string, request []byte) ([]byte, error)
	known  map[string]map[string]part // by operation and name
	remote bool
}

type part struct {
	data []byte
	err  error
}

// NewAsked returns a View that asks. ask returns what Answer made of the question.
func NewAsked(ask func(operation string, request []byte) ([]byte, error)) *Asked {
	return &Asked{ask: ask, known: map[string]map[string]part{}}
}

func (a *Asked) one(operation, name string) ([]byte, error) {
	name = path.Clean(name)
	a.fetch(operation, []string{name})
	p := a.known[operation][name]
	return p.data, p.err
}

// fetch asks for what is not known yet.
func (a *Asked) fetch(operation string, names []string) {
	known := a.known[operation]
	if known == nil {
		known = map[string]part{}
		a.known[operation] = known
	}
	var unknown []string
	for _, name := range names {
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	for len(unknown) > 0 {
		request, err := json.Marshal(unknown)
		var answer []byte
		if err == nil {
			answer, err = a.ask(operation, request)
		}
		answered := 0
		for answered < len(unknown) {
			p, rest, ok := cutPart(answer)
			if !ok {
				break
			}
			known[unknown[answered]] = p
			answer = rest
			answered++
		}
		if answered == 0 {
			if err == nil {
				err = errors.New("the answer is malformed")
			}
			for _, name := range unknown {
				known[name] = part{err: fmt.Errorf("%s %s: %w", operation, name, err)}
			}
			return
		}
		unknown = unknown[answered:]
	}
}

// Read implements View.
func (a *Asked) Read(name string) ([]byte, error) { return a.one(opRead, name) }

// ReadAhead asks for the content of several files at once.
func (a *Asked) ReadAhead(names []string) { a.fetch(opRead, names) }

// List implements View.
func (a *Asked) List(name string) ([]string, error) {
	data, err := a.one(opList, name)
	if err != nil {
		return nil, err
	}
	var names []string
	err = json.Unmarshal(data, &names)
	return names, err
}

// Stat implements View.
func (a *Asked) Stat(name string) (Kind, error) {
	data, err := a.one(opStat, name)
	return Kind(data), err
}

// Resolve implements View.
func (a *Asked) Resolve(name string) (string, error) {
	data, err := a.one(opResolve, name)
	return string(data), err
}

// MarkRemote implements View.
func (a *Asked) MarkRemote() { a.remote = true }

// Remote reports whether something from outside the repository was used.
func (a *Asked) Remote() bool { return a.remote }

// Each calls visit for every file that was read, in the order of their names.
func (a *Asked) Each(visit func(name string, data []byte)) {
	for _, name := range slices.Sorted(maps.Keys(a.known[opRead])) {
		if p := a.known[opRead][name]; p.err == nil {
			visit(name, p.data)
		}
	}
}

// ReadAhead tells a view which files will be read next, where it gains by that.
func ReadAhead(v View, names []string) {
	if a, ok := v.(*Asked); ok {
		a.ReadAhead(names)
	}
}
