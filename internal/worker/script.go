package worker

import (
	"context"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings/expression"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/kube/health/cel"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

var luaKept kept[*script.Lua]

// runLua is wire.Lua, in the worker. Every run has an interpreter of its own.
func runLua(q wire.LuaQuestion) (script.Result, error) {
	compiled, err := luaKept.get(q.Name+"\n"+q.Text, func() (*script.Lua, error) { return script.CompileLua(q.Name, q.Text) })
	if err != nil || q.Check {
		return script.Result{}, err
	}
	interpreter := script.NewInterpreter()
	defer interpreter.Close()
	return interpreter.Run(context.Background(), compiled, q.Object, q.Now)
}

var celKept kept[*cel.Expression]

// evalCEL is wire.CEL, in the worker.
func evalCEL(q wire.CELQuestion) (wire.CELAnswer, error) {
	compiled, err := celKept.get(q.Variable+"\n"+q.Expression, func() (*cel.Expression, error) { return cel.Compile(q.Expression, q.Variable) })
	if err != nil || q.Check {
		return wire.CELAnswer{}, err
	}
	if q.Certain {
		return wire.CELAnswer{Holds: compiled.IsCertain()}, nil
	}
	holds, reason := compiled.Holds(q.Value)
	return wire.CELAnswer{Holds: holds, Reason: reason}, nil
}

// readArgoCM is wire.ArgoCM, in the worker.
func readArgoCM(data map[string]string) (wire.ArgoCMAnswer, error) {
	scripts, problems := script.FromArgoCM(data)
	return wire.ArgoCMAnswer{Scripts: scripts, Problems: problems}, nil
}

// match is wire.Match, in the worker.
func match(q wire.MatchQuestion) (int, error) { return script.Match(q.Scripts, q.Group, q.Kind), nil }

// translate is wire.Translate, in the worker.
func translate(q wire.TranslateQuestion) (string, error) { return expression.Translate(q.Expression) }
