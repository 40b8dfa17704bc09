package render

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// charted is a chart whose value "password" is a secret and whose value "line" has
// a name that says nothing.
const charted = `
-- c/Chart.yaml --
{apiVersion: v2, name: c, version: 1.0.0}
-- c/values.yaml --
password: CANARY
config: {line: CANARY}
file: "apiVersion: v1\nkind: Secret\nstringData: [CANARY\n"
-- c/secret.txt --
CANARY
`

// failing are inputs that cannot be rendered, each with a secret that an error of a
// library, of a chart or of Ladder quotes, or would.
func failing() map[string]struct {
	kind  model.SourceKind
	files string
} {
	cases := map[string]struct {
		kind  model.SourceKind
		files string
	}{}
	template := func(name, text string) {
		cases["template: "+name] = struct {
			kind  model.SourceKind
			files string
		}{model.Chart, charted + "-- c/templates/x.yaml --\n" + text + "\n"}
	}
	template("fail", `{{ fail (printf "no %s" .Values.password) }}`)
	template("fail with what has no name", `{{ fail (printf "no %s" .Values.config.line) }}`)
	template("fail quoted", `{{ fail (printf "no %q" .Values.password) }}`)
	template("fail in base64", `{{ fail (b64enc .Values.password) }}`)
	template("fail with all values", `{{ fail (toJson .Values) }}`)
	template("fail with a file", `{{ fail (.Files.Get "secret.txt") }}`)
	template("required", `{{ required .Values.password .Values.nothing }}`)
	template("a number", `a: {{ div 1 (atoi "0") }}{{ .Values.password.x }}`)
	template("no such template", `{{ include .Values.password . }}`)
	template("an expression", `{{ regexReplaceAll (printf "(%s" .Values.password) "a" "b" }}`)
	template("an expression that must", `{{ mustRegexMatch (printf "(%s" .Values.password) "a" }}`)
	template("an address", `{{ urlParse (printf "::%s" .Values.password) }}`)
	template("a version", `{{ semver .Values.password }}`)
	template("a constraint", `{{ semverCompare .Values.password "1.2.3" }}`)
	template("a date", `{{ mustToDate "2006-01-02" .Values.password }}`)
	template("a duration", `{{ mustDateModify .Values.password now }}`)
	template("base64", `{{ fail (b64dec .Values.password) }}`)
	template("a template of a value", `{{ tpl (printf "{{ %s }}" .Values.password) . }}`)
	template("a template of a value that fails", `{{ tpl (printf "{{ fail %q }}" .Values.password) . }}`)
	template("broken JSON", `{{ mustFromJson .Values.password }}`)
	template("the error of fromYaml", `{{ fail (toString (fromYaml (printf "a: *%s" .Values.password))) }}`)
	template("the error of fromJson", `{{ fail (toString (fromJson .Values.password)) }}`)
	template("the error of fromToml", `{{ fail (toString (fromToml .Values.password)) }}`)
	template("a key", `{{ genPrivateKey .Values.password }}{{ fail (genPrivateKey .Values.password) }}`)
	template("an alias", "a: *{{ .Values.password }}")
	template("a tag", "a: !!int {{ .Values.password }}")
	template("what is no object", "{{ .Values.password }}")
	template("what is no object, quoted", "apiVersion: v1\nkind: {{ .Values.password | quote }}List\nitems: [1]")
	template("a literal", "{{ fail \"CANARY\" }}")

	add := func(kind model.SourceKind, name, files string) {
		cases[string(kind)+": "+name] = struct {
			kind  model.SourceKind
			files string
		}{kind, files}
	}
	schema := func(name, rule string) {
		add(model.Chart, "schema: "+name, charted+"-- c/values.schema.json --\n{\"properties\": {\"password\": "+rule+"}}\n")
	}
	schema("pattern", `{"pattern": "^x$"}`)
	schema("enumeration", `{"enum": ["a", "b"]}`)
	schema("constant", `{"const": "a"}`)
	schema("length", `{"maxLength": 3}`)
	schema("type", `{"type": "object"}`)
	schema("not", `{"not": {"type": "string"}}`)
	schema("alternatives", `{"oneOf": [{"pattern": "^x$"}, {"pattern": "^y$"}]}`)
	add(model.Chart, "broken values", charted+"-- c/values.yaml --\npassword: CANARY\n  x: CANARY\n")
	add(model.Chart, "an alias in values", charted+"-- c/values.yaml --\npassword: *CANARY\n")
	add(model.Chart, "values that are a text", charted+"-- c/values.yaml --\nCANARY\n")

	add(model.Kustomize, "a literal without a name", "-- c/kustomization.yaml --\nsecretGenerator: [{name: x, literals: [CANARY]}]\n")
	add(model.Kustomize, "a literal twice", "-- c/kustomization.yaml --\nsecretGenerator: [{name: x, literals: [a=CANARY, a=CANARY]}]\n")
	add(model.Kustomize, "a file that is none", "-- c/kustomization.yaml --\nsecretGenerator: [{name: x, files: [password=CANARY]}]\n")
	add(model.Kustomize, "an alias", "-- c/kustomization.yaml --\nsecretGenerator: [{name: x, literals: [*CANARY]}]\n")
	add(model.Kustomize, "an unknown field", "-- c/kustomization.yaml --\nsecretGenerators: [{name: x, literals: [a=CANARY]}]\n")
	add(model.Kustomize, "a broken resource", "-- c/kustomization.yaml --\nresources: [s.yaml]\n-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: *CANARY}\n")
	add(model.Kustomize, "a resource without a name", "-- c/kustomization.yaml --\nresources: [s.yaml]\n-- c/s.yaml --\napiVersion: v1\nkind: Secret\nstringData: {a: CANARY}\n")
	add(model.Kustomize, "a resource of the wrong shape", "-- c/kustomization.yaml --\nresources: [s.yaml]\nlabels: [{pairs: {a: b}}]\n-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: CANARY\nstringData: {a: CANARY}\n")
	secret := "-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {list: \"CANARY\", a: CANARY}\n"
	add(model.Kustomize, "a patch without a target", "-- c/kustomization.yaml --\nresources: [s.yaml]\npatches: [{patch: \"apiVersion: v1\\nkind: Secret\\nmetadata: {name: y}\\nstringData: {a: CANARY}\\n\"}]\n"+secret)
	add(model.Kustomize, "a broken patch", "-- c/kustomization.yaml --\nresources: [s.yaml]\npatches: [{patch: \"password: *CANARY\"}]\n"+secret)
	add(model.Kustomize, "a patch of the wrong shape", "-- c/kustomization.yaml --\nresources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{\"op\": \"test\", \"path\": \"/stringData/a\", \"value\": \"other-CANARY\"}]'}]\n"+secret)
	add(model.Kustomize, "a path that is none", "-- c/kustomization.yaml --\nresources: [s.yaml]\npatches: [{target: {kind: Secret}, patch: '[{\"op\": \"replace\", \"path\": \"/stringData/a/CANARY\", \"value\": \"CANARY\"}]'}]\n"+secret)
	add(model.Kustomize, "an index out of range", "-- c/kustomization.yaml --\nresources: [s.yaml]\nreplacements: [{source: {kind: Secret, name: x, fieldPath: stringData.a, options: {delimiter: \"-\", index: 9}}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.list]}]}]\n"+secret)
	add(model.Kustomize, "a replacement into a text", "-- c/kustomization.yaml --\nresources: [s.yaml]\nreplacements: [{source: {kind: Secret, name: x, fieldPath: stringData}, targets: [{select: {kind: Secret}, fieldPaths: [stringData.list.a]}]}]\n"+secret)

	add(model.Manifests, "an alias", "-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: *CANARY}\n")
	add(model.Manifests, "a number", "-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: !!int CANARY}\n")
	add(model.Manifests, "an encoding", "-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: !!binary \"CANARY!\"}\n")
	add(model.Manifests, "a list of texts", "-- c/s.yaml --\napiVersion: v1\nkind: SecretList\nmetadata: {name: x}\nitems: [CANARY]\n")
	add(model.Manifests, "a document of the wrong shape", "-- c/s.yaml --\napiVersion: v1\nkind: Secret\nmetadata: CANARY\n")
	return cases
}

