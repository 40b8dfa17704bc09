package yamlpos

import (
	"bytes"

	"go.yaml.in/yaml/v3"
)

// Double is a key that a map has twice.
type Double struct {
	Key string
	// First and Second are the lines of the text, from 1.
	First, Second int
}

// Doubles finds the keys that maps of a text have twice, which Parse refuses and
// other readers take the last of, in the order written. A text that does not parse
// has none.
func Doubles(data []byte) []Double {
	var root yaml.Node
	if len(data) > MaxSize || yaml.NewDecoder(bytes.NewReader(data)).Decode(&root) != nil {
		return nil
	}
	var all []Double
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		lines := map[string]int{}
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
				if first, ok := lines[child.Value]; ok {
					all = append(all, Double{child.Value, first, child.Line})
				} else {
					lines[child.Value] = child.Line
				}
			}
			walk(child)
		}
	}
	walk(&root)
	return all
}
