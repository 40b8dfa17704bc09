package importer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// rewrite makes the new texts.
func (w *waves) rewrite() error {
	for _, f := range w.files {
		text, err := w.apply(f)
		if err != nil {
			return err
		}
		if text != f.text {
			w.out.Changes = append(w.out.Changes, patch.Change{File: f.name, Before: []byte(f.text), After: []byte(text)})
		}
	}
	slices.SortFunc(w.out.Changes, func(a, b patch.Change) int { return cmp.Compare(a.File, b.File) })
	return nil
}

// maxWritten is how much the edits of one file may write, in bytes.
const maxWritten = 64 << 20

// apply carries out the edits of a file from the last to the first, each on its own
// characters, and proves that nothing else changed.
func (w *waves) apply(f *waveFile) (string, error) {
	slices.SortFunc(f.edits, func(a, b waveEdit) int {
		return cmp.Or(cmp.Compare(b.node.Line, a.node.Line), cmp.Compare(b.node.Column, a.node.Column))
	})
	lines := strings.SplitAfter(f.text, "\n")
	var undo []func()
	written := 0
	for _, e := range f.edits {
		// Each edit writes its line anew.
		if e.node.Line >= 1 && e.node.Line <= len(lines) {
			written += len(lines[e.node.Line-1])
		}
		if written > maxWritten {
			return "", &repofs.InputError{Position: finding.Position{File: f.name, Line: e.node.Line}, Message: "too much of a long line would change", Hint: "write it over several lines"}
		}
		text := e.text
		if e.is {
			text = w.phases[e.wave].String()
		}
		if err := replaceScalar(lines, e.node, text, e.is); err != nil {
			return "", &repofs.InputError{Position: finding.Position{File: f.name, Line: e.node.Line}, Message: err.Error(), Hint: "change the line by hand"}
		}
		node, before, tag := e.node, e.node.Value, e.node.Tag
		undo = append(undo, func() { node.Value, node.Tag = before, tag })
	}
	after := strings.Join(lines, "")
	_, err := yamldoc.Parse(f.name, []byte(after))
	for _, u := range undo {
		u()
	}
	if err != nil {
		return "", fmt.Errorf("rewrite %s: %w", f.name, err)
	}
	return after, w.same(f, after)
}

// replaceScalar writes another text over a scalar, in its quotes. A phase is quoted:
// 010 would be the number 8.
func replaceScalar(lines []string, n *yaml.Node, text string, phase bool) error {
	if n.Line < 1 || n.Line > len(lines) {
		return errors.New("the value is not in the file")
	}
	line := lines[n.Line-1]
	start := 0
	for range n.Column - 1 {
		_, size := decodeRune(line[start:])
		start += size
	}
	written := line[start:]
	quote := ""
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		quote = `"`
	case n.Style&yaml.SingleQuotedStyle != 0:
		quote = `'`
	}
	old := quote + n.Value + quote
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 || !strings.HasPrefix(written, old) {
		return errors.New("the value is not written plainly on one line")
	}
	fresh := quote + text + quote
	if phase && quote == "" {
		fresh = `"` + text + `"`
	}
	lines[n.Line-1] = line[:start] + fresh + written[len(old):]
	return nil
}

func decodeRune(s string) (rune, int) {
	for _, r := range s {
		return r, len(string(r))
	}
	return 0, 0
}

// same proves that a text has the tree of the one before, the edits aside.
func (w *waves) same(f *waveFile, after string) error {
	before, err := scalars(f.text)
	if err != nil {
		return err
	}
	now, err := scalars(after)
	if err != nil {
		return err
	}
	edited := map[[2]int]bool{}
	for _, e := range f.edits {
		edited[[2]int{e.node.Line, e.node.Column}] = true
	}
	if len(before) != len(now) {
		return fmt.Errorf("rewrite %s: the text would mean something else", f.name)
	}
	for i := range before {
		if !edited[[2]int{before[i].Line, before[i].Column}] && (before[i].Value != now[i].Value || before[i].Kind != now[i].Kind || before[i].ShortTag() != now[i].ShortTag()) {
			return fmt.Errorf("rewrite %s: line %d would mean something else", f.name, before[i].Line)
		}
	}
	return nil
}

// scalars are all nodes of a text, in order.
func scalars(text string) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var all []*yaml.Node
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		all = append(all, n)
		for _, child := range n.Content {
			walk(child)
		}
	}
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the text again: %w", err)
		}
		walk(&n)
	}
}

// Diff is what would change, as a unified diff.
func (r *Rewriting) Diff() string {
	var b strings.Builder
	for _, c := range r.Changes {
		b.WriteString(c.Diff())
	}
	return b.String()
}

// Write changes the files, all of them or none.
func (r *Rewriting) Write() error {
	return patch.Write(r.Changes, func(file string) (string, error) {
		abs, err := r.tree.Resolve(file, finding.Position{})
		if err != nil {
			return "", err
		}
		target := &Target{Folder: r.tree.Root, shown: "."}
		// A link would change a file of another name.
		if direct, err := target.resolve(file); err != nil || direct != abs {
			return "", errors.Join(err, &repofs.InputError{Position: finding.Position{File: file}, Message: "is reached through a symbolic link", Hint: "nothing is written through links"})
		}
		return abs, nil
	})
}

// valueOf is the value of a key of a mapping; nil where it has none.
func valueOf(m *yaml.Node, key string) *yaml.Node {
	_, v := entryOf(m, key)
	return v
}

func entryOf(m *yaml.Node, key string) (k, v *yaml.Node) {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

func pathOf(m *yaml.Node, keys ...string) *yaml.Node {
	for _, key := range keys {
		m = valueOf(m, key)
	}
	return m
}
