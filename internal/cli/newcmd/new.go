// Package newcmd is the command "ladder new".
package newcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	cmd := &cobra.Command{Use: "new", Short: "Scaffold a component or a development container"}
	cmd.AddCommand(newComponent(streams), newDevcontainer(streams, global))
	return cmd
}

// Options are the arguments of "ladder new component".
type Options struct {
	flags.Result
	importer.Scaffold

	Path, Type, Phase string
	DryRun            bool
}

func newComponent(streams *stream.Streams) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "component NAME [PATH]",
		Short: "Scaffold a descriptor in the right band and slot, with a smoke",
		Long: `Scaffold a component: a descriptor in every environment at a free phase of the
band of its domain and the slot of its type, after what it requires; a smoke that
validates it; and a file of values per environment. Without a source a small chart
is made. Nothing that exists is overwritten.`,
		Example: `  ladder new component platform-mailer --type runtime --domain platform
  ladder new component data-pgbouncer --type runtime --domain data --requires platform-postgres-clusters --dry-run
  ladder new component loki --type runtime --domain observability --repo-url https://grafana.github.io/helm-charts --chart-name loki --chart-version 6.6.2`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name, o.Path = args[0], "."
			if len(args) > 1 {
				o.Path = args[1]
			}
			return o.run(cmd.Context(), streams)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Type, "type", "", "namespaces, crds, operator, secrets, config, runtime, bootstrap or smoke (required)")
	f.StringVar(&o.Domain, "domain", "", "domain, which owns a band (required)")
	_ = cmd.MarkFlagRequired("type")   // the flag is there
	_ = cmd.MarkFlagRequired("domain") // the flag is there
	f.StringVar(&o.Namespace, "namespace", "", "destination namespace (default: that of most of the domain, else the name)")
	f.StringVar(&o.Project, "project", "", "AppProject")
	f.StringVar(&o.Phase, "phase", "", "phase (default: a free one of the slot)")
	f.StringSliceVar(&o.Requires, "requires", nil, "components and capabilities that it requires")
	f.StringSliceVarP(&o.Environments, "environment", "e", nil, "environments that get it (default: all)")
	f.StringVar(&o.ChartPath, "chart", "", "folder of a chart in the repository")
	f.StringVar(&o.RepoURL, "repo-url", "", "chart repository, with --chart-name and --chart-version")
	f.StringVar(&o.ChartName, "chart-name", "", "name of a chart of the chart repository")
	f.StringVar(&o.Version, "chart-version", "", "version of the chart")
	f.StringVar(&o.Kustomize, "kustomize", "", "folder of a kustomization")
	f.StringVar(&o.Manifests, "manifests", "", "folder or file of plain YAML")
	cmd.MarkFlagsMutuallyExclusive("chart", "chart-name", "kustomize", "manifests")
	cmd.MarkFlagsRequiredTogether("repo-url", "chart-name")
	f.BoolVar(&o.NoSmoke, "no-smoke", false, "make no smoke")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the files and write none")
	o.Register(cmd, "text", "json")
	var types []string
	for _, t := range model.Types() {
		types = append(types, string(t))
	}
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(types, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Document is the JSON form of the result.
type Document struct {
	FormatVersion string `json:"formatVersion"`
	Name          string `json:"name"`
	Phase         string `json:"phase"`
	Smoke         string `json:"smoke"`
	SmokePhase    string `json:"smokePhase"`
	DryRun        bool   `json:"dryRun"`
	Files         []File `json:"files"`
}

// File is one file of the result.
type File struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (o *Options) run(ctx context.Context, streams *stream.Streams) error {
	o.Scaffold.Type, o.Scaffold.Phase = model.Type(o.Type), model.NoPhase
	if o.Phase != "" {
		phase, err := model.ParsePhase(o.Phase)
		if err != nil {
			return exit.With(exit.Usage, fmt.Errorf("--phase: %w", err))
		}
		o.Scaffold.Phase = phase
	}
	made, err := o.Make(ctx, o.Path)
	if err != nil {
		return source.Coded(err)
	}
	target, err := importer.NewTarget(made.Root)
	if err != nil {
		return source.Coded(err)
	}
	if err := refuseExisting(target, made.Files, "choose another name, or remove it"); err != nil {
		return source.Coded(err)
	}
	if !o.DryRun {
		if _, err := target.Write(made.Files, false); err != nil {
			return source.Coded(err)
		}
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, o.document(made))
	} else {
		o.print(&b, made)
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return streams.WriteResult(o.Output, b.Bytes())
}

// refuseExisting refuses files that are there already, whatever they hold. The
// schema is shared.
func refuseExisting(target *importer.Target, all []importer.File, hint string) error {
	existing, err := target.Existing(all)
	if err != nil {
		return err
	}
	var problems []error
	for _, file := range existing {
		if !strings.HasSuffix(file, ".schema.json") {
			problems = append(problems, &repofs.InputError{Message: file + " exists", Hint: hint})
		}
	}
	return errors.Join(problems...)
}

func (o *Options) document(made *importer.Scaffolded) Document {
	d := Document{
		FormatVersion: report.FormatVersion, Name: o.Name, Phase: made.Phase.String(),
		Smoke: made.Smoke, SmokePhase: made.SmokePhase.String(), DryRun: o.DryRun, Files: documents(made.Files),
	}
	if made.Smoke == "" {
		d.SmokePhase = ""
	}
	return d
}

func documents(made []importer.File) []File {
	all := []File{}
	for _, f := range made {
		all = append(all, File{Path: f.Path, Content: string(f.Content)})
	}
	return all
}

func (o *Options) print(b *bytes.Buffer, made *importer.Scaffolded) {
	fmt.Fprintf(b, "%s at %s", o.Name, made.Phase)
	if made.Smoke != "" {
		fmt.Fprintf(b, ", %s at %s", made.Smoke, made.SmokePhase)
	}
	b.WriteByte('\n')
	printFiles(b, made.Files, o.DryRun)
}

// printFiles says which files were written, or prints them.
func printFiles(b *bytes.Buffer, made []importer.File, dryRun bool) {
	for _, f := range made {
		if !dryRun {
			fmt.Fprintf(b, "  wrote %s\n", f.Path)
			continue
		}
		fmt.Fprintf(b, "\n--- %s\n", f.Path)
		if !strings.HasSuffix(f.Path, ".schema.json") {
			b.Write(f.Content)
		}
	}
}
