package repofs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The operations by which a process that may not open files asks one that may.
const (
	opRead = "tree/read"
	opList = "tree/list"
	opStat = "tree/stat"
	opFind = "tree/find"
	opRel  = "tree/rel"
)

// question is about a file or folder; Names are those that opFind looks for.
type question struct {
	Name  string   `json:"name"`
	Names []string `json:"names,omitempty"`
}

// answer is what a question gave.
type answer struct {
	Content []byte   `json:"content,omitempty"`
	Names   []string `json:"names,omitempty"`
	Path    string   `json:"path,omitempty"`
	IsFile  bool     `json:"isFile,omitempty"`
	IsDir   bool     `json:"isDir,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Answer answers a question of an Asked. ok is false for an operation that is not
// one of them.
func Answer(ctx context.Context, t *Tree, operation string, request []byte) (reply []byte, ok bool, err error) {
	if !slices.Contains([]string{opRead, opList, opStat, opFind, opRel}, operation) {
		return nil, false, nil
	}
	var q question
	if err := json.Unmarshal(request, &q); err != nil {
		return nil, true, errors.New("the question is malformed")
	}
	var a answer
	switch operation {
	case opRead:
		a.Content, err = t.Read(q.Name)
	case opList:
		a.Names, err = t.List(q.Name)
	case opStat:
		_, err = t.Resolve(q.Name, finding.Position{})
		a.IsFile, a.IsDir = t.IsFile(q.Name), t.IsDir(q.Name)
	case opFind:
		a.Names, err = t.Find(ctx, q.Name, func(name string) bool { return len(q.Names) == 0 || slices.Contains(q.Names, name) })
	case opRel:
		a.Path = t.Rel(q.Name)
	}
	if ctx.Err() != nil {
		return nil, true, context.Cause(ctx)
	}
	a.Failure = Fail(err)
	reply, err = json.Marshal(a)
	return reply, true, err
}

// Asked reads a Tree by questions to another process. It remembers the answers.
type Asked struct {
	ask   func(operation string, request []byte) ([]byte, error)
	known map[string]answer
}

// NewAsked returns an Asked. ask returns what Answer made of the question.
func NewAsked(ask func(operation string, request []byte) ([]byte, error)) *Asked {
	return &Asked{ask: ask, known: map[string]answer{}}
}

func (t *Asked) answer(operation, name string, names ...string) answer {
	key := strings.Join(append([]string{operation, name}, names...), "\x00")
	if known, ok := t.known[key]; ok {
		return known
	}
	var a answer
	request, err := json.Marshal(question{name, names})
	if err == nil {
		var reply []byte
		if reply, err = t.ask(operation, request); err == nil {
			err = json.Unmarshal(reply, &a)
		}
	}
	if err != nil {
		a.Failure = Fail(err)
	}
	t.known[key] = a
	return a
}

// Read returns the content of a file, as Tree.Read does.
func (t *Asked) Read(file string) ([]byte, error) {
	a := t.answer(opRead, file)
	return a.Content, a.Failure.Err()
}

// List returns the names in a folder, as Tree.List does.
func (t *Asked) List(dir string) ([]string, error) {
	a := t.answer(opList, dir)
	return a.Names, a.Failure.Err()
}

// Find returns every file at or below dir, as Tree.Find does: those that have one of
// the names, or all.
func (t *Asked) Find(dir string, names ...string) ([]string, error) {
	a := t.answer(opFind, dir, names...)
	return a.Names, a.Failure.Err()
}

// Check fails for a path that leads out of the repository, as Tree.Resolve does. at
// is the place that mentions the path; it may be empty.
func (t *Asked) Check(file string, at finding.Position) error {
	err := t.answer(opStat, file).Failure.Err()
	var input *InputError
	if at.File != "" && errors.As(err, &input) {
		input.Position = at
	}
	return err
}

// IsFile reports whether a regular file of the repository is there.
func (t *Asked) IsFile(file string) bool { return t.answer(opStat, file).IsFile }

// IsDir reports whether a folder of the repository is there.
func (t *Asked) IsDir(dir string) bool { return t.answer(opStat, dir).IsDir }

// Rel turns an absolute path into one relative to the root, as Tree.Rel does.
func (t *Asked) Rel(abs string) string { return t.answer(opRel, abs).Path }
