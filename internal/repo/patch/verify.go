package patch

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

var errMeaning = errors.New("the text would mean something else")

// verify compares what a text means after an edit with what it should mean: the
// documents before it with the entry changed. root is the mapping that is edited,
// in one of them.
func verify(before []*yaml.Node, root *yaml.Node, text string, e finding.Edit) error {
	after, err := parse(text)
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		return errMeaning
	}
	// The text is edited already, so the tree may be.
	if err := change(root, e); err != nil {
		return err
	}
	for i := range before {
		if !same(before[i], after[i]) {
			return errMeaning
		}
	}
	return nil
}

// change carries out an edit on a tree.
func change(root *yaml.Node, e finding.Edit) error {
	var value *yaml.Node
	if e.Op != finding.Remove {
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(e.Value), &document); err != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.ScalarNode {
			return errors.New("the new value is no scalar")
		}
		value = document.Content[0]
	}
	node, trail := root, []*yaml.Node{root}
	for i, key := range e.Path {
		last := i == len(e.Path)-1
		k, v := entry(node, key)
		if e.Op == finding.Remove {
			if k == nil {
				return errMeaning
			}
			if last {
				prune(trail, e.Path)
				return nil
			}
			node, trail = v, append(trail, v)
			continue
		}
		if k == nil || isEmpty(v) {
			made := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			if last && e.Op == finding.Append {
				made = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
			}
			v = put(node, key, made)
		}
		switch {
		case last && e.Op == finding.Set:
			put(node, key, value)
		case last && !holds(v, value):
			v.Content = append(v.Content, value)
		}
		node = v
	}
	return nil
}

// put sets an entry of a mapping.
func put(m *yaml.Node, key string, value *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = value
			return value
		}
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	return value
}

func holds(list, value *yaml.Node) bool {
	for _, item := range list.Content {
		if item.Kind == yaml.ScalarNode && item.Value == value.Value {
			return true
		}
	}
	return false
}

// prune drops the entry at the end of a path, and mappings that it leaves empty
// except the root. trail are the mappings from the root to the one that holds
// the entry.
func prune(trail []*yaml.Node, path []string) {
	for i := len(trail) - 1; i >= 0; i-- {
		m := trail[i]
		for j := 0; j+1 < len(m.Content); j += 2 {
			if m.Content[j].Value == path[i] {
				m.Content = append(m.Content[:j:j], m.Content[j+2:]...)
				break
			}
		}
		if len(m.Content) > 0 {
			return
		}
	}
}

// same compares what two trees mean; the order of entries, comments and styles
// do not count.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.AliasNode:
		return a.Value == b.Value
	case yaml.ScalarNode:
		return a.Value == b.Value && a.ShortTag() == b.ShortTag()
	case yaml.MappingNode:
		byKey := make(map[string]*yaml.Node, len(a.Content)/2)
		for i := 0; i+1 < len(a.Content); i += 2 {
			byKey[a.Content[i].Value] = a.Content[i+1]
		}
		for i := 0; i+1 < len(b.Content); i += 2 {
			v, ok := byKey[b.Content[i].Value]
			if !ok || !same(v, b.Content[i+1]) {
				return false
			}
		}
		return true
	default:
		for i := range a.Content {
			if !same(a.Content[i], b.Content[i]) {
				return false
			}
		}
		return true
	}
}

// plainValue is the value of a scalar as YAML writes it.
func plainValue(text string) string {
	var value yaml.Node
	if err := yaml.Unmarshal([]byte(text), &value); err != nil || len(value.Content) != 1 {
		return text
	}
	return value.Content[0].Value
}