// TestErrorsHoldNoSecrets: whatever fails, the reason does not hold the secret, as
// it is or encoded.
func TestErrorsHoldNoSecrets(t *testing.T) {
	for name, tc := range failing() {
		// A secret that looks like one, and one that looks like a word.
		for _, secret := range []string{canary, "opensesame"} {
			if secret != canary && (strings.Contains(name, "has no name") || strings.Contains(name, "literal") || strings.Contains(name, "a file")) {
				continue // nothing says that it is one
			}
			t.Run(name+": "+secret, func(t *testing.T) {
				dir := t.TempDir()
				extract(t, dir, strings.ReplaceAll(tc.files, "CANARY", secret))
				for _, partial := range []bool{false, true} {
					r := New(dir, dir, Options{Offline: true, NoCache: true, Partial: partial})
					result := r.All(context.Background(), []model.Component{of("c", tc.kind, "c")}, nil)[0]
					var problem *Error
					if !errors.As(result.Err, &problem) {
						t.Fatalf("%v, %d objects", result.Err, len(result.Objects))
					}
					for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret)), fmt.Sprintf("%x", secret)} {
						if strings.Contains(result.Err.Error(), form) {
							t.Errorf("%v", result.Err)
						}
					}
					if len(problem.Reason) < 20 {
						t.Errorf("nothing is left of the reason: %v", result.Err)
					}
				}
			})
		}
	}
}
