package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// document reads one object of YAML.
func document(t *testing.T, text string) map[string]any {
	t.Helper()
	parsed, err := manifest.Parse([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" + text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed[0].Object.Object
}

func TestDiff(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"same":           {"data: {a: b}", "data: {a: b}", nil},
		"changed":        {"data: {a: b}", "data: {a: c}", []string{"changed data.a: b → c"}},
		"added":          {"data: {}", "data: {a: c}", []string{"added data.a:  → c"}},
		"whole mapping":  {"", "data: {a: {b: 1}}", []string{`added data:  → {"a":{"b":1}}`}},
		"odd keys":       {"data: {a.b: x}", "data: {a.b: z}", []string{`changed data["a.b"]: x → z`}},
		"type":           {"data: {a: 1}", "data: {a: '1'}", []string{"changed data.a: 1 → 1"}},
		"named items":    {"data: {l: [{name: a, v: 1}, {name: b, v: 1}]}", "data: {l: [{name: b, v: 2}, {name: c}]}", []string{`removed data.l[name=a]: {"name":"a","v":1} → `, "changed data.l[name=b].v: 1 → 2", `added data.l[name=c]:  → {"name":"c"}`}},
		"named, order":   {"data: {l: [{name: a}, {name: b}]}", "data: {l: [{name: b}, {name: a}]}", []string{"changed data.l: another order → another order"}},
		"same length":    {"data: {l: [a, b]}", "data: {l: [a, c]}", []string{"changed data.l[1]: b → c"}},
		"order":          {"data: {l: [a, b]}", "data: {l: [b, a]}", []string{"changed data.l: another order → another order"}},
		"other length":   {"data: {l: [a, b, c]}", "data: {l: [c, a]}", []string{"removed data.l[]: b → "}},
		"doubled":        {"data: {l: [a, a]}", "data: {l: [a]}", []string{"removed data.l[]: a → "}},
		"lines":          {"data: {f: \"a\\nb\\nc\\n\"}", "data: {f: \"a\\nd\\nc\\ne\\n\"}", []string{"changed data.f: 3 lines, 1 of them here only → 4 lines, 2 of them here only"}},
		"null":           {"data: {a: null}", "data: {a: x}", []string{"changed data.a: null → x"}},
		"number formats": {"data: {a: 1}", "data: {a: 1.0}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range diff(document(t, tc.from), document(t, tc.to)) {
				got = append(got, f.Op+" "+f.Path+": "+f.From+" → "+f.To)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("fields (-want +got):\n%s", d)
			}
		})
	}
}

// TestNothingSecretIsShown: CANARY stands where something secret would, and open
// where nothing is.
func TestNothingSecretIsShown(t *testing.T) {
	for name, text := range map[string]string{
		"password":              "data: {db: {password: CANARY, host: open}}",
		"whole mapping":         "auth: {rootPassword: CANARY, user: open}",
		"variable":              "env: [{name: DB_PASSWORD, value: CANARY}, {name: HOST, value: open}]",
		"variable, added whole": "spec: {containers: [{name: open, env: [{name: API_TOKEN, value: CANARY}]}]}",
		"text with one":         "data: {dsn-of: 'user=a password=CANARY', x: open}",
		"address":               "data: {url: 'postgres://admin:CANARY@open/db'}",
		"argument":              "args: [--verbose, '--db-password=CANARY', --host, open]",
		"argument in two":       "args: [--password, CANARY, --host, open]",
		"lines":                 "data: {open: \"a\\npassword: CANARY\\n\"}",
		"token":                 "data: {open: x, value: 'Bearer CANARY'}",
		"key":                   "data: {open: x, value: 'eyJCANARYCANARY.aaaa'}",
		"list below":            "secrets: [{name: open, value: CANARY}]",
		"keyed by it":           "apiKeys: [{key: CANARY}, {key: CANARY2, name: open}]",
		"last applied":          "metadata: {name: open, annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"data\":\"CANARY\"}'}}",
		"number":                "data: {password: 4711, open: x}",
	} {
		t.Run(name, func(t *testing.T) {
			full := document(t, text)
			if strings.HasPrefix(text, "metadata") {
				delete(full, "metadata")
				parsed, err := manifest.Parse([]byte("apiVersion: v1\nkind: ConfigMap\n" + text))
				if err != nil {
					t.Fatal(err)
				}
				full = parsed[0].Object.Object
			}
			changed := document(t, strings.NewReplacer("CANARY", "CHANGED", "4711", "4712").Replace(text))
			for _, other := range []map[string]any{document(t, ""), changed} {
				for _, fields := range [][]Field{diff(full, other), diff(other, full)} {
					if len(fields) == 0 {
						t.Error("no difference is told")
					}
					for _, f := range fields {
						if all := f.Path + f.From + f.To; strings.Contains(all, "CANARY") || strings.Contains(all, "CHANGED") || strings.Contains(all, "4711") {
							t.Errorf("shown: %+v", f)
						}
					}
				}
			}
			shown := ""
			for _, f := range diff(document(t, ""), full) {
				shown += f.Path + f.To
			}
			if !strings.Contains(shown, "open") {
				t.Errorf("what is not secret is hidden: %s", shown)
			}
		})
	}
}

func TestSecretsOfKubernetes(t *testing.T) {
	secret := func(text string) map[string]any {
		parsed, err := manifest.Parse([]byte("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + text))
		if err != nil {
			t.Fatal(err)
		}
		return parsed[0].Object.Object
	}
	got := diffSecrets(secret("stringData: {name: CANARY, a: x}\ntype: Opaque"), secret("stringData: {name: OTHER, b: y}\ntype: Opaque"))
	want := []Field{
		{Path: "stringData.a", Op: Removed, From: "[redacted]"},
		{Path: "stringData.b", Op: Added, To: "[redacted]"},
		{Path: "stringData.name", Op: Changed, From: "[redacted]", To: "[redacted]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestReferencesAreShown: the name of a Secret is no secret.
func TestReferencesAreShown(t *testing.T) {
	for _, text := range []string{
		"spec: {secretName: open}", "spec: {tls: [{secretName: open}]}", "spec: {existingSecret: open}", "spec: {secretRef: {name: open}}",
		"env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: open, key: k}}}]", "imagePullSecrets: [{name: open}]",
		"spec: {secretStoreRef: {kind: open}}",
	} {
		shown := ""
		for _, f := range diff(document(t, ""), document(t, text)) {
			shown += f.Path + f.To
		}
		if !strings.Contains(shown, "open") {
			t.Errorf("%s: shown as %s", text, shown)
		}
	}
}
