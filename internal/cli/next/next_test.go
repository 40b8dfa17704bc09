package next

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

func TestTell(t *testing.T) {
	step := Step{Words: []string{"explain"}, Name: "it's $(bad)", Why: "why"}
	for name, test := range map[string]struct {
		terminal bool
		global   flags.Global
		from     flags.Source
		to       flags.Result
		steps    []Step
		want     string
	}{
		"here":         {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{{Words: []string{"plan"}, Why: "the order"}}, "\nWhat next:\n  ladder plan  the order\n"},
		"elsewhere":    {true, flags.Global{}, flags.Source{Path: "a b", Environment: "dev"}, flags.Result{}, []Step{{Words: []string{"plan"}, Why: "the order"}}, "\nWhat next:\n  ladder plan 'a b' -e dev  the order\n"},
		"narrow":       {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{{Words: []string{"explain"}, Name: strings.Repeat("a", 60), Why: "what it waits for"}, {Words: []string{"plan"}, Why: "the order"}}, "\nWhat next:\n  ladder explain " + strings.Repeat("a", 60) + "\n    what it waits for\n  ladder plan\n    the order\n"},
		"same flags":   {true, flags.Global{}, flags.Source{Path: ".", Roots: []string{"apps", "it's"}, Offline: true, Hub: "prod", AllowHosts: []string{"a:1"}, KubeVersion: "1.30", APIVersions: []string{"x.io/v1"}}, flags.Result{}, []Step{{Words: []string{"plan"}, Why: "the order"}}, "\nWhat next:\n  ladder plan --root apps --root 'it'\\''s' --offline --allow-host a:1 --kube-version 1.30 --api-versions x.io/v1 --context prod\n    the order\n"},
		"hostile name": {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{step}, "\nWhat next:\n  ladder explain 'it'\\''s $(bad)'  why\n"},
		"two lines":    {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{{Words: []string{"explain"}, Name: "a\nladder b", Why: "why"}}, ""},
		"control code": {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{{Words: []string{"explain"}, Name: "a\x1b[2J", Why: "why"}}, ""},
		"like a flag":  {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{{Words: []string{"explain"}, Name: "--output=/home/me/.profile", Why: "why"}}, ""},
		"all":          {true, flags.Global{}, flags.Source{Path: ".", Environment: "all"}, flags.Result{}, []Step{{Words: []string{"rehearse"}, Why: "x"}, {Words: []string{"plan"}, Why: "y"}}, "\nWhat next:\n  ladder plan -e all  y\n"},
		"no terminal":  {false, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, []Step{step}, ""},
		"quiet":        {true, flags.Global{Quiet: true}, flags.Source{Path: "."}, flags.Result{}, []Step{step}, ""},
		"to a file":    {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{Output: "x"}, []Step{step}, ""},
		"nothing":      {true, flags.Global{}, flags.Source{Path: "."}, flags.Result{}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			Tell(&stream.Streams{Err: &b, OutTerminal: test.terminal, ErrTerminal: true}, &test.global, test.from, test.to, test.steps...)
			if got := b.String(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
