package patch

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor changes the lines of one file. Lines keep their line ends.
type editor struct {
	lines   []string
	newline string
}

// walk follows a path as far as it is written. last is the deepest mapping that
// is there, key the key it stands under (nil for the root), and rest the part of
// the path that it lacks; a value that is not written counts as lacking.
func walk(root *yaml.Node, path []string) (last, key *yaml.Node, rest []string, err error) {
	last, rest = root, path
	for {
		if err := shared(last); err != nil {
			return nil, nil, nil, err
		}
		if last.Kind != yaml.MappingNode {
			return nil, nil, nil, fmt.Errorf("%s is no mapping", strings.Join(path[:len(path)-len(rest)], "."))
		}
		if len(rest) == 1 {
			return last, key, rest, nil
		}
		k, v := entry(last, rest[0])
		if k == nil || isEmpty(v) {
			return last, key, rest, nil
		}
		last, key, rest = v, k, rest[1:]
	}
}

// set writes a scalar at a path.
func (t *editor) set(root *yaml.Node, path []string, value string) error {
	last, key, rest, err := walk(root, path)
	if err != nil {
		return err
	}
	k, v := entry(last, rest[0])
	switch {
	case k == nil:
		return t.insert(last, key, rest, value, false)
	case isEmpty(v):
		return t.fill(k, rest[1:], value, false)
	}
	if err := shared(v); err != nil {
		return err
	}
	start, end, err := t.scalar(v)
	if err != nil {
		return err
	}
	line := t.lines[v.Line-1]
	t.lines[v.Line-1] = line[:start] + value + line[end:]
	return nil
}

// append adds a scalar to the list at a path.
func (t *editor) append(root *yaml.Node, path []string, value string) error {
	last, key, rest, err := walk(root, path)
	if err != nil {
		return err
	}
	k, list := entry(last, rest[0])
	switch {
	case k == nil:
		return t.insert(last, key, rest, value, true)
	case isEmpty(list):
		return t.fill(k, rest[1:], value, true)
	case list.Kind != yaml.SequenceNode:
		return errors.New("the value is no list")
	}
	if err := shared(list); err != nil {
		return err
	}
	for _, item := range list.Content {
		if item.Kind == yaml.ScalarNode && item.Value == plainValue(value) {
			return nil
		}
	}
	if len(list.Content) == 0 {
		return t.open(list, '[', value)
	}
	item := list.Content[len(list.Content)-1]
	start, end, err := t.scalar(item)
	if err != nil {
		return err
	}
	line := t.lines[item.Line-1]
	if list.Style&yaml.FlowStyle != 0 {
		t.lines[item.Line-1] = line[:end] + ", " + value + line[end:]
		return nil
	}
	prefix := line[:start]
	if strings.TrimSpace(prefix) != "-" {
		return errors.New("the list is not written one item a line")
	}
	t.after(item.Line, prefix+value)
	return nil
}

// insert adds the entry of a path to a mapping that lacks it.
func (t *editor) insert(m, key *yaml.Node, path []string, value string, list bool) error {
	if m.Style&yaml.FlowStyle != 0 || len(m.Content) == 0 {
		return t.open(m, '{', flow(path, value, list))
	}
	indent := strings.Repeat(" ", m.Content[0].Column-1)
	line, err := t.room(m, key)
	if err != nil {
		return err
	}
	t.after(line, block(indent, path, value, list)...)
	return nil
}

// room finds the line after which an entry of a block mapping fits: that of its
// name, else that of the key that the mapping stands under, else the last one of
// an entry.
func (t *editor) room(m, key *yaml.Node) (int, error) {
	if k, v := entry(m, "name"); k != nil && t.oneLine(k, v) {
		return k.Line, nil
	}
	if key != nil && key.Line < m.Content[0].Line {
		return key.Line, nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if line, err := t.lastLine(m.Content[i], m.Content[i+1]); err == nil {
			return line, nil
		}
	}
	return 0, errors.New("there is no place for a new entry")
}

// oneLine reports whether an entry of a block mapping is a key and a scalar in
// one line.
func (t *editor) oneLine(k, v *yaml.Node) bool {
	if v.Kind != yaml.ScalarNode || v.Line != k.Line || isEmpty(v) {
		return false
	}
	_, _, err := t.scalar(v)
	return err == nil
}

// fill writes below or after a key that has no value.
func (t *editor) fill(k *yaml.Node, path []string, value string, list bool) error {
	line := t.lines[k.Line-1]
	at := offset(line, k.Column)
	colon := strings.IndexByte(line[at:], ':')
	if colon < 0 || rest(line[at+colon+1:]) != "" {
		return errors.New("the value is not written below its key")
	}
	if len(path) == 0 && !list {
		end := at + colon + 1
		t.lines[k.Line-1] = line[:end] + " " + value + line[end:]
		return nil
	}
	t.after(k.Line, block(strings.Repeat(" ", k.Column+1), path, value, list)...)
	return nil
}

// open adds the first entry behind the bracket that opens a flow collection.
func (t *editor) open(n *yaml.Node, bracket byte, text string) error {
	line := t.lines[n.Line-1]
	at := offset(line, n.Column)
	if at >= len(line) || line[at] != bracket {
		return fmt.Errorf("there is no %c where the value begins", bracket)
	}
	if len(n.Content) > 0 {
		text += ", "
	}
	t.lines[n.Line-1] = line[:at+1] + text + line[at+1:]
	return nil
}

