package appset

import (
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// What a generator would learn outside the repository is not known. Such a
// parameter is a mark, and so is every text that is made of it: a character that
// no repository writes, before and after the name of the parameter. YAML reads
// the character as a letter.
const markSign = "\uE0A7"

// openKey among parameters says that there may be more of them than are known.
const openKey = markSign

var (
	marks     = lazyregexp.New(markSign + "([^" + markSign + "]*)" + markSign)
	notInMark = lazyregexp.New(`[^A-Za-z0-9_.-]+`)
)

// Mark stands for the value of a parameter, or of an expression.
func Mark(name string) string {
	return markSign + strings.TrimLeft(notInMark.ReplaceAllString(name, ""), ".") + markSign
}

// Fill replaces marks by what is found for their names.
func Fill(text string, find func(name string) (string, bool)) string {
	return marks.ReplaceAllStringFunc(text, func(m string) string {
		if found, ok := find(marks.FindStringSubmatch(m)[1]); ok {
			return found
		}
		return m
	})
}

// IsMarked reports whether a text holds something that is not known.
func IsMarked(text string) bool { return strings.Contains(text, markSign) }

// Written turns marks into what stands in a template: {{name}}.
func Written(text string) string { return marks.ReplaceAllString(text, "{{$1}}") }

// Marks lists the parameters whose marks a text holds.
func Marks(text string) []string {
	var all []string
	for _, m := range marks.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// holdsMark reports whether a parameter, or one below it, is not known, or may be there
// beside those that are.
func holdsMark(v any) bool {
	switch v := v.(type) {
	case string:
		return IsMarked(v)
	case map[string]any:
		if isOpen(v) {
			return true
		}
		for _, item := range v {
			if holdsMark(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsMark)
	}
	return false
}

// marked finds a mark in a value or a key below it; nil for none.
func marked(v *yamldoc.Value) *yamldoc.Value {
	if v == nil {
		return nil
	}
	if v.Kind == yamldoc.Scalar && IsMarked(v.Text) {
		return v
	}
	for _, item := range v.Items {
		if found := marked(item); found != nil {
			return found
		}
	}
	for _, e := range v.Entries {
		if IsMarked(e.Key) {
			return yamldoc.Text(e.Key, e.Position)
		}
		if found := marked(e.Value); found != nil {
			return found
		}
	}
	return nil
}

// knownOnly are the parameters without those that are not known.
func knownOnly(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for k, v := range values {
		below, isMap := v.(map[string]any)
		switch {
		case k == openKey:
		case isMap:
			out[k] = knownOnly(below)
		case !holdsMark(v):
			out[k] = v
		}
	}
	return out
}

func isOpen(p map[string]any) bool { return p[openKey] == true }

// knows reports whether everything below a path of fields is known.
func knows(p map[string]any, fields []string) bool {
	open := isOpen(p)
	var v any = p
	for _, field := range fields {
		m, ok := v.(map[string]any)
		if !ok {
			return !holdsMark(v)
		}
		open = open || isOpen(m)
		next, there := m[field]
		if !there {
			return !open
		}
		v = next
	}
	m, isMap := v.(map[string]any)
	return !holdsMark(v) && (!isMap || !open && !isOpen(m))
}

// knowsTag reports whether the parameter of an older template is known, or is
// known not to be there.
func knowsTag(p map[string]any, tag string) bool {
	if value, ok := p[tag].(string); ok {
		return !IsMarked(value)
	}
	if isOpen(p) {
		return false
	}
	for i, c := range tag {
		if c != '.' && c != '[' {
			continue
		}
		if value, ok := p[tag[:i]].(string); ok && IsMarked(value) {
			return false
		}
	}
	return true
}

// layingOut are the functions whose results are more than a part of a line: what
// they make of something that is not known may be anything.
func layingOut() []string {
	return []string{"toYaml", "toJson", "toPrettyJson", "toRawJson", "mustToJson", "mustToPrettyJson", "mustToRawJson", "indent", "nindent"}
}

// masked fills in a Go template with parameters of which some are not known. A
// text is a mark as a whole where these decide more than a part of a line.
func (e *engine) masked(t *template.Template, options []string, p map[string]any) (string, error) {
	if t.Tree == nil || len(t.Templates()) > 1 {
		return Mark(""), nil
	}
	tree := t.Copy()
	m := masking{parameters: p}
	m.list(tree.Root, false)
	switch {
	case m.whole:
		return marksOf(m.names), nil
	case len(m.names) == 0:
		return e.run(t, p)
	}
	filled, err := t.Clone()
	if err != nil {
		return "", explain(err, tree.Root.String(), p)
	}
	filled.Option(options...)
	if filled, err = filled.AddParseTree(t.Name(), tree); err != nil {
		return "", explain(err, tree.Root.String(), p)
	}
	return e.run(filled, p)
}

// masking replaces what is not known in a template.
type masking struct {
	parameters map[string]any
	// names are the parameters that are not known; whole is set where they decide
	// more than their own place.
	names []string
	whole bool
}

// list looks through nodes. within is set below a with or range, where the dot is
// something that is known.
func (m *masking) list(list *parse.ListNode, within bool) {
	if list == nil {
		return
	}
	branch := func(b *parse.BranchNode, within bool) {
		if m.depends(b.Pipe, within) {
			m.whole = true
		}
	}
	for i, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			before := len(m.names)
			if !m.depends(n.Pipe, within) {
				continue
			}
			m.whole = m.whole || len(n.Pipe.Decl) > 0 || laysOut(n.Pipe)
			list.Nodes[i] = &parse.TextNode{NodeType: parse.NodeText, Text: []byte(marksOf(m.names[before:]))}
		case *parse.IfNode:
			branch(&n.BranchNode, within)
			m.list(n.List, within)
			m.list(n.ElseList, within)
		case *parse.WithNode:
			branch(&n.BranchNode, within)
			m.list(n.List, true)
			m.list(n.ElseList, within)
		case *parse.RangeNode:
			branch(&n.BranchNode, within)
			m.list(n.List, true)
			m.list(n.ElseList, within)
		}
	}
}

func laysOut(pipe *parse.PipeNode) bool {
	return slices.ContainsFunc(pipe.Cmds, func(c *parse.CommandNode) bool {
		return slices.ContainsFunc(c.Args, func(n parse.Node) bool {
			name, ok := n.(*parse.IdentifierNode)
			return ok && slices.Contains(layingOut(), name.Ident)
		})
	})
}

// depends reports whether a node needs a parameter that is not known. A variable
// does not: where one is set to such a parameter, the whole text is a mark.
func (m *masking) depends(node parse.Node, within bool) bool {
	switch n := node.(type) {
	case *parse.PipeNode:
		found := false
		for _, c := range n.Cmds {
			args := c.Args
			if look := lookedUp(c); look != nil {
				found = (look.top || !within) && m.unknown(look.fields) || found
				args = look.rest
			}
			for _, arg := range args {
				found = m.depends(arg, within) || found
			}
		}
		return found
	case *parse.ChainNode:
		return m.depends(n.Node, within)
	case *parse.FieldNode:
		return !within && m.unknown(n.Ident)
	case *parse.DotNode:
		return !within && m.unknown(nil)
	case *parse.VariableNode:
		return n.Ident[0] == "$" && m.unknown(n.Ident[1:])
	default:
		return false
	}
}

// lookup is a call that looks a path of fields up, from the top of all parameters or from the
// dot. rest are its other arguments.
type lookup struct {
	fields []string
	top    bool
	rest   []parse.Node
}

// lookedUp is what a call looks up: index .a.b "c", get .a.b "c" and hasKey .a.b "c" look up
// .a.b.c, and so does dig "c" DEFAULT .a.b. It is nil for other calls.
func lookedUp(c *parse.CommandNode) *lookup {
	if len(c.Args) < 3 {
		return nil
	}
	look, of, keys := &lookup{}, c.Args[1], c.Args[2:]
	switch name, _ := c.Args[0].(*parse.IdentifierNode); {
	case name == nil:
		return nil
	case name.Ident == "dig":
		last := len(c.Args) - 1
		of, keys, look.rest = c.Args[last], c.Args[1:last-1], c.Args[last-1:last]
	case name.Ident != "index" && name.Ident != "get" && name.Ident != "hasKey":
		return nil
	}
	switch of := of.(type) {
	case *parse.FieldNode:
		look.fields = slices.Clone(of.Ident)
	case *parse.DotNode:
	case *parse.VariableNode:
		if of.Ident[0] != "$" {
			return nil
		}
		look.fields, look.top = slices.Clone(of.Ident[1:]), true
	default:
		return nil
	}
	for _, arg := range keys {
		key, ok := arg.(*parse.StringNode)
		if !ok {
			return nil
		}
		look.fields = append(look.fields, key.Text)
	}
	return look
}

// unknown notes a path of fields that is not known.
func (m *masking) unknown(fields []string) bool {
	if knows(m.parameters, fields) {
		return false
	}
	m.names = append(m.names, strings.Join(fields, "."))
	return true
}

// marksOf are the marks of several parameters.
func marksOf(names []string) string {
	all := make([]string, len(names))
	for i, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		all[i] = Mark(name)
	}
	return strings.Join(all, "")
}
