package manifest

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
)

// MaxNodes is how many values a document may hold once its aliases are expanded;
// textOfNode bytes of text count as one more, which bounds the text to 64 MiB.
const (
	MaxNodes   = 2_000_000
	textOfNode = 32
)

// CheckAliases refuses YAML whose aliases expand to more than MaxNodes values,
// before anything expands them ("billion laughs"). Text that does not parse is
// left to the reader, which says what is wrong with it.
func CheckAliases(data []byte) error {
	if !mayHold(data, '&') || !mayHold(data, '*') {
		return nil
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(data))
	for {
		var node yamlv3.Node
		if err := decoder.Decode(&node); err != nil {
			return nil //nolint:nilerr // left to the reader, as said above
		}
		counter := aliasCounter{sizes: map[*yamlv3.Node]int{}}
		if size := counter.size(&node); size > MaxNodes {
			return &SyntaxError{Line: counter.line, Message: fmt.Sprintf("aliases expand to more than %d values, or as much text", MaxNodes)}
		}
	}
}

// mayHold reports whether text may hold an anchor (&name) or alias (*name): the
// sign, and behind it a letter of a name. What is before it does not count: YAML takes
// more for white space than it seems. Source: yaml_parser_scan_anchor of the library.
func mayHold(data []byte, sign byte) bool {
	for i := 0; i+1 < len(data); i++ {
		next := bytes.IndexByte(data[i:], sign)
		if next < 0 {
			return false
		}
		i += next
		if i+1 < len(data) && (data[i+1] >= 0x80 || data[i+1] == '_' || data[i+1] == '-' || 'a' <= data[i+1]|0x20 && data[i+1]|0x20 <= 'z' || '0' <= data[i+1] && data[i+1] <= '9') {
			return true
		}
	}
	return false
}

type aliasCounter struct {
	sizes map[*yamlv3.Node]int
	line  int // of the first node whose aliases are too many
}

// size counts the values below a node; aliases count as what they stand for. A
// node that contains itself is over the limit.
func (c *aliasCounter) size(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		return c.size(node.Alias)
	}
	if n, ok := c.sizes[node]; ok {
		return n
	}
	c.sizes[node] = MaxNodes + 1
	total := 1 + len(node.Value)/textOfNode
	for _, child := range node.Content {
		total += c.size(child)
		if total > MaxNodes {
			if c.line == 0 {
				c.line = child.Line
			}
			total = MaxNodes + 1
			break
		}
	}
	c.sizes[node] = total
	return total
}
