package helmfile

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// knownName is the function that asks that something is known.
const knownName = "ladder_known"

// engine evaluates templates.
type engine struct {
	tree *repofs.Asked
	// variables are those of the environment that were given.
	variables map[string]string
	unknown   *unknowns
	broken    map[string]Broken
	// made is how many bytes the templates have made in the environment.
	made int
	note func(finding.Position)
	// secrets are what may be secret in the files that templates read.
	secrets confidential.Values
}

// begin tells what is evaluated next. It fails for a file that is broken.
func (e *engine) begin(at finding.Position) error {
	if b, ok := e.broken[at.File]; ok {
		return &templateError{position: b.Position, reason: b.Reason}
	}
	if e.note != nil {
		e.note(at)
	}
	return nil
}

// read reads a file to evaluate it.
func (e *engine) read(file string) ([]byte, error) {
	if err := e.begin(finding.Position{File: file, Line: 1}); err != nil {
		return nil, err
	}
	return e.tree.Read(file)
}

// rendered is an evaluated text.
type rendered struct {
	text string
	// lines are the lines of the template that the lines of the text come from,
	// from 1.
	lines []int
}

// line is where a line of the text comes from; lines count from 1.
func (r rendered) line(n int) int {
	if n < 1 || n > len(r.lines) {
		return max(n, 1)
	}
	return r.lines[n-1]
}

// templateError says that a template could not be evaluated, and where.
type templateError struct {
	position finding.Position
	reason   string
	unknown  bool
}

// Error implements error.
func (e *templateError) Error() string { return e.position.String() + ": " + e.reason }

// render evaluates the text of a file, which begins at a line of it. Paths in it
// are relative to base.
func (e *engine) render(file string, first int, base, text string, data map[string]any) (rendered, error) {
	if err := e.begin(finding.Position{File: file, Line: first}); err != nil {
		return rendered{}, err
	}
	t, err := e.parse(base, text)
	if err != nil {
		return rendered{}, e.explain(file, first, err, text, nil)
	}
	for {
		w := &lineWriter{starts: map[*byte]int{}, first: first}
		w.index(t, text)
		if err = t.Execute(w, data); err == nil {
			e.made += w.out.Len()
			return w.done(), nil
		}
		supplied, ok := e.supply(data, err)
		if !ok {
			return rendered{}, e.explain(file, first, err, text, data)
		}
		data = supplied
	}
}

// lacks finds the value that a template asks for and the values do not have.
var lacks = lazyregexp.New(`at <\$?\.(?:Values|StateValues|Environment\.Values)((?:\.[A-Za-z0-9_]+)+)>: map has no entry for key`)

// supply adds a mark to the values for one that is missing, so that the rest of a
// file can be evaluated: Helmfile would fail, or is given the value elsewhere.
func (e *engine) supply(data map[string]any, err error) (map[string]any, bool) {
	m := lacks.FindStringSubmatch(err.Error())
	values, ok := data["Values"].(map[string]any)
	if m == nil || !ok {
		return nil, false
	}
	keys := strings.Split(strings.TrimPrefix(m[1], "."), ".")
	values, ok = marked(values, keys, e.unknown.mark("the values of the environment have no %s", strings.Join(keys, ".")))
	if !ok {
		return nil, false
	}
	out := maps.Clone(data)
	out["Values"], out["StateValues"] = values, values
	if environment, ok := data["Environment"].(map[string]any); ok {
		environment = maps.Clone(environment)
		environment["Values"] = values
		out["Environment"] = environment
	}
	return out, true
}

// marked sets a mark at a path; ok is false where something else stands in the way.
func marked(values map[string]any, keys []string, mark string) (map[string]any, bool) {
	out := maps.Clone(values)
	if out == nil {
		out = map[string]any{}
	}
	if len(keys) == 1 {
		_, there := out[keys[0]]
		out[keys[0]] = mark
		return out, !there
	}
	below, ok := out[keys[0]].(map[string]any)
	if _, there := out[keys[0]]; there && !ok {
		return nil, false
	}
	below, ok = marked(below, keys[1:], mark)
	out[keys[0]] = below
	return out, ok
}

