// Package importcmd is the command "ladder import".
package importcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make a ladder of what Helmfile, Flux or Argo CD order",
		Long: `Make a ladder of what other tools order: descriptors with phases, requirements and
layers of values, and a ladder.yaml; or rewrite older labels to phases in place. What cannot be carried over is reported with
its file and line, never guessed. Encrypted values are listed, never decrypted.

Files are written all or not at all. Files that exist are not replaced without
--force.`,
	}
	cmd.AddCommand(newArgoCD(streams, global), newFlux(streams, global), newHelmfile(streams, global), newWaves(streams))
	return cmd
}

// Options are the arguments that the imports share.
type Options struct {
	flags.Result

	Path, Out  string
	Order      string
	Infer      bool
	Offline    bool
	AllowHosts []string
	Force      bool
	DryRun     bool
	Strict     bool
}

// The values of --order.
const (
	orderSource = "source"
	orderRoles  = "roles"
)

// register adds the shared flags.
func (o *Options) register(cmd *cobra.Command, orders bool) {
	f := cmd.Flags()
	f.StringVar(&o.Out, "out", "", "folder to write the platform to (required)")
	_ = cmd.MarkFlagRequired("out") // the flag is there
	_ = cmd.MarkFlagDirname("out")
	if orders {
		f.StringVar(&o.Order, "order", "", "what decides the phases: source keeps the order of files and waves, roles goes by bands, slots and requirements (default: source where there is an order)")
		_ = cmd.RegisterFlagCompletionFunc("order", cobra.FixedCompletions([]string{orderSource, orderRoles}, cobra.ShellCompDirectiveNoFileComp))
	}
	f.BoolVar(&o.Infer, "infer", false, "render the result and require what its objects are found to require")
	f.BoolVar(&o.Offline, "offline", false, "never use the network")
	flags.AllowHosts(f, &o.AllowHosts)
	f.BoolVar(&o.Force, "force", false, "replace files that exist")
	f.BoolVar(&o.DryRun, "dry-run", false, "report and write nothing")
	f.BoolVar(&o.Strict, "strict", false, "end with exit code 1, and write nothing, when anything could not be carried over")
	o.Register(cmd, "text", "json")
}

// check refuses what does not go together, and takes PATH.
func (o *Options) check(args []string) error {
	o.Path = "."
	if len(args) > 0 {
		o.Path = args[0]
	}
	if o.Out == "" {
		return exit.With(exit.Usage, errors.New("--out is empty: name the folder to write to"))
	}
	if o.Order != "" {
		if err := flags.OneOf("order", o.Order, orderSource, orderRoles); err != nil {
			return err
		}
	}
	return nil
}

// repository opens the repository that PATH is in, or lies at, and returns PATH
// relative to its top.
func repository(p string) (*repofs.Tree, string, error) {
	abs, err := filepath.Abs(p)
	if err != nil {
		return nil, "", fmt.Errorf("find %s: %w", p, err)
	}
	dir, rest := abs, ""
	tree, err := repofs.Discover(dir)
	if err != nil {
		// A file is given by the folder it is in.
		if tree, err = repofs.Discover(filepath.Dir(abs)); err != nil {
			return nil, "", err
		}
		dir, rest = filepath.Dir(abs), filepath.Base(abs)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, "", fmt.Errorf("find %s: %w", p, err)
	}
	top := tree.Repository
	// Without Git the repository is the folder that people are in, if PATH lies there.
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		if here, err := workingFolder(); err == nil && within(resolved, here) {
			top = here
		}
	}
	tree = &repofs.Tree{Root: top, Repository: top}
	rel, err := filepath.Rel(tree.Root, filepath.Join(resolved, rest))
	if err != nil {
		return nil, "", fmt.Errorf("find %s: %w", p, err)
	}
	return tree, filepath.ToSlash(rel), nil
}

func workingFolder() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(here)
}

// within reports whether a folder is another, or lies below it.
func within(dir, other string) bool {
	rel, err := filepath.Rel(other, dir)
	return err == nil && filepath.IsLocal(rel)
}

// finish places, proves, writes and reports.
func (o *Options) finish(ctx context.Context, streams *stream.Streams, global *flags.Global, from string, p *importer.Platform, target *importer.Target) error {
	display := progress.New(streams, global, time.Now)
	options := importer.FinishOptions{
		Groups: o.Order == orderSource || o.Order == "" && len(p.Groups) > 1, Infer: o.Infer, Force: o.Force,
		DryRun: o.DryRun, Strict: o.Strict,
		Load: analysis.Options{Offline: o.Offline, AllowHosts: o.AllowHosts, Progress: display.Counted},
	}
	result, err := importer.Finish(ctx, p, target, options)
	display.Close()
	if err != nil {
		return coded(err)
	}
	refused := o.Strict && p.Count(importer.Lost) > 0
	report := importer.Report{From: from, Out: o.Out, DryRun: o.DryRun || refused, Result: result}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b)
	} else {
		err = report.Text(&b)
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if err := streams.WriteFormat(o.Format, o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if refused {
		return exit.Silent(exit.No)
	}
	return nil
}

// coded gives errors of the import their exit codes: an order that contradicts
// itself is unreadable input.
func coded(err error) error {
	var cycle *importer.CycleError
	var group *importer.GroupError
	if errors.As(err, &cycle) || errors.As(err, &group) {
		return exit.With(exit.Usage, err)
	}
	return source.Coded(err)
}

// pairs reads NAME=VALUE flags.
func pairs(flag string, written []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range written {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.With(exit.Usage, fmt.Errorf("--%s %q: write NAME=VALUE", flag, text))
		}
		all[name] = value
	}
	return all, nil
}
