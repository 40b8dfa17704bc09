package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// The limits on one file.
const (
	// MaxSize is the greatest size in bytes.
	MaxSize = repofs.MaxFileSize
	// MaxDepth is the greatest depth of nested lists and maps as written.
	MaxDepth = 200
	// MaxAliased is how many values the aliases of one document may add; textOfValue
	// bytes of text count as one more.
	MaxAliased  = 100_000
	textOfValue = 64
	// MaxDocuments is how many documents one file may hold.
	MaxDocuments = 10_000
)

// Parse reads every document of a file. Empty documents are left out.
func Parse(file string, data []byte) ([]*Value, error) {
	return parse(file, data, MaxDocuments+1, false)
}

// ParseLast reads YAML as Argo CD and kubectl do: of two keys of one name the last
// counts. Source: sigs.k8s.io/yaml, YAMLToJSON, which is not strict.
func ParseLast(file string, data []byte) ([]*Value, error) {
	return parse(file, data, MaxDocuments+1, true)
}

// ParseFirst reads the first document of a file, whatever follows: nothing of the rest
// is looked at. An empty document is an empty map.
func ParseFirst(file string, data []byte) (*Value, error) {
	documents, err := parse(file, data, 1, true)
	if err != nil {
		return nil, err
	}
	if len(documents) == 0 {
		return &Value{Kind: Map, Position: finding.Position{File: file, Line: 1}}, nil
	}
	return documents[0], nil
}

// parse reads the first documents of a file; empty ones are left out. last has the last
// of two keys of one name count.
func parse(file string, data []byte, most int, last bool) ([]*Value, error) {
	if len(data) > MaxSize {
		return nil, &repofs.InputError{Position: finding.Position{File: file}, Message: fmt.Sprintf("is larger than %d MiB", MaxSize>>20), Hint: "split the file"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var documents []*Value
	for range most {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, syntaxError(file, data, err)
		}
		if len(documents) == MaxDocuments {
			return nil, &repofs.InputError{Position: finding.Position{File: file, Line: node.Line}, Message: fmt.Sprintf("holds more than %d documents", MaxDocuments), Hint: "split the file"}
		}
		c := converter{file: file, last: last, done: map[*yaml.Node]*Value{}, active: map[*yaml.Node]bool{}, sizes: map[*yaml.Node]int{}}
		if err := c.check(&node); err != nil {
			return nil, err
		}
		v, err := c.convert(&node)
		if err != nil {
			return nil, err
		}
		if v.Kind != Null {
			documents = append(documents, v)
		}
	}
	return documents, nil
}

// ParseOne reads a file that holds one document. An empty file is an empty
// map.
func ParseOne(file string, data []byte) (*Value, error) {
	return one(file, data, false)
}

// ParseKustomization reads a file of one document as kustomize does: of two keys of one
// name the last counts.
func ParseKustomization(file string, data []byte) (*Value, error) {
	return one(file, data, true)
}

func one(file string, data []byte, last bool) (*Value, error) {
	documents, err := parse(file, data, MaxDocuments+1, last)
	if err != nil {
		return nil, err
	}
	switch len(documents) {
	case 0:
		return &Value{Kind: Map, Position: finding.Position{File: file, Line: 1}}, nil
	case 1:
		return documents[0], nil
	default:
		return nil, &repofs.InputError{Position: documents[1].Position, Message: "a second document", Hint: "the file holds one YAML document; remove the --- line"}
	}
}

// converter turns the nodes of one document into values.
type converter struct {
	file string
	last bool // of two keys of one name the last counts
	// These are about nodes with an anchor, the only ones met twice.
	done   map[*yaml.Node]*Value
	active map[*yaml.Node]bool
	sizes  map[*yaml.Node]int
}

func (c *converter) at(n *yaml.Node) finding.Position {
	return finding.Position{File: c.file, Line: max(n.Line, 1)}
}

func (c *converter) fail(n *yaml.Node, hint, format string, args ...any) error {
	return &repofs.InputError{Position: c.at(n), Message: fmt.Sprintf(format, args...), Hint: hint}
}

// check refuses documents that are too deep or whose aliases expand too far,
// before anything is built from them.
func (c *converter) check(root *yaml.Node) error {
	written := count(root)
	total, err := c.size(root, 0)
	if err != nil {
		return err
	}
	if total-written > MaxAliased {
		return c.fail(firstAlias(root), "write the values out, or share less", "aliases add more than %d values or %d MiB of text to the document", MaxAliased, MaxAliased*textOfValue>>20)
	}
	return nil
}

// count is the number of nodes as written; an alias counts as one.
func count(n *yaml.Node) int {
	total := weight(n)
	for _, child := range n.Content {
		total += count(child)
	}
	return total
}

// weight is what a node counts without those below it.
func weight(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return 1
	}
	return 1 + len(n.Value)/textOfValue
}

func firstAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n
	}
	for _, child := range n.Content {
		if found := firstAlias(child); found.Kind == yaml.AliasNode {
			return found
		}
	}
	return n
}

// size is the number of nodes with aliases expanded, bounded so that it cannot
// overflow.
func (c *converter) size(n *yaml.Node, depth int) (int, error) {
	if depth > MaxDepth {
		return 0, c.fail(n, "", "is nested more than %d levels deep", MaxDepth)
	}
	if n.Kind == yaml.AliasNode {
		if c.active[n.Alias] {
			return 0, c.fail(n, "an anchor must not contain its own alias", "alias *%s contains itself", n.Value)
		}
		// Depth is not followed through aliases: the limit on what they add
		// bounds it well enough for recursion.
		if size, ok := c.sizes[n.Alias]; ok {
			return 1 + size, nil
		}
		size, err := c.size(n.Alias, depth)
		return 1 + size, err
	}
	if n.Anchor != "" {
		c.active[n] = true
		defer delete(c.active, n)
	}
	total := weight(n)
	for _, child := range n.Content {
		size, err := c.size(child, depth+1)
		if err != nil {
			return 0, err
		}
		total = min(total+size, MaxSize*MaxDocuments)
	}
	if n.Anchor != "" {
		c.sizes[n] = total
	}
	return total, nil
}

func (c *converter) convert(n *yaml.Node) (*Value, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if v, ok := c.done[n]; ok {
			return v, nil
		}
	}
	v := &Value{Position: c.at(n)}
	var err error
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return v, nil
		}
		return c.convert(n.Content[0])
	case yaml.SequenceNode:
		v.Kind = List
		v.Items = make([]*Value, len(n.Content))
		for i, child := range n.Content {
			if v.Items[i], err = c.convert(child); err != nil {
				return nil, err
			}
		}
	case yaml.MappingNode:
		v.Kind = Map
		if err = c.entries(v, n); err != nil {
			return nil, err
		}
	case yaml.ScalarNode:
		v.tag = n.ShortTag()
		if v.tag != "!!null" {
			v.Kind = Scalar
			v.Text = n.Value
		}
	}
	if n.Anchor != "" {
		c.done[n] = v
	}
	return v, nil
}

// entries fills a map: its own keys in order, then those of merge keys that it
// does not have itself.
func (c *converter) entries(v *Value, n *yaml.Node) error {
	v.Entries = make([]Entry, 0, len(n.Content)/2)
	seen := keys{of: v}
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return c.fail(key, "", "a key is a list or a map, not text")
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, n.Content[i+1])
			continue
		}
		first, twice := seen.find(key.Value)
		if twice && !c.last {
			return c.fail(n.Content[i], "remove one of the two", "key %q is written twice, first in line %d", key.Value, v.Entries[first].Position.Line)
		}
		child, err := c.convert(n.Content[i+1])
		if err != nil {
			return err
		}
		e := Entry{Key: key.Value, Value: child, Position: c.at(n.Content[i])}
		if twice {
			v.Entries[first] = e
			continue
		}
		v.Entries = append(v.Entries, e)
	}
	for _, node := range merged {
		if err := c.merge(v, node, &seen); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the entries of a merge key: a map, or a list of maps of which
// earlier ones win. Source: https://yaml.org/type/merge.html
func (c *converter) merge(v *Value, node *yaml.Node, seen *keys) error {
	from, err := c.convert(node)
	if err != nil {
		return err
	}
	maps := []*Value{from}
	if from.Kind == List {
		maps = from.Items
	}
	for _, m := range maps {
		if m.Kind != Map {
			return c.fail(node, "", "a merge key needs a map or a list of maps, not %s", m.Kind)
		}
		for _, e := range m.Entries {
			if _, ok := seen.find(e.Key); !ok {
				v.Entries = append(v.Entries, e)
			}
		}
	}
	return nil
}
