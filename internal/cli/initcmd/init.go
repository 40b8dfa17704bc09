// Package initcmd is the command "ladder init".
package initcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source

	Output string
}

// New returns the command.
func New(streams *stream.Streams, _ *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "init [PATH]",
		Short: "Write down in ladder.yaml what is assumed of the clusters",
		Long: `Write a ladder.yaml with the clusters that Argo CD is taken to know: those that
cluster Secrets and Terraform tell of, and those that the templates of ApplicationSets
leave as the only possibility. Each has as a comment what it is taken from. Correct
what is wrong: from then on the file counts, and nothing is assumed any more.

A ladder.yaml that exists is not overwritten.`,
		Example: `  ladder init
  ladder init ../platform --output -`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return run(cmd.Context(), streams, o)
		},
	}
	o.Register(cmd)
	source.Asks(cmd, &o.Source)
	cmd.Flags().Lookup("environment").Usage = "environment to read, or all (default: all)"
	cmd.Flags().StringVar(&o.Output, "output", "", "file to write, - for stdout (default ladder.yaml in the root of the platform)")
	return cmd
}

func run(ctx context.Context, streams *stream.Streams, o *Options) error {
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	if o.Environment == flags.All {
		o.Environment = "" // all are read unless one is named
	}
	all, err := analysis.OpenAll(ctx, o.Path, source.KeysOnly(o.Source))
	if err != nil {
		return source.Coded(err)
	}
	// What an environment asks of clusters is known once it is read.
	p := all[len(all)-1]
	file := o.Output
	if file == "" {
		file = filepath.Join(p.Root, ladderfile.Name)
	}
	if file != "-" {
		if _, err := os.Lstat(file); err == nil {
			return exit.With(exit.Usage, fmt.Errorf("%s is there already: add to it what ladder init --output - writes", file))
		}
	}
	if p.Applied == nil || len(p.Applied.Found) == 0 {
		return exit.With(exit.No, errors.New("nothing is assumed of the clusters: there is nothing to write down"))
	}
	if err := streams.WriteResult(file, []byte(finding.Redact(string(write(p.Applied))))); err != nil {
		return err
	}
	if file != "-" {
		fmt.Fprintf(streams.Err, "wrote %s; correct what is wrong in it\n", file)
	}
	return nil
}

// write is the ladder file.
func write(a *repo.Applied) []byte {
	var b bytes.Buffer
	b.WriteString("# written by ladder init: correct what is wrong\n")
	if len(a.Taken) > 0 {
		b.WriteString("repository:\n  aliases:\n")
		for _, address := range a.Taken {
			fmt.Fprintf(&b, "    - %q # taken to be this repository\n", address)
		}
	}
	b.WriteString("generators:\n  clusters:\n")
	for _, c := range a.Found {
		cluster(&b, c)
	}
	return b.Bytes()
}

func cluster(b *bytes.Buffer, c argocd.Found) {
	for _, why := range c.Why {
		fmt.Fprintf(b, "    # %s: %s\n", oneLine(c.Position.String()), oneLine(why))
	}
	name := c.Name
	if appset.IsMarked(name) {
		b.WriteString("    # its name is not known\n")
		name = "cluster"
	}
	fmt.Fprintf(b, "    - name: %q\n", name)
	if c.Server != "" && !appset.IsMarked(c.Server) {
		fmt.Fprintf(b, "      server: %q\n", c.Server)
	}
	texts(b, "labels", c.Labels)
	texts(b, "annotations", c.Annotations)
}

// oneLine keeps a text of the repository within its comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// texts writes labels or annotations. Those that are not known, or may be secret, are
// comments without their values.
func texts(b *bytes.Buffer, what string, all map[string]string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "      %s:\n", what)
	known := false
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if appset.IsMarked(all[k]) {
			fmt.Fprintf(b, "        # %q: %q is not known\n", k, appset.Written(all[k]))
			continue
		}
		if confidential.Named([]string{k}, false) || confidential.Text(all[k]) {
			fmt.Fprintf(b, "        # %q may be secret and is left out\n", k)
			continue
		}
		known = true
		fmt.Fprintf(b, "        %q: %q\n", k, all[k])
	}
	if !known {
		b.WriteString("        {}\n")
	}
}
