package evaluate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// content is a repository in memory.
type content map[string]string

func (c content) Own(repoURL string) bool { return repoURL == "https://example.com/own.git" }

func (c content) Files() []string {
	var all []string
	for name := range c {
		all = append(all, name)
	}
	return all
}

func (c content) Read(file string) ([]byte, error) {
	if text, ok := c[file]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("it is not there")
}

func setOf(t testing.TB, template string) *yamldoc.Value {
	t.Helper()
	v, err := yamldoc.ParseOne("set.yaml", []byte(fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: shop}
spec:
  goTemplate: true
  generators:
  - git: {repoURL: https://example.com/own.git, files: [{path: "*/app.yaml"}]}
  template:
    metadata: {name: "{{ .path.basename }}-{{ .size }}"}
    spec:
      project: %q
`, template)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var apps = content{"a/app.yaml": "size: 3\nlist: [1, 2.5, x]\n"}

// TestApplications: what a worker generates is what the generators give in process.
func TestApplications(t *testing.T) {
	set := setOf(t, "{{ .list | toYaml }} {{ printf \"%T\" .size }}")
	want, err := appset.Expand(t.Context(), set, apps, appset.Data{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate.Applications(t.Context(), set, apps, appset.Data{})
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Applications) != 1 || len(got.Applications) != 1 {
		t.Fatalf("%d and %d Applications; %v", len(want.Applications), len(got.Applications), want.Unread)
	}
	w, g := want.Applications[0], got.Applications[0]
	if diff := cmp.Diff([]any{w.Value.Any(), w.Element, w.Value.Position, w.Parameters}, []any{g.Value.Any(), g.Element, g.Value.Position, g.Parameters}); diff != "" {
		t.Errorf("(-in process +worker):\n%s", diff)
	}
}

// TestEndlessSets are templates that would take more than there is.
func TestEndlessSets(t *testing.T) {
	if testing.Short() {
		t.Skip("uses whole limits up, one after the other")
	}
	for name, text := range map[string]string{
		"repeat":               `{{ repeat 2000000000 "xx" }}`,
		"until":                `{{ until 1000000000 }}`,
		"shared structure":     `{{ $x := list "a" }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
		"loops":                `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`,
		"doubling":             `{{ $x := "x" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}{{ $x }}`,
		"replace":              `{{ $x := repeat 100000 "x" }}{{ replace "x" $x $x }}`,
		"mutual templates":     `{{ define "a" }}{{ template "b" . }}{{ end }}{{ define "b" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`,
		"regular expression":   `{{ regexReplaceAll "(x*)*y" (repeat 3000000 "x") (repeat 100000 "z") }}{{ range 1000000000 }}{{ end }}`,
		"YAML of many aliases": `{{ fromYaml (printf "a: &a [x,x,x,x,x,x,x,x,x]\n%s" "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]") | toYaml }}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := evaluate.Applications(t.Context(), setOf(t, text), apps, appset.Data{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Applications) > 0 || len(got.Unread) != 1 {
				t.Fatalf("%d Applications, %v", len(got.Applications), got.Unread)
			}
			problem := got.Unread[0]
			if !strings.Contains(problem.Message, "ApplicationSet shop") || problem.Position.File != "set.yaml" || problem.Position.Line < 1 || strings.Contains(problem.Message, "\n") {
				t.Errorf("%v: %s", problem.Position, problem.Message)
			}
			t.Log(problem.Message)
		})
	}
}

// FuzzTemplates fills in texts in a worker: the same text gives the same, errors are
// one line, and nothing but the set suffers.
func FuzzTemplates(f *testing.F) {
	f.Add(`{{ .a.b | upper }}`)
	f.Add(`{{ range .list }}{{ . }}{{ end }}`)
	f.Add(`{{ $x := list .a }}{{ toYaml $x | nindent 4 }}`)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return
		}
		set := setOf(t, "x")
		spec := set.At("spec", "template", "spec")
		set = set.With("spec", set.At("spec").With("template", set.At("spec", "template").With("spec", spec.With("project", yamldoc.Text(text, spec.Position)))))
		first, err := evaluate.Applications(t.Context(), set, apps, appset.Data{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := evaluate.Applications(t.Context(), set, apps, appset.Data{})
		if err != nil || len(first.Applications) != len(again.Applications) || len(first.Unread) != len(again.Unread) {
			t.Fatalf("%q gives %d, then %d; %v", text, len(first.Applications), len(again.Applications), err)
		}
		for _, problem := range first.Unread {
			if problem.Message == "" || problem.Position.File == "" {
				t.Fatalf("problem %#v", problem)
			}
		}
	})
}