// nested evaluates a template in a template.
func (e *engine) nested(base, text string, data any) (string, error) {
	t, err := e.parse(base, text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := t.Execute(&out, data); err != nil {
		return "", err
	}
	return out.String(), nil
}

// parse parses a text with the helpers of its folder.
func (e *engine) parse(base, text string) (*template.Template, error) {
	root := template.New("template").Option("missingkey=error")
	funcs := e.functions(base)
	funcs["include"] = func(name string, data any) (string, error) {
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	root.Funcs(funcs)
	if strings.Contains(text, "include") || strings.Contains(text, "template") {
		for _, helper := range e.helpers(base) {
			if _, err := root.New(helper.name).Parse(helper.text); err != nil {
				return nil, err
			}
		}
	}
	t, err := root.Parse(text)
	if err != nil {
		return nil, err
	}
	for _, named := range t.Templates() {
		if named.Tree != nil && named.Root != nil {
			instrument(named.Root)
		}
	}
	return t, nil
}

type helper struct{ name, text string }

// helpers are the files _*.tpl beside a state file. Source: Helmfile, "include".
func (e *engine) helpers(base string) []helper {
	names, err := e.tree.List(base)
	if err != nil {
		return nil
	}
	var all []helper
	for _, name := range names {
		if strings.HasPrefix(name, "_") && strings.HasSuffix(name, ".tpl") {
			if data, err := e.tree.Read(path.Join(base, name)); err == nil {
				all = append(all, helper{name, string(data)})
			}
		}
	}
	return all
}

// errorLine finds the line in the message of the templates' engine.
var errorLine = lazyregexp.New(`template: [^:]*:(\d+)(?::\d+)?: `)

// executing is what the engine says of the name of a template.
var executing = lazyregexp.New(`executing "[^"]*" at `)

// explain gives an error its place. What the text holds is not shown beyond the
// expression itself.
func (e *engine) explain(file string, first int, err error, written string, data map[string]any) error {
	at := finding.Position{File: file, Line: first}
	text := err.Error()
	if m := errorLine.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		at.Line = first + n - 1
		text = text[strings.Index(text, m[0])+len(m[0]):]
	}
	var unknown *unknownError
	if errors.As(err, &unknown) {
		return &templateError{at, unknown.reason, true}
	}
	text = scrub(executing.ReplaceAllString(text, "at "))
	if reason, ok := strings.CutPrefix(text, "map has no entry for key "); ok {
		text = "there is no value " + reason
	}
	var held confidential.Values
	held.AddText([]byte(written))
	held.Add(data)
	held.Join(&e.secrets)
	return &templateError{position: at, reason: held.Redact(text)}
}

// lineWriter remembers which line of the template each line comes from. The
// engine writes the texts of a template as they are in its tree, so that they are
// known by their address.
type lineWriter struct {
	out    strings.Builder
	starts map[*byte]int
	first  int
	line   int
	lines  []int
}

func (w *lineWriter) index(t *template.Template, text string) {
	w.line = w.first
	newlines := []int{}
	for i := range len(text) {
		if text[i] == '\n' {
			newlines = append(newlines, i)
		}
	}
	walkTexts(t.Root, func(n *parse.TextNode) {
		if len(n.Text) > 0 {
			before, _ := slices.BinarySearch(newlines, int(n.Pos))
			w.starts[&n.Text[0]] = w.first + before
		}
	})
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	start, isText := w.starts[&p[0]]
	if isText {
		w.line = start
	}
	for _, b := range p {
		if b != '\n' {
			continue
		}
		w.lines = append(w.lines, w.line)
		if isText {
			w.line++
		}
	}
	return w.out.Write(p)
}

func (w *lineWriter) done() rendered {
	return rendered{text: w.out.String(), lines: append(w.lines, w.line)}
}

// walkTexts visits the texts of a tree.
func walkTexts(list *parse.ListNode, visit func(*parse.TextNode)) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			visit(n)
		case *parse.IfNode:
			walkTexts(n.List, visit)
			walkTexts(n.ElseList, visit)
		case *parse.WithNode:
			walkTexts(n.List, visit)
			walkTexts(n.ElseList, visit)
		case *parse.RangeNode:
			walkTexts(n.List, visit)
			walkTexts(n.ElseList, visit)
		}
	}
}

// instrument asks that what decides is known.
func instrument(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			arguments(n.Pipe)
		case *parse.TemplateNode:
			arguments(n.Pipe)
		case *parse.IfNode:
			decide(n.Pipe)
			instrument(n.List)
			instrument(n.ElseList)
		case *parse.WithNode:
			decide(n.Pipe)
			instrument(n.List)
			instrument(n.ElseList)
		case *parse.RangeNode:
			decide(n.Pipe)
			instrument(n.List)
			instrument(n.ElseList)
		}
	}
}

func decide(p *parse.PipeNode) {
	arguments(p)
	if p != nil {
		p.Cmds = append(p.Cmds, asksKnown(p.Pos))
	}
}

// arguments asks that the arguments of and, or and slice are known: the first two
// decide by them, and the engine has them built in.
func arguments(p *parse.PipeNode) {
	if p == nil {
		return
	}
	var cmds []*parse.CommandNode
	for k, c := range p.Cmds {
		name := ""
		if id, ok := c.Args[0].(*parse.IdentifierNode); ok {
			name = id.Ident
		}
		for i, arg := range c.Args {
			if inner, ok := arg.(*parse.PipeNode); ok {
				arguments(inner)
			}
			if i > 0 && (name == "and" || name == "or" || name == "slice") {
				c.Args[i] = &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Cmds: []*parse.CommandNode{asksKnown(arg.Position(), arg)}}
			}
		}
		if k > 0 && (name == "and" || name == "or" || name == "slice") {
			cmds = append(cmds, asksKnown(c.Pos))
		}
		cmds = append(cmds, c)
	}
	p.Cmds = cmds
}

// asksKnown is a call that fails for what is not known; errors name its place.
func asksKnown(at parse.Pos, args ...parse.Node) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: at, Args: append([]parse.Node{parse.NewIdentifier(knownName).SetPos(at)}, args...)}
}
