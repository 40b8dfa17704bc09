package helm

import (
	"sort"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
)

// markName is the function that instrumented templates call. It returns nothing, so
// a chart that calls it gains nothing.
const markName = "ladder_mark"

// place is a line of a template.
type place struct {
	template string // Helm's name of the file
	line     int
	// text is set for literal text: the lines of the output that follow are the
	// lines that follow in the template.
	text bool
}

// instrument adds marks to every template. One tree may have several names.
func (x *execution) instrument(t *template.Template) {
	known := map[*parse.Tree]bool{}
	for _, named := range t.Templates() {
		if named.Tree == nil || named.Root == nil || known[named.Tree] {
			continue
		}
		known[named.Tree] = true
		x.instrumentList(named.Tree, named.Root)
	}
}

func (x *execution) instrumentList(tree *parse.Tree, list *parse.ListNode) {
	if list == nil {
		return
	}
	nodes := make([]parse.Node, 0, 2*len(list.Nodes))
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			nodes = append(nodes, x.markNode(tree, n.Position(), true))
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				nodes = append(nodes, x.markNode(tree, n.Position(), false))
			}
		case *parse.TemplateNode:
			nodes = append(nodes, x.markNode(tree, n.Position(), false))
		case *parse.IfNode:
			x.instrumentBranch(tree, &n.BranchNode)
		case *parse.WithNode:
			x.instrumentBranch(tree, &n.BranchNode)
		case *parse.RangeNode:
			x.instrumentBranch(tree, &n.BranchNode)
		}
		nodes = append(nodes, node)
	}
	list.Nodes = nodes
}

func (x *execution) instrumentBranch(tree *parse.Tree, branch *parse.BranchNode) {
	x.instrumentList(tree, branch.List)
	x.instrumentList(tree, branch.ElseList)
}

func (x *execution) markNode(tree *parse.Tree, pos parse.Pos, text bool) parse.Node {
	x.places = append(x.places, place{template: tree.ParseName, line: x.lineAt(tree.ParseName, int(pos)), text: text})
	argument := len(x.places) - 1
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe,
		Cmds: []*parse.CommandNode{{NodeType: parse.NodeCommand, Args: []parse.Node{
			parse.NewIdentifier(markName),
			&parse.NumberNode{NodeType: parse.NodeNumber, IsInt: true, Int64: int64(argument), Text: strconv.Itoa(argument)},
		}}},
	}}
}

// lineOffsets returns where each line of a text begins.
func lineOffsets(text string) []int {
	offsets := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			offsets = append(offsets, i+1)
		}
	}
	return offsets
}

// lineAt turns an offset in a template file into a line.
func (x *execution) lineAt(name string, offset int) int {
	offsets := x.lines[name]
	return max(1, sort.SearchInts(offsets, offset+1))
}

// output is what one template file made.
type output struct {
	template *chartTemplate
	text     string // as written, before "<no value>" is taken out
	marks    []mark
	places   []place
}

// place finds the template and line that the text at an offset comes from.
func (o *output) place(offset int) (place, bool) {
	i := sort.Search(len(o.marks), func(i int) bool { return o.marks[i].offset > offset })
	if i == 0 {
		return place{}, false
	}
	m := o.marks[i-1]
	p := o.places[m.place]
	if p.text {
		p.line += strings.Count(o.text[m.offset:offset], "\n")
	}
	return p, true
}
