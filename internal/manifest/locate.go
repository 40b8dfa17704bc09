package manifest

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Locator finds the lines of fields in a YAML stream.
type Locator struct {
	documents []*yamlv3.Node
	offsets   []int // line before each document
}

// NewLocator parses a stream; documents that do not parse have no lines.
func NewLocator(data []byte) *Locator {
	l := &Locator{}
	for _, doc := range Split(data) {
		var node yamlv3.Node
		if err := yamlv3.Unmarshal(doc.Text, &node); err != nil || len(node.Content) == 0 {
			continue
		}
		l.documents = append(l.documents, node.Content[0])
		l.offsets = append(l.offsets, doc.Line-leading(doc.Text)-1)
	}
	return l
}

// Line finds a field such as "spec.containers[0].env[1].name" in the document
// whose first content is at line document; line 1 stands for the first document
// even if comments come before it. Where a part of the path is not
// written in the file, the line of the nearest part that is written counts. It
// returns 0 when the stream has no such document.
func (l *Locator) Line(document int, path string) int {
	for i, node := range l.documents {
		if node.Line+l.offsets[i] != document && (document != 1 || i > 0) {
			continue
		}
		return l.offsets[i] + descend(node, splitPath(path))
	}
	return 0
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
