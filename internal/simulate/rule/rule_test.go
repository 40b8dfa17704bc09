package rule

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func compileTemplate(t *testing.T, value any) (*Template, error) {
	t.Helper()
	return (&compiler{}).template(value)
}

func TestTemplate(t *testing.T) {
	scope := Scope{"self": map[string]any{
		"metadata": map[string]any{"name": "db", "namespace": "data"},
		"spec":     map[string]any{"replicas": int64(3), "list": []any{"a", "b"}},
	}}
	for name, test := range map[string]struct{ template, want any }{
		"constant":              {"plain", "plain"},
		"whole expression":      {"${self.spec.replicas}", int64(3)},
		"inside a text":         {"${self.metadata.name}-rw.${self.metadata.namespace}", "db-rw.data"},
		"braces in expressions": {"${{'a': {'b': '}'}}}", map[string]any{"a": map[string]any{"b": "}"}}},
		"literal":               {"$${x}", "${x}"},
		"null is left out":      {map[string]any{"a": "${self.?spec.?none.orValue(null)}", "b": "x"}, map[string]any{"b": "x"}},
		"list":                  {[]any{"${self.spec.list}", "c"}, []any{[]any{"a", "b"}, "c"}},
		"key":                   {map[string]any{"k-${self.metadata.name}": 1.0}, map[string]any{"k-db": int64(1)}},
		"optional":              {"${self.spec.?none.orValue('default')}", "default"},
		"service of a URL":      {"${serviceOf('http://vault.vault.svc:8200', 'x')}", map[string]any{"name": "vault", "namespace": "vault"}},
		"secret references":     {"${secretRefs({'auth': {'tokenSecretRef': {'name': 't', 'key': 'k'}}})}", []any{map[string]any{"name": "t", "namespace": "", "key": "k"}}},
	} {
		t.Run(name, func(t *testing.T) {
			compiled, err := compileTemplate(t, test.template)
			if err != nil {
				t.Fatal(err)
			}
			got, err := compiled.Eval(scope)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTemplateRefuses(t *testing.T) {
	deep := any("x")
	for range maxDepth + 2 {
		deep = []any{deep}
	}
	for name, value := range map[string]any{"not closed": "${self", "empty": "${}", "no expression": "${1 +}", "unknown name": "${env.HOME}", "too deep": deep} {
		if _, err := compileTemplate(t, value); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestBounds(t *testing.T) {
	long := make([]any, 3000)
	for i := range long {
		long[i] = "0123456789"
	}
	scope := Scope{"self": map[string]any{"list": long}}
	cost, err := compileTemplate(t, "${self.list.map(a, self.list.map(b, self.list.map(c, a + b + c)))}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cost.Eval(scope); err == nil {
		t.Error("the cost is not bounded")
	}
	each, err := (&compiler{}).compile("self.list")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := each.Items(scope); err == nil {
		t.Errorf("a child may be made %d times", len(long))
	}
}

func TestServiceOf(t *testing.T) {
	for address, want := range map[string]map[string]any{
		"vault.vault.svc:8200":                  {"name": "vault", "namespace": "vault"},
		"https://db-rw.data.svc.cluster.local/": {"name": "db-rw", "namespace": "data"},
		"db-rw.data":                            {"name": "db-rw", "namespace": "data"},
		"db-rw":                                 {"name": "db-rw", "namespace": "here"},
		"nats-0.nats.messaging.svc:4222":        {"name": "nats", "namespace": "messaging"},
		"https://vault.example.com":             nil,
		"example.com":                           nil,
		"10.0.0.1:80":                           nil,
		"":                                      nil,
	} {
		if diff := cmp.Diff(want, serviceOf(address, "here")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", address, diff)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	const head = "apiVersion: " + APIVersion + "\n"
	for name, text := range map[string]string{
		"no version":         "operators: [{for: a/B}]",
		"unknown field":      head + "operators: [{for: a/B, wait: 1s}]",
		"no kind":            head + "operators: [{delay: 1s}]",
		"not a kind":         head + "operators: [{for: B}]",
		"unknown maker":      head + "operators: [{for: a/B, maker: magic}]",
		"bad expression":     head + "operators: [{for: a/B, when: 'self.'}]",
		"bad duration":       head + "operators: [{for: a/B, delay: soon}]",
		"negative duration":  head + "operators: [{for: a/B, delay: -1s}]",
		"empty selector":     head + "operators: [{for: a/B, controller: [{kind: Deployment}]}]",
		"bad glob":           head + "provisioners: [{name: '[', managed: true}]",
		"child without kind": head + "operators: [{for: a/B, children: [{object: {metadata: {name: x}}}]}]",
		"two ways to find":   head + "operators: [{for: a/B, requires: [{kind: Secret, object: a, select: {}}]}]",
		"not YAML":           head + "operators: [",
		"too large":          head + "#" + strings.Repeat("x", maxDocument),
	} {
		var s Set
		err := s.Add("own.yaml", []byte(text))
		var parse *ParseError
		if !errors.As(err, &parse) || parse.Source != "own.yaml" {
			t.Errorf("%s: %v, want a ParseError that names the document", name, err)
		}
	}
}

// A rule that is known to be right is compiled when it is evaluated, and means the
// same.
func TestAddTested(t *testing.T) {
	const text = "apiVersion: " + APIVersion + "\noperators: [{for: [a/B], when: 'self.wanted'}, {for: [a/C], when: 'self.'}]"
	if err := new(Set).Add("own.yaml", []byte(text)); err == nil {
		t.Error("Add takes what does not compile")
	}
	var s Set
	if err := s.AddTested("own.yaml", []byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []bool{true, false} {
		holds, err := s.Operators[0].WhenExpr.Holds(t.Context(), Scope{"self": map[string]any{"wanted": wanted}})
		if err != nil || holds != wanted {
			t.Errorf("wanted %v: %v, %v", wanted, holds, err)
		}
	}
	if _, err := s.Operators[1].WhenExpr.Holds(t.Context(), Scope{}); err == nil || !strings.Contains(err.Error(), "self.") {
		t.Errorf("what does not compile evaluates: %v", err)
	}
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte("apiVersion: " + APIVersion + "\noperators: [{for: a/B, when: 'has(self.spec)', children: [{object: {apiVersion: v1, kind: Secret, metadata: {name: '${self.metadata.name}'}}}]}]\n"))
	f.Add([]byte("---\n---\n"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("apiVersion: " + APIVersion + "\nprovisioners: [{name: '*'}]"))
	scope := Scope{"self": map[string]any{"metadata": map[string]any{"name": "x"}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		var s Set
		if err := s.Add("fuzz", text); err != nil {
			return
		}
		for _, o := range s.Operators {
			// What was accepted can be evaluated without a panic.
			_, _ = o.WhenExpr.Holds(t.Context(), scope)
			for _, c := range o.ChildRules {
				_, _ = c.Objects.All(t.Context(), scope)
			}
			_, _ = o.Ready.Map(t.Context(), scope)
		}
	})
}
