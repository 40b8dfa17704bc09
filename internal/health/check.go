package health

import (
	"fmt"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/rollout"
)

// check is one compiled readiness check of a descriptor.
type check struct {
	script     *script
	program    cel.Program
	expression string
}

// addChecks compiles the checks of a descriptor.
func (a *Assessor) addChecks(checks []component.HealthCheck) error {
	for _, hc := range checks {
		c, err := compileCheck(hc)
		if err != nil {
			return fmt.Errorf("%s: health check on %s: %w", hc.Position, hc.Kind, err)
		}
		gk := schema.GroupKind{Group: hc.Group, Kind: hc.Kind}
		a.checks[gk] = append(a.checks[gk], c)
	}
	return nil
}

func compileCheck(hc component.HealthCheck) (check, error) {
	if hc.Lua != "" {
		proto, err := compileLua(hc.Position.String(), hc.Lua)
		if err != nil {
			return check{}, err
		}
		return check{script: &script{
			name:      hc.Position.String(),
			compile:   func() (*lua.FunctionProto, error) { return proto, nil },
			untrusted: true,
		}}, nil
	}
	program, err := CompileCEL(hc.CEL, "object")
	if err != nil {
		return check{}, err
	}
	return check{program: program, expression: hc.CEL}, nil
}

// celCost bounds one evaluation, in cel-go's abstract units: far more than a
// readiness expression needs, far less than a second.
const celCost = 1_000_000

// environment builds the CEL environment once; it is immutable and expensive.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(ext.Strings(), ext.Lists(), ext.Sets(), cel.OptionalTypes())
})

// CompileCEL compiles a boolean expression over the given variables, each of
// any type, with a bound on what one evaluation may cost.
func CompileCEL(expression string, variables ...string) (cel.Program, error) {
	base, err := environment()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	options := make([]cel.EnvOption, 0, len(variables))
	for _, v := range variables {
		options = append(options, cel.Variable(v, cel.DynType))
	}
	env, err := base.Extend(options...)
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
	return env.Program(ast, cel.CostLimit(celCost), cel.InterruptCheckFrequency(100))
}

// EvalCEL evaluates a compiled expression. An expression that reaches for a
// field which is not there yet is false, with the reason.
func EvalCEL(program cel.Program, variables map[string]any) (holds bool, reason string) {
	out, _, err := program.Eval(variables)
	if err != nil {
		return false, strings.TrimSpace(err.Error())
	}
	value, ok := out.Value().(bool)
	if !ok {
		return false, fmt.Sprintf("is a %s, not a boolean", out.Type().TypeName())
	}
	return value, ""
}

// maxBrief bounds how much of an expression a message shows, in characters.
const maxBrief = 120

// Brief is an expression on one line, cut where it is long.
func Brief(expression string) string {
	line := []rune(strings.Join(strings.Fields(expression), " "))
	if len(line) <= maxBrief {
		return string(line)
	}
	return string(line[:maxBrief]) + " ..."
}

// extra applies an expression on top of the kind's own assessment.
func (c check) extra(obj *unstructured.Unstructured) Status {
	if c.program == nil {
		return Status{Health: rollout.Healthy}
	}
	holds, reason := EvalCEL(c.program, map[string]any{"object": obj.Object})
	if holds {
		return Status{Health: rollout.Healthy}
	}
	message := "health check does not hold: " + Brief(c.expression)
	if reason != "" {
		message += " (" + reason + ")"
	}
	return Status{rollout.Progressing, message}
}
