package generatecmd

import (
	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	Out    string
	Layout string
	// SmokeImage runs the checks of smokes; empty for that of ladder.yaml.
	SmokeImage string
	Check      bool

	// named is set where an image was given.
	named   bool
	version string
}

func layouts() []string {
	return []string{string(plan.Single), string(plan.Tiers), string(plan.AppOfApps)}
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "generate [PATH]",
		Short: "Write the Argo CD objects of a platform",
		Long: `Write the Argo CD objects of a platform: the root Application, which a person
applies, and what it applies: one ApplicationSet with RollingSync (layout single),
one for each tier (tiers), or Applications with sync waves (app-of-apps);
AppProjects, the settings that the order rests on, and Jobs of smoke checks.

Files land in OUT/<environment>/, and only files that ladder generate wrote are
changed or removed there. An order that the layout cannot keep is an error that
names the edge and its line. With --check nothing is written, and the command
exits with 1 and a diff when the files are stale.

The Jobs of smokes run ladder smoke in the image of --smoke-image, else of
argocd.smoke.image in ladder.yaml, else in that of this version of Ladder. Builds
that are no release have none, and refuse to write such Jobs: make image makes one
(docs/smoke.md). What --check is to agree with belongs into ladder.yaml.`,
		Example: `  ladder generate
  ladder generate --environment all --check
  ladder generate --layout tiers --out deploy/argocd
  ladder generate --smoke-image registry.example.com/mirror/ladder:0.1.0
  kubectl apply -f argocd/dev/root.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			o.version, o.named = cmd.Root().Version, cmd.Flags().Changed("smoke-image")
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	source.TakesAll(cmd)
	o.Result.Register(cmd, "text", "json")
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "folder that is written (default: argocd.out of ladder.yaml, else argocd)")
	f.StringVar(&o.Layout, "layout", "", "single, tiers or app-of-apps (default: that of ladder.yaml)")
	f.StringVar(&o.SmokeImage, "smoke-image", "", "`IMAGE` that runs the checks of smokes (default: argocd.smoke.image of ladder.yaml, else that of this version of Ladder, if it is a release)")
	f.BoolVar(&o.Check, "check", false, "write nothing; fail with a diff when the files are stale")
	_ = cmd.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(layouts(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagDirname("out")
	return cmd
}
