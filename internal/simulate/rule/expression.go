package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
)

// Bounds of what a rule may cost.
const (
	maxCost     = 500_000 // of one expression, in CEL's units
	maxItems    = 512     // of one list that is gone through
	maxDocument = 1 << 20 // bytes of one rule document
	maxDepth    = 32      // of a template
)

// Scope holds the values that expressions see.
type Scope map[string]any

// variables that expressions know. Absent ones are null.
var variables = []string{"self", "vars", "refs", "item", "missing", "controller", "object", "ready", "held"}

// Expression is a CEL expression.
type Expression struct {
	text    string
	program func() (cel.Program, error)
}

// compiler makes expressions, and what is evaluated of them.
type compiler struct {
	// late compiles an expression when it is first evaluated.
	late bool
	// elsewhere evaluates them, where this process does not.
	elsewhere Elsewhere
}

// newEnv makes the environment once per process: it is costly and constant.
var newEnv = sync.OnceValues(func() (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.OptionalTypes(), ext.Strings(), ext.Encoders(), ext.Lists(), ext.Sets(), ext.Bindings(), ext.TwoVarComprehensions(),
		cel.Function("hash", cel.Overload("hash_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(digest(v)[:8]) }))),
		cel.Function("generate", cel.Overload("generate_string", []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(digest(v)[:32]) }))),
		cel.Function("condition", cel.Overload("condition_dyn_string", []*cel.Type{cel.DynType, cel.StringType}, cel.StringType,
			cel.BinaryBinding(func(object, kind ref.Val) ref.Val {
				return types.String(Condition(native(object), fmt.Sprint(kind.Value())))
			}))),
		cel.Function("serviceOf", cel.Overload("service_of", []*cel.Type{cel.StringType, cel.StringType}, cel.DynType,
			cel.BinaryBinding(func(address, namespace ref.Val) ref.Val {
				service := serviceOf(fmt.Sprint(address.Value()), fmt.Sprint(namespace.Value()))
				if service == nil {
					return types.NullValue
				}
				return types.DefaultTypeAdapter.NativeToValue(service)
			}))),
	}
	options = append(options, cel.Function("secretRefs", cel.Overload("secret_refs", []*cel.Type{cel.DynType}, cel.DynType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			return types.DefaultTypeAdapter.NativeToValue(secretRefs(native(v), 0))
		}))))
	options = append(options, cel.Function("olmPackage", cel.Overload("olm_package", []*cel.Type{cel.StringType}, cel.DynType,
		cel.UnaryBinding(func(v ref.Val) ref.Val {
			known := olmPackage(fmt.Sprint(v.Value()))
			if known == nil {
				return types.NullValue
			}
			return types.DefaultTypeAdapter.NativeToValue(known)
		}))))
	for _, v := range variables {
		options = append(options, cel.Variable(v, cel.DynType))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		return nil, fmt.Errorf("make the expression language: %w", err)
	}
	return env, nil
})

// compile returns nil for an empty text.
func (c *compiler) compile(text string) (*Expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	e := &Expression{text, sync.OnceValues(func() (cel.Program, error) { return program(text) })}
	if !c.late {
		if _, err := e.program(); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func program(text string) (cel.Program, error) {
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	program, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return program, nil
}

// Eval returns the value as plain Go: nil, bool, int64, uint64, float64,
// string, []any, map[string]any.
func (e *Expression) Eval(s Scope) (any, error) {
	activation := make(map[string]any, len(variables))
	for _, v := range variables {
		activation[v] = s[v]
	}
	program, err := e.program()
	if err != nil {
		return nil, err
	}
	value, _, err := program.Eval(activation)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", e.text, err)
	}
	return native(value), nil
}

// Bool evaluates a condition; a nil expression is true.
func (e *Expression) Bool(s Scope) (bool, error) {
	if e == nil {
		return true, nil
	}
	v, err := e.Eval(s)
	if err != nil {
		return false, err
	}
	b, ok := v.(bool)
	if !ok {
		return false, fmt.Errorf("expression %q: is %T, not a condition", e.text, v)
	}
	return b, nil
}

// Items evaluates a list; a nil expression is a list of one null.
func (e *Expression) Items(s Scope) ([]any, error) {
	if e == nil {
		return []any{nil}, nil
	}
	v, err := e.Eval(s)
	if err != nil || v == nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("expression %q: is %T, not a list", e.text, v)
	}
	if len(list) > maxItems {
		return nil, fmt.Errorf("expression %q: has more than %d items", e.text, maxItems)
	}
	return list, nil
}

func digest(v ref.Val) string {
	sum := sha256.Sum256([]byte("ladder/" + fmt.Sprint(v.Value())))
	return hex.EncodeToString(sum[:])
}

// Condition returns the status of a condition of an object, "" for none.
func Condition(object any, kind string) string {
	m, _ := object.(map[string]any)
	status, _ := m["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind {
			s, _ := c["status"].(string)
			return s
		}
	}
	return ""
}

// secretRefs collects, in order of their fields, the references to Secrets in a
// value: maps with a name below a field that ends in "SecretRef" or is
// "secretRef". Each is {name, namespace, key}; the latter two may be empty.
func secretRefs(value any, depth int) []any {
	out := []any{}
	if depth > maxDepth {
		return out
	}
	switch v := value.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			m, isMap := v[field].(map[string]any)
			name, named := m["name"].(string)
			if isMap && named && (strings.HasSuffix(field, "SecretRef") || field == "secretRef") {
				namespace, _ := m["namespace"].(string)
				key, _ := m["key"].(string)
				out = append(out, map[string]any{"name": name, "namespace": namespace, "key": key})
				continue
			}
			out = append(out, secretRefs(v[field], depth+1)...)
		}
	case []any:
		for _, item := range v {
			out = append(out, secretRefs(item, depth+1)...)
		}
	}
	return out
}

// serviceOf names the Service of the cluster that an address points to, nil for
// one that leads out of it. "vault.vault.svc:8200", "http://vault.vault",
// "https://db-rw.data.svc.cluster.local/x" and a bare name in the namespace are
// understood.
func serviceOf(address, namespace string) map[string]any {
	host := address
	if strings.Contains(address, "://") {
		u, err := url.Parse(address)
		if err != nil {
			return nil
		}
		host = u.Host
	}
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimSuffix(host, "."), ".cluster.local")
	labels := strings.Split(host, ".")
	switch {
	case host == "" || net.ParseIP(host) != nil || host == "localhost":
		return nil
	case len(labels) == 1:
		return map[string]any{"name": labels[0], "namespace": namespace}
	case len(labels) == 3 && labels[2] == "svc", len(labels) == 2 && !publicSuffix(labels[1]):
		return map[string]any{"name": labels[0], "namespace": labels[1]}
	case len(labels) == 4 && labels[3] == "svc":
		return map[string]any{"name": labels[1], "namespace": labels[2]} // a pod behind a headless Service
	}
	return nil
}

// publicSuffix tells "example.com" from "service.namespace". A namespace of
// such a name is rare, and its Service can be written with ".svc".
func publicSuffix(label string) bool {
	switch label {
	case "com", "org", "net", "io", "dev", "cloud", "local", "internal", "app", "co", "ai", "eu", "de", "nl", "fr", "uk":
		return true
	}
	return false
}
