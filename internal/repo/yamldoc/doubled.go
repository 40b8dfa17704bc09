package yamldoc

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Double is a key that a map has twice.
type Double struct {
	Key string
	// First and Second are the lines of the text, from 1.
	First, Second int
	// Repeated is set where the second says all that the first says, so that nothing
	// is lost.
	Repeated bool
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
		earlier := map[string]int{} // where in n.Content
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
				if first, ok := earlier[child.Value]; ok {
					all = append(all, Double{child.Value, n.Content[first].Line, child.Line, holds(n.Content[i+1], n.Content[first+1])})
				} else {
					earlier[child.Value] = i
				}
			}
			walk(child)
		}
	}
	walk(&root)
	return all
}

// holds reports whether a value says all that a part says: the same text, the same
// list, or a map with more keys. An alias holds nothing.
func holds(whole, part *yaml.Node) bool {
	if whole.Kind != part.Kind || whole.Kind == yaml.AliasNode {
		return false
	}
	switch whole.Kind {
	case yaml.ScalarNode:
		return whole.Value == part.Value && whole.ShortTag() == part.ShortTag()
	case yaml.MappingNode:
		last := make(map[string]*yaml.Node, len(whole.Content)/2) // of two keys of one name
		for i := 0; i+1 < len(whole.Content); i += 2 {
			last[whole.Content[i].Value] = whole.Content[i+1]
		}
		for i := 0; i+1 < len(part.Content); i += 2 {
			at := last[part.Content[i].Value]
			if at == nil || !holds(at, part.Content[i+1]) {
				return false
			}
		}
		return true
	default:
		return slices.EqualFunc(whole.Content, part.Content, holds)
	}
}
