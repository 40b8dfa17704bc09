package evaluate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/rule/confined"
	_ "github.com/rollout-ladder/ladder/internal/worker" // who asks and who answers are tested together
)

// object is a small live object.
func object() map[string]any {
	return map[string]any{"kind": "Thing", "metadata": map[string]any{"name": "a"}, "status": map[string]any{"ready": int64(2), "part": 0.5, "phase": "Up"}}
}

// wantGood runs a script that is nothing special: what came before it must not be
// its harm.
func wantGood(t *testing.T) {
	t.Helper()
	got, err := evaluate.Lua(t.Context(), "good", `return {status = "Degraded", message = obj.status.phase .. obj.status.ready .. os.time()}`, object(), time.Unix(7, 0))
	if want := (script.Result{Health: rollout.Degraded, Message: "Up27"}); err != nil || got != want {
		t.Errorf("the good script says %+v, %v", got, err)
	}
	holds, reason, err := evaluate.CEL(t.Context(), "object.status.ready / 2 == 1 && object.status.part < 1.0", "object", object())
	if !holds || reason != "" || err != nil {
		t.Errorf("the good expression holds: %v, %q, %v", holds, reason, err)
	}
}

// wantOneOf fails for an error that says none of some things.
func wantOneOf(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err != nil && strings.Contains(err.Error(), w) {
			return
		}
	}
	t.Errorf("error = %v, want one of %q", err, want)
}

const (
	tooLong = "ran longer than 250ms"
	tooMuch = "MiB of memory"
	tooDeep = "nests without end"
)

// Whatever a script does ends it, not the process that asks; the next one is
// assessed.
func TestHostileLua(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"find":              {`string.find(("a"):rep(1500), ".-.-.-b")`, []string{tooLong}},
		"gsub":              {`return (("a"):rep(5000)):gsub(".-.-.-b", "")`, []string{tooLong}},
		"gmatch":            {`for x in (("a"):rep(5000)):gmatch(".-.-.-b") do end`, []string{tooLong}},
		"endless":           {`while true do end`, []string{tooLong}},
		"endless in pcall":  {`while true do pcall(function() while true do end end) end`, []string{tooLong}},
		"doubling":          {`local s = "aaaaaaaaaaaaaaaa" while true do s = s .. s end`, []string{tooMuch, tooLong}},
		"long string":       {`return {status = string.rep("x", 2000000000)}`, []string{tooMuch, tooLong}},
		"long format":       {`return {status = string.format("%999999999d", 1)}`, []string{tooMuch, tooLong, "returned the health"}},
		"growing table":     {`local t = {} while true do t[#t + 1] = {t} end`, []string{tooMuch, tooLong}},
		"table of one hole": {`local t = {} t[2^31] = 1 return table.concat(t, "x", 1, 2^31)`, []string{tooMuch, tooLong, "invalid value", "returned a string"}},
		"recursion":         {`local function f() return 1 + f() end return f()`, []string{"stack overflow"}},
		"recursion in gsub": {`local function f() return (("x"):gsub("x", f)) end return f()`, []string{"stack overflow"}},
		"recursion by meta": {`local t = {} setmetatable(t, {__index = function(a, b) return a[b] end}) return t.x`, []string{"stack overflow"}},
		"coroutines":        {`while true do coroutine.resume(coroutine.create(function() end)) end`, []string{"attempt to index a non-table object(nil)"}},
		"error object":      {`error({1})`, []string{"raised a table, not a text"}},
		"error function":    {`error(function() end)`, []string{"raised a function, not a text"}},
		"bad handler":       {`return xpcall(function() error("a") end, function() error("b") end) and {} or error("over")`, []string{"over", "b"}},
		"no text":           {`return {status = {}}`, nil},
		"changed library":   {`string.rep = nil table.insert = nil tostring = nil return {status = "Healthy"}`, nil},
		"files":             {`dofile("/etc/passwd")`, []string{"attempt to call a non-function object"}},
		"code":              {`loadstring("return 1")()`, []string{"attempt to call a non-function object"}},
		"programs":          {`os.execute("true")`, []string{"attempt to call a non-function object"}},
		"deep source":       {"return " + strings.Repeat("(", 1_000_000) + "1" + strings.Repeat(")", 1_000_000), []string{tooDeep, tooLong, tooMuch, "returned a number"}},
		"deep functions":    {strings.Repeat("return function() ", 300_000) + strings.Repeat("end ", 300_000), []string{tooDeep, tooLong, tooMuch, "returned a function", "parse Lua", "compile Lua"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := evaluate.Lua(t.Context(), "bad", tc.text, object(), time.Unix(0, 0))
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
			} else {
				wantOneOf(t, err, tc.want...)
			}
			wantGood(t)
		})
	}
}

