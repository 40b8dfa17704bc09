package rule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Template is a compiled template: a value whose strings may hold "${...}". A
// string that is one expression becomes the value of the expression, of any
// type; a map entry or list item that becomes null is left out.
type Template struct {
	node node
}

type node interface {
	eval(s Scope) (any, error)
}

// Eval evaluates the template; a nil one is null.
func (t *Template) Eval(s Scope) (any, error) {
	if t == nil {
		return nil, nil
	}
	return t.node.eval(s)
}

func (c *compiler) template(value any) (*Template, error) {
	if value == nil {
		return nil, nil
	}
	n, err := c.node(value, 0)
	if err != nil {
		return nil, err
	}
	return &Template{n}, nil
}

func (c *compiler) node(value any, depth int) (node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("a template is deeper than %d levels", maxDepth)
	}
	switch v := value.(type) {
	case string:
		return c.text(v)
	case map[string]any:
		m := mapNode{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			k, err := c.text(key)
			if err != nil {
				return nil, err
			}
			n, err := c.node(v[key], depth+1)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			m = append(m, entry{k, n})
		}
		return m, nil
	case []any:
		l := listNode{}
		for i, item := range v {
			n, err := c.node(item, depth+1)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			l = append(l, n)
		}
		return l, nil
	case float64:
		if v == float64(int64(v)) {
			return constant{int64(v)}, nil
		}
		return constant{v}, nil
	default:
		return constant{v}, nil
	}
}

// text splits "a${x}b" into its parts. "$${" is a literal "${".
func (c *compiler) text(s string) (node, error) {
	var parts []node
	literal := ""
	for s != "" {
		i := strings.Index(s, "${")
		if i < 0 {
			literal += s
			break
		}
		if i > 0 && s[i-1] == '$' {
			literal += s[:i-1] + "${"
			s = s[i+2:]
			continue
		}
		end := closing(s[i+2:])
		if end < 0 {
			return nil, fmt.Errorf("%q: a ${ is not closed", s)
		}
		e, err := c.compile(s[i+2 : i+2+end])
		if err != nil {
			return nil, err
		}
		if e == nil {
			return nil, fmt.Errorf("%q: nothing between ${ and }", s)
		}
		literal += s[:i]
		if literal != "" {
			parts = append(parts, constant{literal})
			literal = ""
		}
		parts = append(parts, expressionNode{e})
		s = s[i+2+end+1:]
	}
	switch {
	case len(parts) == 0:
		return constant{literal}, nil
	case len(parts) == 1 && literal == "":
		return parts[0], nil
	case literal != "":
		parts = append(parts, constant{literal})
	}
	return textNode(parts), nil
}

// closing finds the } that ends an expression, past strings and inner braces;
// -1 for none.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"':
			quote := s[i]
			for i++; i < len(s) && s[i] != quote; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{':
			depth++
		case '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

type constant struct{ value any }

func (n constant) eval(Scope) (any, error) { return n.value, nil }

type expressionNode struct{ e *Expression }

func (n expressionNode) eval(s Scope) (any, error) { return n.e.Eval(s) }

type textNode []node

func (n textNode) eval(s Scope) (any, error) {
	var b strings.Builder
	for _, part := range n {
		v, err := part.eval(s)
		if err != nil {
			return nil, err
		}
		if v != nil {
			fmt.Fprint(&b, v)
		}
	}
	return b.String(), nil
}

type entry struct{ key, value node }

type mapNode []entry

func (n mapNode) eval(s Scope) (any, error) {
	out := make(map[string]any, len(n))
	for _, e := range n {
		k, err := e.key.eval(s)
		if err != nil {
			return nil, err
		}
		v, err := e.value.eval(s)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", k, err)
		}
		if v != nil {
			out[fmt.Sprint(k)] = v
		}
	}
	return out, nil
}

type listNode []node

func (n listNode) eval(s Scope) (any, error) {
	out := make([]any, 0, len(n))
	for i, item := range n {
		v, err := item.eval(s)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		if v != nil {
			out = append(out, v)
		}
	}
	return out, nil
}
