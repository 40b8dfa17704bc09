package health

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/rollout"
)

// The limits of one run of a script.
const (
	scriptTime         = time.Second
	scriptInstructions = 1_000_000
	scriptMemory       = 64 << 20 // growth of the heap, for untrusted scripts
	scriptString       = 1 << 20  // bytes, the longest string string.rep makes
)

var errInstructions = errors.New("ran too many instructions")
var errMemory = errors.New("used too much memory")

// newState returns an interpreter that can compute and nothing else: no files,
// modules, environment, dynamic code or output.
func newState() *lua.LState {
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
	for _, name := range []string{
		"dofile", "loadfile", "load", "loadstring", "require", "module",
		"collectgarbage", "print", "_printregs", "newproxy", "getfenv", "setfenv",
	} {
		l.SetGlobal(name, lua.LNil)
	}
	if strings, ok := l.GetGlobal("string").(*lua.LTable); ok {
		strings.RawSetString("rep", l.NewFunction(repeat))
		strings.RawSetString("dump", lua.LNil)
	}
	return l
}

// repeat is string.rep with a limit.
func repeat(l *lua.LState) int {
	s, n := l.CheckString(1), l.CheckInt(2)
	if n > 0 && len(s) > scriptString/n {
		l.RaiseError("string.rep: result is longer than %d bytes", scriptString)
	}
	l.Push(lua.LString(strings.Repeat(s, max(n, 0))))
	return 1
}

// runScript runs a script over an object. A script that fails on an object
// that has no status yet means Progressing: shipped scripts reach into
// obj.status without looking.
func (a *Assessor) runScript(s *script, obj *unstructured.Unstructured) Status {
	result, err := a.tryScript(s, obj)
	if err == nil {
		return result
	}
	if _, has := obj.Object["status"]; !has {
		return Status{rollout.Progressing, "has no status yet"}
	}
	return Status{rollout.Unknown, fmt.Sprintf("health script %s: %v", s.name, err)}
}

func (a *Assessor) tryScript(s *script, obj *unstructured.Unstructured) (result Status, err error) {
	proto, err := s.compile()
	if err != nil {
		return Status{}, err
	}
	var l *lua.LState
	if s.untrusted {
		l = newState()
		defer l.Close()
	} else {
		l, _ = a.scripts.states.Get().(*lua.LState)
		defer func() {
			if err == nil { // a state that failed half way is not used again
				a.scripts.states.Put(l)
			}
		}()
	}
	timeout, cancel := context.WithTimeout(context.Background(), scriptTime)
	defer cancel()
	l.SetContext(newBudget(timeout, s.untrusted))
	defer l.RemoveContext()

	// The script's globals live in a table of their own, thrown away after the
	// run, that falls back to the libraries.
	env := l.NewTable()
	meta := l.NewTable()
	meta.RawSetString("__index", l.G.Global)
	l.SetMetatable(env, meta)
	env.RawSetString("obj", decode(l, withoutSchemas(obj), 0))
	env.RawSetString("os", a.clockTable(l))

	fn := l.NewFunctionFromProto(proto)
	fn.Env = env
	top := l.GetTop()
	defer l.SetTop(top)
	if err := l.CallByParam(lua.P{Fn: fn, NRet: 1, Protect: true}); err != nil {
		return Status{}, scriptError(err)
	}
	return readResult(l.Get(-1))
}

// clockTable is the os library that scripts get: the time, nothing else.
func (a *Assessor) clockTable(l *lua.LState) *lua.LTable {
	t := l.NewTable()
	t.RawSetString("time", l.NewFunction(func(l *lua.LState) int {
		l.Push(lua.LNumber(a.now().Unix()))
		return 1
	}))
	return t
}

// readResult reads what a script returned: {status, message}; an empty table or
// nothing means that the object has no health of its own.
func readResult(v lua.LValue) (Status, error) {
	if v == lua.LNil {
		return Status{Health: rollout.Healthy}, nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return Status{}, fmt.Errorf("returned a %s, not a table", v.Type())
	}
	h := rollout.Health(lua.LVAsString(t.RawGetString("status")))
	if h == "" {
		return Status{Health: rollout.Healthy}, nil
	}
	if !valid(h) {
		return Status{}, fmt.Errorf("returned the health %q", h)
	}
	return Status{h, lua.LVAsString(t.RawGetString("message"))}, nil
}

func scriptError(err error) error {
	var api *lua.ApiError
	if errors.As(err, &api) && api.Object != nil {
		return errors.New(api.Object.String())
	}
	return err
}

// withoutSchemas is what scripts get of an object: of a CustomResourceDefinition
// everything but the schemas, which no script reads and which can be megabytes.
func withoutSchemas(obj *unstructured.Unstructured) map[string]any {
	spec, _ := obj.Object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if obj.GetKind() != "CustomResourceDefinition" || len(versions) == 0 {
		return obj.Object
	}
	lean := maps.Clone(obj.Object)
	spec = maps.Clone(spec)
	versions = slices.Clone(versions)
	for i, v := range versions {
		if version, ok := v.(map[string]any); ok {
			version = maps.Clone(version)
			delete(version, "schema")
			versions[i] = version
		}
	}
	spec["versions"], lean["spec"] = versions, spec
	return lean
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

// budget is a context that ends after a number of calls of Done: gopher-lua
// asks once per instruction. With memory set it also looks at the heap.
type budget struct {
	context.Context
	calls  int
	memory bool
	start  uint64
	err    error
	closed chan struct{}
}

func newBudget(ctx context.Context, memory bool) *budget {
	b := &budget{Context: ctx, memory: memory, closed: make(chan struct{})}
	close(b.closed)
	if memory {
		b.start = heap()
	}
	return b
}

// Done implements context.Context.
func (b *budget) Done() <-chan struct{} {
	b.calls++
	if b.calls > scriptInstructions && b.err == nil {
		b.err = errInstructions
	}
	// A script can double a string every few instructions, so look often.
	if b.memory && b.calls%8 == 0 && b.err == nil && heap() > b.start+scriptMemory {
		b.err = errMemory
	}
	if b.err != nil {
		return b.closed
	}
	return b.Context.Done()
}

// Err implements context.Context.
func (b *budget) Err() error {
	if b.err != nil {
		return b.err
	}
	if errors.Is(b.Context.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("ran longer than %s", scriptTime)
	}
	return b.Context.Err()
}

func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