func TestHostileCEL(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	product := "[1,2,3,4,5,6,7,8,9,10]"
	for range 8 {
		product = "[1,2,3,4,5,6,7,8,9,10].map(x, " + product + ")"
	}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"replace":      {`"a"` + strings.Repeat(`.replace("a", "aa")`, 40) + ` == ""`, []string{tooMuch, tooLong, "cost limit"}},
		"product":      {product + " == []", []string{tooLong, tooMuch, "cost limit", "recursion"}},
		"join":         {`[1,2,3,4,5,6,7,8,9,10].map(x, ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"].join("")).join("")` + strings.Repeat(`.replace("a", "aaaaaaaaaa")`, 12) + ` == ""`, []string{tooMuch, tooLong, "cost limit"}},
		"deep":         {strings.Repeat("(", 100_000) + "true" + strings.Repeat(")", 100_000), []string{"recursion", "size exceeds", tooLong, tooDeep, tooMuch}},
		"deep lists":   {strings.Repeat("[", 40_000) + strings.Repeat("]", 40_000) + " == []", []string{"recursion", "size exceeds", tooLong, tooDeep, tooMuch}},
		"deep not":     {strings.Repeat("!", 100_001) + "true", []string{"recursion", "size exceeds", tooLong, tooDeep, tooMuch, "does not compile"}},
		"many members": {"object" + strings.Repeat(".a", 49_000) + " == 1", []string{"no such key", "recursion", tooLong, tooDeep, tooMuch}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holds, reason, err := evaluate.CEL(t.Context(), tc.text, "object", object())
			if err == nil {
				err = errors.New(reason)
			}
			if holds {
				t.Error("it holds")
			}
			wantOneOf(t, err, tc.want...)
			if _, err := evaluate.Translate(t.Context(), tc.text); err == nil {
				t.Error("it is translated")
			}
			wantGood(t)
		})
	}
}

// Patterns of an argocd-cm can take for ever.
func TestHostilePatterns(t *testing.T) {
	scripts := []script.Script{{Group: "*.io", Kind: "Thing"}, {Group: strings.Repeat("*a", 30) + "b", Kind: "*"}}
	if i, err := evaluate.Match(t.Context(), scripts, "x.io", "Thing"); i != 0 || err != nil {
		t.Errorf("match %d, %v", i, err)
	}
	i, err := evaluate.Match(t.Context(), scripts, strings.Repeat("a", 63), "Thing")
	if err == nil && i != -1 {
		t.Errorf("match %d", i)
	}
	wantGood(t)
}

// The end of the caller is the end of a script.
func TestLuaEndsWithItsCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := evaluate.Lua(ctx, "ends with its caller", "while true do end", object(), time.Unix(0, 0)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	wantGood(t)
}

const rules = "apiVersion: " + rule.APIVersion + `
operators:
  - for: acme.example.com/Bucket
    delay: 90s
    when: self.spec.n > 1
    vars: [{name: a, value: "${self.spec.n}"}, {name: b, value: "${vars.a * 2}"}]
    requires:
      - {kind: Secret, each: "[1, 2]", when: item > 1, namespace: "", object: "s${item}", keys: "['x']", ready: ready || held}
    children:
      - {each: "[1.5]", object: {apiVersion: v1, kind: Secret, metadata: {name: "c"}, data: {item: "${item}", i: "${self.spec.n}", whole: 3}}}
    status: {ready: {twice: "${vars.b}"}}
`

