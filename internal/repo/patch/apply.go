package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Apply carries out one edit on the text of its file. Text that cannot be edited
// (no YAML, a path through an alias, a value over several lines) is an error.
func Apply(text string, e finding.Edit) (string, error) {
	if strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		// To YAML they end lines, to everybody else they do not.
		return "", errors.New("the file has unusual line ends")
	}
	steps, err := expand(text, e)
	if err != nil {
		return "", err
	}
	for _, step := range steps {
		if text, err = apply(text, step); err != nil {
			return "", err
		}
	}
	return text, nil
}

// expand turns an edit whose value is in the file into edits that say theirs.
func expand(text string, e finding.Edit) ([]finding.Edit, error) {
	path := e.Path
	switch e.Op {
	case finding.Quote:
	case finding.Move:
		path = e.From
	default:
		return []finding.Edit{e}, nil
	}
	documents, err := parse(text)
	if err != nil {
		return nil, err
	}
	node, err := target(text, documents, e.Line)
	if err != nil {
		return nil, err
	}
	for _, key := range path {
		if _, node = entry(node, key); node == nil {
			return nil, fmt.Errorf("%s: there is no %s", e.Op, strings.Join(path, "."))
		}
	}
	if node.Kind != yaml.ScalarNode {
		return nil, fmt.Errorf("%s: %s is no scalar", e.Op, strings.Join(path, "."))
	}
	set := finding.Edit{File: e.File, Line: e.Line, Op: finding.Set, Path: e.Path, Value: strconv.Quote(node.Value)}
	if e.Op == finding.Quote {
		return []finding.Edit{set}, nil
	}
	remove := set
	remove.Op, remove.Path, remove.Value = finding.Remove, e.From, ""
	return []finding.Edit{set, remove}, nil
}

// apply carries out an edit that says its value.
func apply(text string, e finding.Edit) (string, error) {
	documents, err := parse(text)
	if err != nil {
		return "", err
	}
	root, err := target(text, documents, e.Line)
	if err != nil {
		return "", err
	}
	t := &editor{lines: strings.SplitAfter(text, "\n"), newline: newline(text)}
	switch {
	case len(e.Path) == 0:
		err = errors.New("the edit has no path")
	case e.Op == finding.Set:
		err = t.set(root, e.Path, e.Value)
	case e.Op == finding.Append:
		err = t.append(root, e.Path, e.Value)
	case e.Op == finding.Remove:
		err = t.remove(root, e.Path)
	default:
		err = fmt.Errorf("%q is no edit", e.Op)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", e.Op, strings.Join(e.Path, "."), err)
	}
	after := strings.Join(t.lines, "")
	if err := verify(documents, root, after, e); err != nil {
		return "", fmt.Errorf("%s %s: %w", e.Op, strings.Join(e.Path, "."), err)
	}
	return after, nil
}

// parse reads the documents of a file as they are written.
func parse(text string) ([]*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var documents []*yaml.Node
	for {
		var n yaml.Node
		err := decoder.Decode(&n)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil && strings.Contains(text, "{{") {
			return nil, errors.New("not YAML before it is filled in: mend the template by hand")
		}
		if err != nil {
			return nil, fmt.Errorf("not YAML: %w", err)
		}
		documents = append(documents, &n)
	}
}

// target finds the mapping that a line belongs to: a document, or an item of a
// List.
func target(text string, documents []*yaml.Node, line int) (*yaml.Node, error) {
	var root *yaml.Node
	lines := strings.Split(text, "\n")
	for _, d := range documents {
		if len(d.Content) > 0 && (root == nil || begins(lines, d.Content[0].Line) <= line) {
			root = d.Content[0]
		}
	}
	if root == nil || root.Kind != yaml.MappingNode {
		return nil, errors.New("there is no object in the file")
	}
	_, kind := entry(root, "kind")
	_, items := entry(root, "items")
	if kind == nil || items == nil || !strings.HasSuffix(kind.Value, "List") || items.Kind != yaml.SequenceNode {
		return root, nil
	}
	for _, item := range items.Content {
		if item.Kind == yaml.MappingNode && item.Line <= line {
			root = item
		}
	}
	return root, nil
}

// begins is the line after the separator above the first line of a document;
// comments at its head belong to it. Lines count from 1.
func begins(lines []string, first int) int {
	for i := min(first, len(lines)) - 1; i >= 0; i-- {
		if strings.HasPrefix(lines[i], "---") {
			return i + 1
		}
	}
	return 1
}

// entry finds the key and value of an entry of a mapping; nil where it has none.
func entry(m *yaml.Node, key string) (k, v *yaml.Node) {
	if m.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Kind == yaml.ScalarNode && m.Content[i].Value == key {
			return m.Content[i], m.Content[i+1]
		}
	}
	return nil, nil
}

func newline(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// isEmpty reports whether a value is not written: "key:" alone.
func isEmpty(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == ""
}

// shared reports whether an alias may use a value as well.
func shared(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return errors.New("the value is shared through an alias")
	}
	return nil
}
