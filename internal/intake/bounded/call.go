package bounded

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Arguments lists the arguments of a call one by one.
func Arguments(args []reflect.Value, variadic bool) []reflect.Value {
	if !variadic {
		return args
	}
	last := args[len(args)-1]
	all := slices.Clone(args[:len(args)-1])
	for i := range last.Len() {
		all = append(all, last.Index(i))
	}
	return all
}

// Call calls a function with the arguments that reflect.MakeFunc hands on.
func Call(f reflect.Value, args []reflect.Value) []reflect.Value {
	if f.Type().IsVariadic() {
		return f.CallSlice(args)
	}
	return f.Call(args)
}

// Keys are those of maps, sorted; Sprig goes through a map.
func Keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

// Values are those of a map, sorted by their keys.
func Values(dict map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		out = append(out, dict[k])
	}
	return out
}

// Step is a call, without arguments, of the function that counts steps.
func Step(function string) parse.Node {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: &parse.PipeNode{
		NodeType: parse.NodePipe,
		Cmds:     []*parse.CommandNode{{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(function)}}},
	}}
}

// Writer keeps a text that is no longer than the limits allow.
type Writer struct {
	strings.Builder
	Limits Limits
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if w.Len()+len(p) > w.Limits.Text {
		return 0, w.Limits.Err()
	}
	return w.Builder.Write(p)
}