// Rules mean in a worker what they mean in this process.
func TestRulesElsewhere(t *testing.T) {
	var here, there rule.Set
	if err := here.Add("own.yaml", []byte(rules)); err != nil {
		t.Fatal(err)
	}
	if err := there.AddElsewhere(t.Context(), confined.Rules{}, "own.yaml", []byte(rules)); err != nil {
		t.Fatal(err)
	}
	scope := rule.Scope{"self": map[string]any{"spec": map[string]any{"n": int64(3)}}, "vars": map[string]any{"b": int64(6)}, "ready": false, "held": true}
	parts := func(s rule.Set) map[string]*rule.Evaluation {
		o := s.Operators[0]
		r := o.Requirements[0]
		return map[string]*rule.Evaluation{
			"when": o.WhenExpr, "vars": o.VarValues, "looked": r.Looked, "keys": r.KeysExpr, "ready": r.ReadyExpr,
			"child": o.ChildRules[0].Objects, "status": o.Ready, "waiting": o.Waiting,
		}
	}
	for name, e := range parts(here) {
		want, err := e.All(t.Context(), scope)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parts(there)[name].All(t.Context(), scope)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-here +there):\n%s", name, err, diff)
		}
	}
	text := func(s rule.Set) string {
		out, err := json.Marshal(s.Operators[0].Operator)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if diff := cmp.Diff(text(here), text(there)); diff != "" {
		t.Errorf("(-here +there):\n%s", diff)
	}
	for _, text := range []string{"a: [", "apiVersion: v1\noperators: [{for: a/B}]", strings.Replace(rules, "self.spec.n > 1", "self.", 1)} {
		want := new(rule.Set).Add("own.yaml", []byte(text))
		if got := new(rule.Set).AddElsewhere(t.Context(), confined.Rules{}, "own.yaml", []byte(text)); want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("error = %v, want %v", got, want)
		}
	}
}

func TestHostileRules(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	head := "apiVersion: " + rule.APIVersion + "\n"
	bomb := head + "operators:\n"
	for i := range 20 {
		bomb += "- for: &a" + string(rune('a'+i)) + " [" + strings.Repeat("*a"+string(rune('a'+i-1))+",", 20) + "]\n"
	}
	for name, text := range map[string]string{
		"deep YAML": head + "operators: " + strings.Repeat("[", 500_000), "aliases": strings.Replace(bomb, strings.Repeat("*a`,", 20), "x", 1),
		"many dollars": head + `operators: [{for: a/B, children: [{object: {apiVersion: v1, kind: "` + strings.Repeat("$${", 320_000) + `"}}]}]`,
	} {
		err := new(rule.Set).AddElsewhere(t.Context(), confined.Rules{}, "bad.yaml", []byte(text))
		var parse *rule.ParseError
		if err != nil && !errors.As(err, &parse) {
			t.Errorf("%s: %v", name, err)
		}
		wantGood(t)
	}
	for name, value := range map[string]string{
		"replace": `${"a"` + strings.Repeat(`.replace("a", "aa")`, 40) + "}",
		"list":    "${lists.range(1000000).map(x, lists.range(1000000))}",
		"long":    `${"a"` + strings.Repeat(`.replace("a", "aa")`, 24) + "}",
	} {
		_, err := confined.Rules{}.Evaluate(t.Context(), rule.Form{Template: value}, rule.Scope{})
		wantOneOf(t, err, tooLong, tooMuch, "cost limit", "makes more than 4 MiB")
		if err != nil && len(err.Error()) > 10_000 {
			t.Errorf("%s: a long error", name)
		}
		wantGood(t)
	}
}

func BenchmarkLua(b *testing.B) {
	for b.Loop() {
		if _, err := evaluate.Lua(b.Context(), "good", `return {status = "Degraded", message = obj.status.phase}`, object(), time.Unix(7, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkForm(b *testing.B) {
	form := rule.Form{Template: map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "message": "${self.metadata.name} is up"}}}}
	for b.Loop() {
		if _, err := (confined.Rules{}).Evaluate(b.Context(), form, rule.Scope{"self": object()}); err != nil {
			b.Fatal(err)
		}
	}
}
