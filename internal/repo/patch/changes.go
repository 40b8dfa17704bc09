package patch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// Change is the new content of a file.
type Change struct {
	// File is relative to the root of the platform.
	File          string
	Before, After []byte
}

// Diff is the change as a unified diff, as git apply and patch -p1 take it in
// the root of the platform.
//
// In a file that may hold a Secret or credentials, only lines that say nothing but a
// key or what an object is called stand around a change. Where none stands behind one,
// the diff says that git apply needs --unidiff-zero.
func (c Change) Diff() string {
	before := string(c.Before)
	if !confidential.MatchString(before) {
		if text := c.unified(func(int) bool { return true }); finding.Redact(text) == text {
			return text
		}
	}
	plain := plainLines(before)
	return c.unified(func(line int) bool { return plain[line] })
}

// confidential finds files whose lines are not shown beside a change: Secrets,
// and values with a name that says what they are.
var confidential = lazyregexp.New(`(?im)^\s*-?\s*["']?kind["']?:\s*["']?Secret\b|(passw|secret|token|credential|apikey|api[-_]key|privatekey|private[-_]key)\w*["']?\s*[:=]`)

// Read returns the content of a file, by its path relative to the root of the
// platform.
type Read func(file string) ([]byte, error)

// Diff returns the unified diff of edits that belong together, or why they
// cannot be carried out.
func Diff(read Read, edits []finding.Edit) (string, error) {
	changes, refused := Combine(read, [][]finding.Edit{edits})
	if refused[0] != nil {
		return "", refused[0]
	}
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(c.Diff())
	}
	return b.String(), nil
}

// Combine carries out groups of edits, each whole or not at all. refused has the
// reason for every group that was left out, and nil for the others; of two that
// want different things the first wins. Changes are sorted by file.
func Combine(read Read, groups [][]finding.Edit) (changes []Change, refused []error) {
	c := &combination{read: read, files: map[string]*source{}, refused: make([]error, len(groups))}
	c.place(groups)
	// Leaving a group out can only help the others, so this ends.
	for {
		changes, failed := c.apply()
		if !failed {
			return changes, c.refused
		}
	}
}

type combination struct {
	read    Read
	files   map[string]*source
	edits   []placed
	refused []error
}

// source is a file as it is.
type source struct {
	content []byte
	err     error
}

// placed is an edit with the first line of what it is about, and its group.
type placed struct {
	finding.Edit
	group int
}

func (p placed) key() string {
	return fmt.Sprintf("%s\x00%d\x00%s", p.File, p.Line, strings.Join(p.Path, "\x00"))
}

// place finds what each edit is about, and refuses groups whose edits contradict
// an earlier one.
func (c *combination) place(groups [][]finding.Edit) {
	wanted := map[string]finding.Edit{}
	for i, group := range groups {
		var own []placed
		for _, e := range group {
			line, err := c.locate(e)
			if err != nil {
				c.refused[i] = err
				break
			}
			e.Line = line
			p := placed{e, i}
			if other, ok := wanted[p.key()]; ok && e.Op != finding.Append && (!slices.Equal(other.From, e.From) || other.Op != e.Op || other.Value != e.Value) {
				c.refused[i] = fmt.Errorf("%s:%d: another fix changes %s as well", e.File, e.Line, strings.Join(e.Path, "."))
				break
			}
			own = append(own, p)
		}
		if c.refused[i] != nil {
			continue
		}
		for _, p := range own {
			wanted[p.key()] = p.Edit
		}
		c.edits = append(c.edits, own...)
	}
	// From the last line to the first, so that no edit moves what another is about.
	slices.SortStableFunc(c.edits, func(a, b placed) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(b.Line, a.Line))
	})
}

// locate is the first line of the mapping that an edit is about.
func (c *combination) locate(e finding.Edit) (int, error) {
	s := c.file(e.File)
	if s.err != nil {
		return 0, s.err
	}
	text := string(s.content)
	documents, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.File, err)
	}
	root, err := target(text, documents, e.Line)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e.File, err)
	}
	return root.Line, nil
}

func (c *combination) file(name string) *source {
	if s, ok := c.files[name]; ok {
		return s
	}
	s := &source{}
	s.content, s.err = c.read(name)
	c.files[name] = s
	return s
}

// apply carries out the edits of all groups that are not refused. It stops at
// the first that fails, and refuses its group.
func (c *combination) apply() (changes []Change, failed bool) {
	texts := map[string]string{}
	done := map[string]finding.Edit{}
	for _, p := range c.edits {
		if c.refused[p.group] != nil {
			continue
		}
		if other, ok := done[p.key()]; ok && other.Op == p.Op && other.Value == p.Value {
			continue
		}
		text, ok := texts[p.File]
		if !ok {
			text = string(c.file(p.File).content)
		}
		text, err := Apply(text, p.Edit)
		if err != nil {
			c.refused[p.group] = fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
			return nil, true
		}
		texts[p.File], done[p.key()] = text, p.Edit
	}
	for name, text := range texts {
		if before := c.files[name].content; text != string(before) {
			changes = append(changes, Change{File: name, Before: before, After: []byte(text)})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.File, b.File) })
	return changes, false
}
