package manifest

import yamlv3 "go.yaml.in/yaml/v3"

// oddKey is the line of the first key in a text that is a map or a list; 1 where none is
// found.
func oddKey(text []byte) int {
	var document yamlv3.Node
	if yamlv3.Unmarshal(text, &document) != nil {
		return 1
	}
	var find func(*yamlv3.Node) int
	find = func(node *yamlv3.Node) int {
		for i, child := range node.Content {
			if node.Kind == yamlv3.MappingNode && i%2 == 0 && (child.Kind == yamlv3.MappingNode || child.Kind == yamlv3.SequenceNode) {
				return child.Line
			}
			if line := find(child); line > 0 {
				return line
			}
		}
		return 0
	}
	return max(find(&document), 1)
}
