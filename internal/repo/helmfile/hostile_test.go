package helmfile_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	kjson "sigs.k8s.io/json"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// good is a state file beside each of the others.
const good = "-- helmfile.d/10-good.yaml --\nreleases: [{name: good, namespace: x, chart: oci://r.example/good}]\n"

// value is a state file whose release has one value, in line 6.
func value(expression string) string {
	return "-- helmfile.d/20-bad.yaml.gotmpl --\nreleases:\n  - name: bad\n    namespace: x\n    chart: oci://r.example/bad\n    values:\n      - x: '" + expression + "'\n"
}

// TestHostile: a file that loops, grows or reaches out costs itself, is told with its
// place, and the one beside it is read. Nothing of the machine gets in.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	t.Setenv("LADDER_TEST_VARIABLE", "CANARY")
	const bad = "helmfile.d/20-bad.yaml.gotmpl"
	endless := bad + ":1 [template] : the template cannot be evaluated: evaluating " + bad + " "
	for name, test := range map[string]struct{ archive, want string }{
		"a loop without an end": {value(`{{ range until 1000000 }}{{ range until 1000000 }}{{ end }}{{ end }}`), endless + "does not end within 2s; look for a loop"},
		"includes of each other": {
			"-- helmfile.d/_h.tpl --\n{{ define \"a\" }}{{ include \"b\" . }}{{ end }}{{ define \"b\" }}{{ include \"a\" . }}{{ end }}\n" + value(`{{ include "a" . }}`),
			endless + "nests without end; look for a loop or an include of itself",
		},
		"templates of each other": {
			"-- helmfile.d/_h.tpl --\n{{ define \"a\" }}{{ template \"b\" . }}{{ end }}{{ define \"b\" }}{{ template \"a\" . }}{{ end }}\n" + value(`{{ template "a" . }}`),
			"exceeded maximum template depth",
		},
		"a template in itself":       {value(`{{ $t := "{{ tpl . . }}" }}{{ tpl $t $t }}`), endless},
		"a template of nested ifs":   {value(`{{ tpl (repeat 2000000 "{{if true}}") . }}`), endless + "nests without end"},
		"values in themselves":       {value(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYaml $d }}`), "encountered a cycle"},
		"a text that doubles":        {value(`{{ $x := "x" }}{{ range until 64 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`), endless},
		"a long text":                {value(`{{ repeat 2000000000 "xx" }}`), endless + "takes more than 896 MiB of memory; look for what makes it so large"},
		"a long list":                {value(`{{ until 2000000000 | len }}`), endless},
		"a million releases":         {"-- " + bad + " --\nreleases:\n{{ range until 1000000 }}\n- {name: r{{ . }}}\n{{ end }}\n", bad + ":1 [invalid] : is larger than 4 MiB"},
		"a pattern of braces":        {"-- " + bad + " --\nhelmfiles: ['{{ repeat 4000000 \"{\" }}']\n", bad + ":1 ["},
		"aliases of aliases in YAML": {value(`{{ $y := "a0: &a0 [x]\n" }}{{ range $i := until 30 }}{{ $y = printf "%sa%d: &a%d [*a%d, *a%d]\n" $y (add1 $i) (add1 $i) $i $i }}{{ end }}{{ fromYaml $y }}`), bad + ":6 [template] : the template cannot be evaluated: at <fromYaml $y>: error calling fromYaml: fromYaml: the text is no YAML"},
		"brackets in YAML":           {value(`{{ fromYaml (repeat 3000000 "[") }}`), bad + ":6 [template] "},
		"brackets in JSON":           {value(`{{ mustFromJson (repeat 3000000 "[") }}`), "exceeded max depth"},
		"a file outside":             {value(`{{ readFile "../../../../../../etc/hostname" }}`), "path ../../../../../etc/hostname leaves the repository"},
		"an absolute file":           {value(`{{ readFile "/etc/hostname" }}`), "the path /etc/hostname is absolute"},
		"a link to a file outside":   {value(`{{ readFile "../outside" }}`), "outside is a symbolic link that leaves the repository"},
		"a file behind a link":       {value(`{{ readFile "../etc/hostname" }}`), "etc is a symbolic link that leaves the repository"},
		"the environment":            {value(`{{ env "LADDER_TEST_VARIABLE" }}`), bad + ":6 [template] bad: the value x is left out: it reads the variable LADDER_TEST_VARIABLE of the environment"},
		"the environment expanded":   {value(`{{ expandenv "$LADDER_TEST_VARIABLE" }}`), "the value x is left out: expandenv reads the variables"},
		"a command":                  {value(`{{ exec "cat" (list "/etc/hostname") }}`), `the value x is left out: it runs the command "cat"`},
		"a command with variables":   {value(`{{ envExec (dict) "cat" (list "/etc/hostname") }}`), `the value x is left out: it runs the command "cat"`},
		"a secret":                   {value(`{{ fetchSecretValue "ref+file:///etc/hostname" }}`), "the value x is left out: it fetches a secret from a store"},
		"the network":                {value(`{{ getHostByName "localhost" }}`), "the value x is left out: getHostByName asks the network"},
		"many values":                {"-- " + bad + " --\nreleases: [{name: bad, namespace: x, chart: oci://r.example/x, values: [{{ range until 100000 }}{a: {{ . }}}, {{ end }}]}]\n", "values has more than 1000 entries; the rest is left out"},
		"bases in a circle":          {"-- " + bad + " --\nbases: [20-bad.yaml.gotmpl]\nreleases: []\n", "bases are nested too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := repository(t, good+test.archive)
			for link, target := range map[string]string{"outside": "/etc/hostname", "etc": "/etc"} {
				if err := os.Symlink(target, filepath.Join(tree.Root, link)); err != nil {
					t.Fatal(err)
				}
			}
			limit := 2 * time.Second
			if !strings.Contains(test.want, "2s") && !strings.HasSuffix(test.want, endless) {
				limit = 10 * time.Minute // what is told does not depend on how busy the machine is
			}
			r, err := evaluate.Helmfile(t.Context(), tree, helmfile.Options{Path: "."}, limit)
			if err != nil {
				t.Fatal(err)
			}
			told := strings.Join(problems(r), "\n")
			if !strings.Contains(told, test.want) || strings.Contains(told, "goroutine") {
				t.Errorf("%q is not told: %.2000s", test.want, told)
			}
			got := strings.Join(summary(r), "\n")
			if !strings.Contains(got, "default: x/good chart oci://r.example good") {
				t.Errorf("the good file is not read: %s", got)
			}
			if hostname, _ := os.ReadFile("/etc/hostname"); strings.Contains(got+told, "CANARY") || strings.Contains(got, "map[x:"+strings.TrimSpace(string(hostname))) {
				t.Errorf("something got in: %s %s", got, told)
			}
		})
	}
}

// TestTooMany: what would be too much for the parent is an error with a place.
func TestTooMany(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	for name, test := range map[string]struct{ archive, want string }{
		"releases": {
			"-- helmfile.d/20-bad.yaml.gotmpl --\nreleases:\n{{- range until 100000 }}\n- {name: r{{ . }}}\n{{- end }}\n",
			"helmfile.d/20-bad.yaml.gotmpl:2: there are more than 20000 releases",
		},
		"files that end their worker": {
			func() string {
				text := ""
				for _, name := range []string{"20", "30", "40", "50"} {
					text += "-- helmfile.d/" + name + ".yaml.gotmpl --\nreleases: []\nx: {{ repeat 2000000000 \"xx\" }}\n"
				}
				return text
			}(),
			"helmfile.d/50.yaml.gotmpl:1: evaluating helmfile.d/50.yaml.gotmpl takes more than 896 MiB of memory (look for what makes it so large)",
		},
		"values": {
			"-- helmfile.d/20-bad.yaml.gotmpl --\nreleases:\n{{- range until 100 }}\n- {name: r{{ . }}, chart: oci://r.example/x, values: [v.yaml.gotmpl]}\n{{- end }}\n" +
				"-- helmfile.d/v.yaml.gotmpl --\na: {{ repeat 1000000 \"x\" }}\n",
			"helmfile.d/20-bad.yaml.gotmpl:2: the templates of the environment default make more than 32 MiB",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := evaluate.Helmfile(t.Context(), repository(t, good+test.archive), helmfile.Options{Path: "."}, 10*time.Minute) // however busy the machine is
			var input *repofs.InputError
			if !errors.As(err, &input) || !strings.Contains(input.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestSameFromWorker: what a worker sends is what it read.
func TestSameFromWorker(t *testing.T) {
	tree, err := repofs.Discover("../../importer/testdata")
	if err != nil {
		t.Fatal(err)
	}
	options := helmfile.Options{Path: "helmfiles", Values: helmfile.Values{"whole": 1.0, "large": 1e15, "number": int64(7)}}
	want, err := here(t, tree, options)
	if err != nil || len(want.Environments) == 0 || len(want.Environments[0].Releases) == 0 {
		t.Fatalf("%v, %v", want, err)
	}
	got, err := evaluate.Helmfile(t.Context(), tree, options, limit)
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
}

// TestValues: values keep their types on the way from the worker.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scalar := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) any { return rapid.String().Draw(t, "text") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Int64().Draw(t, "integer") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Float64().Draw(t, "number") }),
			rapid.Custom(func(t *rapid.T) any { return math.Trunc(rapid.Float64().Draw(t, "whole number")) }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "boolean") }),
			rapid.Just[any](nil),
		)
		list := rapid.Custom(func(t *rapid.T) any { return rapid.SliceOf(scalar).Draw(t, "list") })
		below := rapid.Custom(func(t *rapid.T) any { return rapid.MapOf(rapid.String(), rapid.OneOf(scalar, list)).Draw(t, "map") })
		want := helmfile.Values(rapid.MapOf(rapid.String(), rapid.OneOf(scalar, list, below)).Draw(t, "values"))
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got helmfile.Values
		if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &got); err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%v %s", err, cmp.Diff(want, got))
		}
	})
}
