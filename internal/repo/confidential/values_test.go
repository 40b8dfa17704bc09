package confidential

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

const canary = "canary-7Qv9xK2mB4sT"

func TestPlain(t *testing.T) {
	for _, text := range []string{
		"default", "ConfigMap", "SomeKind", "k8s.io/api", "10Gi", "500m", "1h30m", "v1beta1", "1.36.2", "postgres16", "us-east-1", "https://charts.example.com/db", "registry.k8s.io/pause:3.10",
		"app/templates/deployment.yaml:3:14", "OpenAPIV3Schema", "30000", "DB_HOST",
	} {
		if !plain(text) {
			t.Errorf("%s is taken for a secret", text)
		}
	}
	for _, text := range []string{canary, "ghp16C7e42F292c6912E7", "dGVzdGluZw", "8f14e45fceea167a5a36dedd4bea2543", "tr0ub4dor&3"} {
		if plain(text) {
			t.Errorf("%s is taken for a name", text)
		}
	}
}

// TestRedact: whatever the input is, and however broken, what it holds as a secret is
// kept back, and what is none is told.
func TestRedact(t *testing.T) {
	for name, tc := range map[string]struct{ input, secret, told string }{
		"a password":                   {"auth: {password: changeme, user: admin}", "changeme", "admin"},
		"a number":                     {"auth: {pin: 12, token: 48151623}", "48151623", "12"},
		"no known name":                {"config: {line: " + canary + "}", canary, "line"},
		"a text in a text":             {"config: |\n  user: shop\n  password: opensesame\n", "opensesame", "shop"},
		"a line of a text":             {"key: {privateKey: \"begin\\nopensesame\\nend\"}", "opensesame", "key"},
		"an item that is named":        {"env: [{name: DB_PASSWORD, value: opensesame}, {name: HOST, value: db.shop}]", "opensesame", "db.shop"},
		"a Secret":                     {"apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\nstringData: {dsn2: opensesame}\n", "opensesame", "shop"},
		"a Secret in a list":           {"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: shop}, data: [opensesame]}]\n", "opensesame", "shop"},
		"a field of no Secret":         {"apiVersion: v1\nkind: Secret\nmetadata: {name: shop}\nstringdata: {x: opensesame}\n", "opensesame", "shop"},
		"a generator":                  {"secretGenerator: [{name: shop, literals: [user=opensesame], files: [tls.crt]}]", "opensesame", "tls.crt"},
		"a literal without a name":     {"secretGenerator: [{name: shop, literals: [opensesame]}]", "opensesame", "shop"},
		"broken YAML":                  {"auth:\n  password: opensesame\n bad: shop\n", "opensesame", "shop"},
		"an anchor":                    {"auth: {password: *opensesame, user: shop}", "opensesame", "shop"},
		"broken JSON":                  {`{"auth": {"password": "opensesame", "user": "shop",}`, "opensesame", "shop"},
		"a broken Secret":              {"apiVersion: v1\nkind: Secret\nmetadata:\n  name: shop\nstringData:\n  dsn2: opensesame\n bad: 1\n", "opensesame", "shop"},
		"words":                        {"auth:\n  password: open sesame now\n bad: shop\n", "open sesame now", "shop"},
		"properties":                   {"DB_PASSWORD=opensesame\nDB_HOST=db.shop\n", "opensesame", "db.shop"},
		"a template":                   {"stringData:\n  a: {{ .Values.a | default \"" + canary + "\" }}\n  b: {{ include \"app.name\" . }}\n", canary, "app.name"},
		"a template of a Secret":       {"kind: Secret\nstringData:\n  user: opensesame\n  b: {{ include \"app.name\" . }}\n", "opensesame", "app.name"},
		"an address":                   {"dsn: x\nurl: postgres://shop:" + canary + "@db/app\n", canary, "shop"},
		"an argument":                  {"args: [\"--password=opensesame\", \"--user=shop\"]", "opensesame", "shop"},
		"the name of a Secret is told": {"auth: {existingSecret: shop, secretKeyRef: {name: db, key: user}, password: opensesame}", "opensesame", "existingSecret: shop, db, user"},
	} {
		t.Run(name, func(t *testing.T) {
			var v Values
			v.AddText([]byte(tc.input))
			for what, form := range map[string]string{
				"as it is": tc.secret, "quoted": fmt.Sprintf("%q", tc.secret), "base64": base64.StdEncoding.EncodeToString([]byte(tc.secret)), "hex": fmt.Sprintf("%x", tc.secret),
			} {
				got := v.Redact("cannot read " + form + " at auth of " + tc.told)
				if strings.Contains(got, strings.Trim(form, `"`)) || !strings.HasSuffix(got, " at auth of "+tc.told) || !strings.HasPrefix(got, "cannot read ") {
					t.Errorf("%s: %s", what, got)
				}
			}
		})
	}
}

// Ordinary words are replaced only where they stand by themselves.
func TestRedactWords(t *testing.T) {
	var v Values
	v.AddText([]byte("password: data\n"))
	if got := v.Redact("data in metadata"); got != "[redacted] in metadata" {
		t.Error(got)
	}
}

// Where there is too much to look for, nothing is told.
func TestRedactTooMuch(t *testing.T) {
	var v Values
	for i := range most + 2 {
		v.keep(fmt.Sprint("word", i))
	}
	if got := v.Redact("anything"); got != "[redacted]" {
		t.Error(got)
	}
}

func TestInvalid(t *testing.T) {
	for text, want := range map[string]string{
		`spec.x: Invalid value: "` + canary + `": must be short`: `spec.x: Invalid value: [redacted]: must be short`,
		`spec.x: Invalid value: "A_b": a name`:                   `spec.x: Invalid value: "A_b": a name`,
		`spec.x: Invalid value: "a\"` + canary + `": b`:          `spec.x: Invalid value: [redacted]: b`,
	} {
		if got := Invalid(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("password: %s\n", "hunter2")
	f.Add("kind: Secret\ndata: {a: [%s", "x")
	f.Fuzz(func(t *testing.T, text, message string) {
		var v Values
		v.AddText([]byte(text + "\npassword: " + canary + "\n"))
		if got := v.Redact(message + " " + canary); strings.Contains(got, canary) {
			t.Errorf("%q of %q", got, text)
		}
	})
}
