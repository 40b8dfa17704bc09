package script

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Result is what a script says of an object.
type Result struct {
	Health  rollout.Health `json:"health"`
	Message string         `json:"message,omitempty"`
}

// Lua is a compiled health script.
type Lua struct{ proto *lua.FunctionProto }

// CompileLua compiles a health script.
func CompileLua(name, source string) (*Lua, error) {
	chunk, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, fmt.Errorf("parse Lua %s: %w", name, err)
	}
	proto, err := lua.Compile(chunk, name)
	if err != nil {
		return nil, fmt.Errorf("compile Lua %s: %w", name, err)
	}
	return &Lua{proto}, nil
}

// Interpreter runs scripts, one at a time. Scripts that do not trust each other
// need interpreters of their own: a script can change the libraries.
type Interpreter struct {
	state *lua.LState
	// library is all that a script can reach.
	library *lua.LTable
}

// names are what a script gets of the libraries: what computes. What reads files,
// loads code or prints is left out.
func names() []string {
	return []string{
		"_VERSION", "assert", "error", "getmetatable", "ipairs", "next", "pairs", "pcall", "rawequal", "rawget", "rawset",
		"select", "setmetatable", "tonumber", "tostring", "type", "unpack", "xpcall",
		lua.TabLibName, lua.StringLibName, lua.MathLibName,
	}
}

// NewInterpreter returns an interpreter that can compute and nothing else.
func NewInterpreter() *Interpreter {
	l := lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 200, RegistrySize: 1024, RegistryMaxSize: 1 << 18})
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath},
	} {
		l.Push(l.NewFunction(lib.open))
		l.Push(lua.LString(lib.name))
		l.Call(1, 0)
	}
	library := l.NewTable()
	for _, name := range names() {
		library.RawSetString(name, l.G.Global.RawGetString(name))
	}
	library.RawSetString("_G", library)
	return &Interpreter{l, library}
}

// Close frees the interpreter.
func (i *Interpreter) Close() { i.state.Close() }

// Run runs a script over an object, until ctx ends. now is what os.time tells.
func (i *Interpreter) Run(ctx context.Context, script *Lua, object map[string]any, now time.Time) (Result, error) {
	l := i.state
	l.SetContext(ctx)
	defer l.RemoveContext()

	// The script's globals live in a table of their own, thrown away after the
	// run, that falls back to the libraries.
	env := l.NewTable()
	meta := l.NewTable()
	meta.RawSetString("__index", i.library)
	l.SetMetatable(env, meta)
	env.RawSetString("obj", decode(l, object, 0))
	env.RawSetString("os", clockTable(l, now))

	fn := l.NewFunctionFromProto(script.proto)
	fn.Env = env
	top := l.GetTop()
	defer l.SetTop(top)
	if err := l.CallByParam(lua.P{Fn: fn, NRet: 1, Protect: true}); err != nil {
		return Result{}, scriptError(err)
	}
	return readResult(l.Get(-1))
}

// clockTable is the os library that scripts get: the time, nothing else.
func clockTable(l *lua.LState, now time.Time) *lua.LTable {
	t := l.NewTable()
	t.RawSetString("time", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(now.Unix()))
		return 1
	}))
	return t
}

// readResult reads what a script returned: {status, message}; an empty table or
// nothing means that the object has no health of its own.
func readResult(v lua.LValue) (Result, error) {
	if v == lua.LNil {
		return Result{Health: rollout.Healthy}, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return Result{}, fmt.Errorf("returned a %s, not a table", v.Type())
	}
	h := rollout.Health(lua.LVAsString(t.RawGetString("status")))
	if h == "" {
		return Result{Health: rollout.Healthy}, nil
	}
	if !valid(h) {
		return Result{}, fmt.Errorf("returned the health %q", h)
	}
	return Result{h, lua.LVAsString(t.RawGetString("message"))}, nil
}

// valid reports whether a health is one of Argo CD's.
func valid(h rollout.Health) bool {
	switch h {
	case rollout.Unknown, rollout.Missing, rollout.Progressing, rollout.Suspended, rollout.Degraded, rollout.Healthy:
		return true
	}
	return false
}

// scriptError is what a script failed with. Of an error that is no text there is
// only its type to tell: an address says nothing.
func scriptError(err error) error {
	var api *lua.ApiError
	if !errors.As(err, &api) || api.Object == nil || api.Object == lua.LNil {
		return err
	}
	if !lua.LVCanConvToString(api.Object) {
		return fmt.Errorf("raised a %s, not a text", api.Object.Type())
	}
	return errors.New(api.Object.String())
}

// maxDepth bounds how deep an object is handed to a script.
const maxDepth = 64

// decode turns JSON-like data into Lua values. Managed fields are left out:
// no script reads them and they can be larger than the object.
func decode(l *lua.LState, v any, depth int) lua.LValue {
	if depth > maxDepth {
		return lua.LNil
	}
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case int:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, item := range v {
			t.Append(decode(l, item, depth+1))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for key, item := range v {
			if key == "managedFields" && depth == 1 {
				continue
			}
			t.RawSetString(key, decode(l, item, depth+1))
		}
		return t
	default:
		return lua.LNil
	}
}
