// Package cel evaluates readiness expressions in CEL. The functions are pure, and bounded by
// whoever calls them: see package script.
package cel

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

// celCost bounds one evaluation, in cel-go's abstract units: far more than a
// readiness expression needs. Unlike a limit on time it is the same everywhere.
const celCost = 1_000_000

// environment builds the CEL environment once; it is immutable and expensive.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(ext.Strings(), ext.Lists(), ext.Sets(), cel.OptionalTypes())
})

// Expression is a compiled boolean expression over one variable of any type.
type Expression struct {
	program  cel.Program
	variable string
	env      *cel.Env
	ast      *cel.Ast
}

// Compile compiles an expression.
func Compile(expression, variable string) (*Expression, error) {
	base, err := environment()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	env, err := base.Extend(cel.Variable(variable, cel.DynType))
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("CEL expression does not compile: line %d, column %d: %s",
			first.Location.Line(), first.Location.Column()+1, first.Message)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) && !out.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("CEL expression is a %s, not a boolean", out)
	}
	program, err := env.Program(ast, cel.CostLimit(celCost))
	return &Expression{program, variable, env, ast}, err
}

// IsCertain reports whether the expression is true whatever its variable is.
func (c *Expression) IsCertain() bool {
	unknown, err := cel.PartialVars(map[string]any{}, cel.AttributePattern(c.variable))
	if err != nil {
		return false
	}
	known := c.ast
	if c.variable == listVariable {
		if simpler, issues := cel.NewStaticOptimizer(counted{}).Optimize(c.env, known); issues.Err() == nil {
			known = simpler
		}
	}
	program, err := c.env.Program(known, cel.CostLimit(celCost), cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return false
	}
	out, _, err := program.Eval(unknown)
	return err == nil && out.Value() == true
}

// Holds evaluates the expression. One that reaches for a field which is not there
// yet is false, with the reason.
func (c *Expression) Holds(value any) (holds bool, reason string) {
	out, _, err := c.program.Eval(map[string]any{c.variable: value})
	if err != nil {
		return false, strings.TrimSpace(err.Error())
	}
	result, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Sprintf("is a %s, not a boolean", out.Type().TypeName())
	}
	return result, ""
}
