// Package expression says in the Lua of Argo CD what a readiness expression says in
// CEL. Expressions of a repository are translated in a confined worker, by way of
// package evaluate.
package expression

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// objectVariable is the variable of readiness expressions; scripts of Argo CD call it obj.
const objectVariable = "object"

// maxNesting bounds how deep an expression is translated.
const maxNesting = 64

// untranslatable says what of an expression has no counterpart in the Lua that
// Argo CD runs, which has no library of strings.
type untranslatable struct{ what string }

// Error implements error.
func (e *untranslatable) Error() string { return e.what + " cannot be said in Argo CD's Lua" }

// Translate writes a CEL expression over object as a Lua expression that needs
// lua/cel.lua. It means the same, but for the size of strings, which Lua counts
// in bytes.
func Translate(expression string) (string, error) {
	env, err := cel.NewEnv(cel.ClearMacros(), cel.OptionalTypes())
	if err != nil {
		return "", fmt.Errorf("set up CEL: %w", err)
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return "", fmt.Errorf("it does not parse: %w", issues.Err())
	}
	t := translator{variables: []string{objectVariable}}
	return t.expr(parsed.NativeRep().Expr(), 0)
}

type translator struct{ variables []string }

func (t *translator) expr(e ast.Expr, depth int) (string, error) {
	if depth > maxNesting {
		return "", &untranslatable{"an expression of such depth"}
	}
	switch e.Kind() {
	case ast.LiteralKind:
		return literal(e)
	case ast.IdentKind:
		return t.ident(e.AsIdent())
	case ast.SelectKind:
		s := e.AsSelect()
		operand, err := t.expr(s.Operand(), depth+1)
		if err != nil {
			return "", err
		}
		return "get(" + operand + ", " + Quote(s.FieldName()) + ")", nil
	case ast.ListKind:
		items, err := t.list(e.AsList().Elements(), depth)
		if err != nil || e.AsList().Size() == 0 {
			return "{}", err
		}
		return "{" + items + "}", nil
	case ast.CallKind:
		return t.call(e.AsCall(), depth)
	default:
		return "", &untranslatable{"a map or message"}
	}
}

// ident names a variable. Those of macros get a prefix, so that none hides a name
// of the script.
func (t *translator) ident(name string) (string, error) {
	if !slices.Contains(t.variables, name) {
		return "", &untranslatable{"the variable " + name}
	}
	if name == objectVariable {
		return "obj", nil
	}
	return "v_" + name, nil
}

func (t *translator) list(all []ast.Expr, depth int) (string, error) {
	out := make([]string, len(all))
	for i, e := range all {
		text, err := t.expr(e, depth+1)
		if err != nil {
			return "", err
		}
		out[i] = text
	}
	return strings.Join(out, ", "), nil
}

// lazy operands are functions: they may fail without the whole failing.
func lazy(expression string) string { return "function() return " + expression + " end" }

func (t *translator) call(c ast.CallExpr, depth int) (string, error) {
	if c.IsMemberFunction() {
		return t.member(c, depth)
	}
	if c.FunctionName() == operators.Has {
		return t.has(c, depth)
	}
	args := make([]string, len(c.Args()))
	for i, e := range c.Args() {
		text, err := t.expr(e, depth+1)
		if err != nil {
			return "", err
		}
		args[i] = text
	}
	compare := map[string]string{
		operators.Less: "<", operators.LessEquals: "<=", operators.Greater: ">", operators.GreaterEquals: ">=",
	}
	switch name := c.FunctionName(); name {
	case operators.LogicalAnd:
		return "both(" + lazy(args[0]) + ", " + lazy(args[1]) + ")", nil
	case operators.LogicalOr:
		return "either(" + lazy(args[0]) + ", " + lazy(args[1]) + ")", nil
	case operators.LogicalNot:
		return "(not boolean(" + args[0] + "))", nil
	case operators.Equals:
		return "equal(" + args[0] + ", " + args[1] + ")", nil
	case operators.NotEquals:
		return "(not equal(" + args[0] + ", " + args[1] + "))", nil
	case operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals:
		return "(" + args[0] + " " + compare[name] + " " + args[1] + ")", nil
	case operators.Add:
		return "add(" + args[0] + ", " + args[1] + ")", nil
	case operators.Subtract:
		return "(number(" + args[0] + ") - number(" + args[1] + "))", nil
	case operators.Multiply:
		return "(number(" + args[0] + ") * number(" + args[1] + "))", nil
	case operators.Negate:
		return "(-number(" + args[0] + "))", nil
	case operators.Index:
		return "get(" + args[0] + ", " + args[1] + ")", nil
	case operators.In, operators.OldIn:
		return "within(" + args[0] + ", " + args[1] + ")", nil
	case operators.Conditional:
		return "(function() if boolean(" + args[0] + ") then return " + args[1] + " end return " + args[2] + " end)()", nil
	case "size":
		return "size(" + args[0] + ")", nil
	default:
		return "", &untranslatable{"the function " + strings.Trim(name, "_?")}
	}
}

// has asks for a field without failing where it is not there.
func (t *translator) has(c ast.CallExpr, depth int) (string, error) {
	if len(c.Args()) != 1 || c.Args()[0].Kind() != ast.SelectKind {
		return "", &untranslatable{"has of anything but a field"}
	}
	s := c.Args()[0].AsSelect()
	operand, err := t.expr(s.Operand(), depth+1)
	if err != nil {
		return "", err
	}
	return "has(" + operand + ", " + Quote(s.FieldName()) + ")", nil
}

// member translates size and the macros over the elements of a list.
func (t *translator) member(c ast.CallExpr, depth int) (string, error) {
	target, err := t.expr(c.Target(), depth+1)
	if err != nil {
		return "", err
	}
	name := c.FunctionName()
	if name == "size" && len(c.Args()) == 0 {
		return "size(" + target + ")", nil
	}
	if name != operators.All && name != operators.Exists || len(c.Args()) != 2 || c.Args()[0].Kind() != ast.IdentKind {
		return "", &untranslatable{"the function " + name}
	}
	variable := c.Args()[0].AsIdent()
	if variable == objectVariable {
		return "", &untranslatable{"a variable that hides " + objectVariable}
	}
	t.variables = append(t.variables, variable)
	body, err := t.expr(c.Args()[1], depth+1)
	t.variables = t.variables[:len(t.variables)-1]
	if err != nil {
		return "", err
	}
	return name + "(" + target + ", function(v_" + variable + ") return " + body + " end)", nil
}

func literal(e ast.Expr) (string, error) {
	switch v := e.AsLiteral().(type) {
	case types.String:
		return Quote(string(v)), nil
	case types.Int:
		return strconv.FormatInt(int64(v), 10), nil
	case types.Uint:
		return strconv.FormatUint(uint64(v), 10), nil
	case types.Double:
		return strconv.FormatFloat(float64(v), 'g', -1, 64), nil
	case types.Bool:
		return strconv.FormatBool(bool(v)), nil
	default:
		return "", &untranslatable{"a value of type " + v.Type().TypeName()}
	}
}

// Quote writes a string of Lua. Bytes outside printable ASCII become decimal
// escapes, which Lua 5.1 reads as bytes.
func Quote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out.WriteByte('\\')
			out.WriteByte(b)
		case b < ' ' || b > '~':
			fmt.Fprintf(&out, `\%03d`, b)
		default:
			out.WriteByte(b)
		}
	}
	out.WriteByte('"')
	return out.String()
}
