package rehearsecmd

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/steering"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// TestHowToGoOn prints the command that goes on with this one: its own words,
// quoted for a shell, without --fresh.
func TestHowToGoOn(t *testing.T) {
	cases := map[string]struct {
		args []string
		left bool
		want string
	}{
		"detached": {
			args: []string{"my platform", "--plane", "x", "--fresh", "--fail", "db=slow:5m", "--fail", "it's", "--speed", "100", "--allow-unrendered", "--allow-host", "charts.local:8080"},
			left: true,
			want: "ladder: detached; the plane stays up, the state of the rollout is saved, and nothing new starts. Go on with:\n" +
				`  ladder rehearse 'my platform' --allow-host charts.local:8080 --allow-unrendered --fail db=slow:5m --fail 'it'\''s' --plane x --speed 100 --resume` + "\n",
		},
		"interrupted": {
			args: []string{"--keep", "--resume"},
			want: "ladder: the plane stays up, the state of the rollout is saved, and nothing new starts. Go on with:\n  ladder rehearse --keep --resume\n",
		},
		"not kept, left":        {left: true, want: "ladder: ended; the plane was not kept (--keep), so there is nothing to go on with\n"},
		"not kept, interrupted": {want: ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			streams := &stream.Streams{Err: &out, Getenv: func(string) string { return "" }}
			cmd := New(streams, &flags.Global{})
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				h := steering.New(cmd.Context(), progress.Thrown, steering.UpFront{})
				defer h.Leave()
				if tc.left {
					h.Do(progress.Request{Leave: true})
				}
				interrupted(streams, h, cmd.Flags().Changed("keep") || cmd.Flags().Changed("plane"), cmd, args)
				return nil
			}
			root := &cobra.Command{Use: "ladder"}
			root.AddCommand(cmd)
			root.SetArgs(append([]string{"rehearse"}, tc.args...))
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSameAgain: what is offered after a failure fails in the same way.
func TestSameAgain(t *testing.T) {
	cmd := New(&stream.Streams{Getenv: func(string) string { return "" }}, &flags.Global{})
	args := []string{
		"-e", "dev", "--offline", "--fail", "db=slow:5m", "--fail", "web", "--speed", "60", "--timeout", "2m",
		"--allow-unrendered", "--report", "r.json", "--kube-version", "1.30",
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	r := report.Rollout{Result: string(rollout.ResultFailed), Components: []report.RolloutComponent{{Name: "db", State: string(rollout.Failed)}}}
	steps := after(cmd, r, false)
	want := []string{"rehearse", "--keep", "--allow-unrendered", "--fail", "db=slow:5m", "--fail", "web", "--speed", "60", "--timeout", "2m0s"}
	if diff := cmp.Diff(want, steps[len(steps)-1].Words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
