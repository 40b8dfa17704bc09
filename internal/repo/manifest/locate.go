package manifest

import (
	"bytes"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Locator finds the lines of fields in a YAML stream. It parses a document when a
// field of it is asked for, and is not safe for concurrent use.
type Locator struct {
	documents []located
}

// located is a document of a stream.
type located struct {
	Document
	parsed bool
	// node is nil for what does not parse.
	node *yamlv3.Node
}

// NewLocator takes a stream; documents that do not parse have no lines.
func NewLocator(data []byte) *Locator {
	l := &Locator{}
	for _, doc := range Split(data) {
		l.documents = append(l.documents, located{Document: doc})
	}
	return l
}

// Line finds a field such as "spec.containers[0].env[1].name" in the document
// whose first content is at line document; line 1 stands for the first document
// even if comments come before it. Where a part of the path is not
// written in the file, the line of the nearest part that is written counts. It
// returns 0 when the stream has no such document.
func (l *Locator) Line(document int, path string) int {
	for i := range l.documents {
		d := &l.documents[i]
		if document != 1 && !d.mayStart(document) {
			continue
		}
		node := d.parse()
		if node == nil {
			continue
		}
		before := d.Line - leading(d.Text) - 1
		if document == 1 || node.Line+before == document {
			return before + descend(node, splitPath(path))
		}
	}
	return 0
}

// mayStart reports whether the first node may be at a line: it is where the content
// starts, or after the tags and anchors there.
func (d *located) mayStart(line int) bool {
	if line == d.Line {
		return true
	}
	_, offset, _ := content(d.Text)
	first := bytes.TrimLeft(d.Text[offset:], " \t")
	return line > d.Line && (first[0] == '!' || first[0] == '&')
}

func (d *located) parse() *yamlv3.Node {
	if !d.parsed {
		d.parsed = true
		var node yamlv3.Node
		if err := yamlv3.Unmarshal(d.Text, &node); err == nil && len(node.Content) > 0 {
			d.node = node.Content[0]
		}
	}
	return d.node
}

// splitPath cuts "a.b[2].c" into a, b, 2, c. A key that holds dots is written in
// brackets: "metadata.annotations[example.com/key]".
func splitPath(path string) []string {
	var parts []string
	for path != "" {
		var part string
		if rest, bracket := strings.CutPrefix(path, "["); bracket {
			part, path, _ = strings.Cut(rest, "]")
		} else if end := strings.IndexAny(path, ".["); end >= 0 {
			part, path = path[:end], strings.TrimPrefix(path[end:], ".")
		} else {
			part, path = path, ""
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func descend(node *yamlv3.Node, path []string) int {
	line := node.Line
	for _, part := range path {
		for node.Kind == yamlv3.AliasNode {
			node = node.Alias
		}
		var next *yamlv3.Node
		switch node.Kind {
		case yamlv3.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == part {
					line, next = node.Content[i].Line, node.Content[i+1]
				}
			}
		case yamlv3.SequenceNode:
			if n, err := strconv.Atoi(part); err == nil && n >= 0 && n < len(node.Content) {
				next = node.Content[n]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		node = next
	}
	return line
}
