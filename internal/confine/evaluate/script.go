package evaluate

import (
	"context"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings/expression"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

// The methods about the health of objects.
const (
	methodLua       = "lua"
	methodCEL       = "cel"
	methodArgoCM    = "argocd-cm"
	methodMatch     = "match"
	methodTranslate = "translate"
	scriptsOfMany   = 20 * time.Second // for all the scripts of an argocd-cm
)

// luaQuestion is a script to run, or only to compile.
type luaQuestion struct {
	Name   string         `json:"name"`
	Text   string         `json:"text"`
	Object map[string]any `json:"object,omitempty"`
	Now    time.Time      `json:"now"`
	Check  bool           `json:"check,omitempty"`
}

// atAnyTime implements timed: no script is taken to end only at another time.
func (q luaQuestion) atAnyTime() any {
	q.Now = time.Time{}
	return q
}

var luaKept kept[*script.Lua]

// runLua is methodLua, in the worker. Every run has an interpreter of its own.
func runLua(q luaQuestion) (script.Result, error) {
	compiled, err := luaKept.get(q.Name+"\n"+q.Text, func() (*script.Lua, error) { return script.CompileLua(q.Name, q.Text) })
	if err != nil || q.Check {
		return script.Result{}, err
	}
	interpreter := script.NewInterpreter()
	defer interpreter.Close()
	return interpreter.Run(context.Background(), compiled, q.Object, q.Now)
}

// CheckLua compiles a health script in a worker.
func CheckLua(ctx context.Context, name, text string) error {
	_, err := ask[luaQuestion, script.Result](ctx, methodLua, luaQuestion{Name: name, Text: text, Check: true}, smallTime)
	return err
}

// Lua runs a health script over an object in a worker.
func Lua(ctx context.Context, name, text string, object map[string]any, now time.Time) (script.Result, error) {
	return ask[luaQuestion, script.Result](ctx, methodLua, luaQuestion{Name: name, Text: text, Object: object, Now: now}, smallTime)
}

// celQuestion is an expression to evaluate, or only to compile.
type celQuestion struct {
	Expression string `json:"expression"`
	Variable   string `json:"variable"`
	Value      any    `json:"value,omitempty"`
	Check      bool   `json:"check,omitempty"`
}

type celAnswer struct {
	Holds  bool   `json:"holds"`
	Reason string `json:"reason,omitempty"`
}

var celKept kept[*script.CEL]

// evalCEL is methodCEL, in the worker.
func evalCEL(q celQuestion) (celAnswer, error) {
	compiled, err := celKept.get(q.Variable+"\n"+q.Expression, func() (*script.CEL, error) { return script.CompileCEL(q.Expression, q.Variable) })
	if err != nil || q.Check {
		return celAnswer{}, err
	}
	holds, reason := compiled.Holds(q.Value)
	return celAnswer{holds, reason}, nil
}

// CheckCEL compiles a boolean expression over a variable in a worker.
func CheckCEL(ctx context.Context, expression, variable string) error {
	_, err := ask[celQuestion, celAnswer](ctx, methodCEL, celQuestion{Expression: expression, Variable: variable, Check: true}, smallTime)
	return err
}

// CEL evaluates a boolean expression over a variable in a worker. Where it does not
// hold for another reason than being false, that is the reason. The error is about
// an expression that does not compile or goes over a limit.
func CEL(ctx context.Context, expression, variable string, value any) (holds bool, reason string, err error) {
	a, err := ask[celQuestion, celAnswer](ctx, methodCEL, celQuestion{Expression: expression, Variable: variable, Value: value}, smallTime)
	return a.Holds, a.Reason, err
}

type argoCMAnswer struct {
	Scripts  []script.Script  `json:"scripts"`
	Problems []script.Problem `json:"problems"`
}

// readArgoCM is methodArgoCM, in the worker.
func readArgoCM(data map[string]string) (argoCMAnswer, error) {
	scripts, problems := script.FromArgoCM(data)
	return argoCMAnswer{scripts, problems}, nil
}

// ArgoCM reads the health scripts of an argocd-cm in a worker.
func ArgoCM(ctx context.Context, data map[string]string) ([]script.Script, []script.Problem, error) {
	a, err := ask[map[string]string, argoCMAnswer](ctx, methodArgoCM, data, scriptsOfMany)
	return a.Scripts, a.Problems, err
}

// matchQuestion asks which script is for a kind.
type matchQuestion struct {
	Scripts []script.Script `json:"scripts"` // without their text
	Group   string          `json:"group"`
	Kind    string          `json:"kind"`
}

// match is methodMatch, in the worker.
func match(q matchQuestion) (int, error) { return script.Match(q.Scripts, q.Group, q.Kind), nil }

// Match returns the first of some scripts that is for a kind, -1 for none. Patterns
// are matched in a worker: some take for ever.
func Match(ctx context.Context, scripts []script.Script, group, kind string) (int, error) {
	return ask[matchQuestion, int](ctx, methodMatch, matchQuestion{scripts, group, kind}, smallTime)
}

type translateQuestion struct {
	Expression string `json:"expression"`
}

// translate is methodTranslate, in the worker.
func translate(q translateQuestion) (string, error) { return expression.Translate(q.Expression) }

// Translate says a readiness expression in the Lua of Argo CD; a worker does so.
func Translate(ctx context.Context, text string) (string, error) {
	return ask[translateQuestion, string](ctx, methodTranslate, translateQuestion{text}, smallTime)
}