// remove drops the entry at a path, and mappings above it that it leaves empty.
func (t *editor) remove(root *yaml.Node, path []string) error {
	last, _, rest, err := walk(root, path)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return errors.New("there is no such entry")
	}
	k, v := entry(last, rest[0])
	switch {
	case k == nil:
		return errors.New("there is no such entry")
	case len(last.Content) == 2 && len(path) > 1:
		return t.remove(root, path[:len(path)-1])
	case last.Style&yaml.FlowStyle != 0:
		return errors.New("the entry is not written in lines of its own")
	}
	line := t.lines[k.Line-1]
	if strings.TrimSpace(line[:offset(line, k.Column)]) != "" {
		return errors.New("the entry is not written in lines of its own")
	}
	end, err := t.lastLine(k, v)
	if err != nil {
		return err
	}
	t.lines = append(t.lines[:k.Line-1], t.lines[end:]...)
	return nil
}

// lastLine is the last line of the value of a key.
func (t *editor) lastLine(k, v *yaml.Node) (int, error) {
	if v.Kind == yaml.AliasNode || v.Anchor != "" {
		return 0, shared(v)
	}
	switch {
	case isEmpty(v):
		return k.Line, nil
	case v.Kind == yaml.ScalarNode:
		_, _, err := t.scalar(v)
		return v.Line, err
	case v.Style&yaml.FlowStyle != 0:
		if line := rest(t.lines[v.Line-1]); !strings.HasSuffix(line, "]") && !strings.HasSuffix(line, "}") {
			return 0, errors.New("the value ends in another line")
		}
		return v.Line, nil
	}
	end := k.Line
	for i, child := range v.Content {
		above := k
		if v.Kind == yaml.MappingNode {
			if i%2 == 0 {
				continue
			}
			above = v.Content[i-1]
		}
		line, err := t.lastLine(above, child)
		if err != nil {
			return 0, err
		}
		end = max(end, line)
	}
	return end, nil
}

// scalar finds the text of a scalar, quotes included, as offsets in its line.
func (t *editor) scalar(n *yaml.Node) (start, end int, err error) {
	if n.Kind != yaml.ScalarNode || n.Line < 1 || n.Line > len(t.lines) {
		return 0, 0, errors.New("the value is no scalar")
	}
	if err := shared(n); err != nil {
		return 0, 0, err
	}
	line := t.lines[n.Line-1]
	start = offset(line, n.Column)
	text := line[start:]
	length := -1
	switch {
	case n.Style&yaml.TaggedStyle != 0:
	case n.Style&yaml.DoubleQuotedStyle != 0:
		length = quoted(text, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		length = quoted(text, '\'')
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && strings.HasPrefix(text, n.Value):
		length = len(n.Value)
	}
	if length < 0 {
		return 0, 0, errors.New("the value is written over several lines")
	}
	if after := strings.TrimRight(text[length:], " \t\r\n"); after != "" && !strings.ContainsRune(" \t,]}", rune(after[0])) {
		return 0, 0, errors.New("the value is written over several lines")
	}
	return start, start + length, nil
}

// quoted is the length of a quoted scalar at the start of text, -1 where it does
// not end there.
func quoted(text string, quote byte) int {
	for i := 1; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		default:
			return i + 1
		}
	}
	return -1
}

// after adds lines below a line, which counts from 1.
func (t *editor) after(line int, added ...string) {
	for i := range added {
		added[i] += t.newline
	}
	if above := t.lines[line-1]; !strings.HasSuffix(above, "\n") {
		t.lines[line-1] = above + t.newline
		last := len(added) - 1
		added[last] = strings.TrimSuffix(added[last], t.newline)
	}
	t.lines = append(t.lines[:line], append(added, t.lines[line:]...)...)
}

// block writes nested keys in lines.
func block(indent string, path []string, value string, list bool) []string {
	var lines []string
	for i, key := range path {
		line := indent + strings.Repeat("  ", i) + quoteKey(key) + ":"
		if i == len(path)-1 && !list {
			line += " " + value
		}
		lines = append(lines, line)
	}
	if list {
		lines = append(lines, indent+strings.Repeat("  ", len(path))+"- "+value)
	}
	return lines
}

// flow writes nested keys in one line.
func flow(path []string, value string, list bool) string {
	if list {
		value = "[" + value + "]"
	}
	keys := make([]string, len(path))
	for i, key := range path {
		keys[i] = quoteKey(key) + ": "
	}
	return strings.Join(keys, "{") + value + strings.Repeat("}", len(path)-1)
}

// quoteKey writes a key; those of Kubernetes objects need no quotes.
func quoteKey(key string) string {
	if key == plainValue(key) && !strings.ContainsAny(key, ":#{}[],&*!|>'\"%@` ") {
		return key
	}
	return fmt.Sprintf("%q", key)
}

// rest is the part of a line that says something: without comment and blanks.
func rest(line string) string {
	if i := strings.Index(line, " #"); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSpace(line)
}

// offset turns a column, in characters from 1, into an offset in bytes.
func offset(line string, column int) int {
	at := 0
	for range column - 1 {
		if at >= len(line) {
			break
		}
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}
