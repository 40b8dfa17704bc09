package importcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// helmfileOptions are the arguments of "ladder import helmfile".
type helmfileOptions struct {
	Options

	Environments, Variables, Domains, Values []string
}

func newHelmfile(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &helmfileOptions{}
	cmd := &cobra.Command{
		Use:   "helmfile [PATH]",
		Short: "Turn the releases of Helmfile into descriptors",
		Long: `Turn the releases of Helmfile into descriptors. PATH is a state file, or a folder
that holds helmfile.yaml, helmfile.yaml.gotmpl, helmfile.d or numbered state files.

Templates are evaluated as far as the files tell. No command is run, nothing is
fetched or decrypted, and no variable of the environment is read: give those that
templates need with --variable.

Every needs becomes a requirement. Numbered files, and the entries of helmfiles,
keep their order: each file has a band of its own. With --order roles the bands are
those of the domains and the types have their slots, and only needs orders.

The report ends with the releases that can leave their state files, and the files
that are empty then.`,
		Example: `  ladder import helmfile infra/helmfiles --out platform
  ladder import helmfile . --out platform --order roles --domain 22-control-plane=platform
  ladder import helmfile . --out platform --environment prod --variable REGION=eu-central-1`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), streams, global, args)
		},
	}
	o.register(cmd, true)
	f := cmd.Flags()
	f.StringSliceVarP(&o.Environments, "environment", "e", nil, "environments to import (default: all that the files name)")
	f.StringArrayVar(&o.Variables, "variable", nil, "variable of the environment that templates read, as NAME=VALUE")
	f.StringArrayVar(&o.Values, "values", nil, "file of values that win over those of the environments, as Helmfile's --state-values-file")
	f.StringSliceVar(&o.Domains, "domain", nil, "domain of a state file, as NAME=DOMAIN, with --order roles")
	return cmd
}

func (o *helmfileOptions) run(ctx context.Context, streams *stream.Streams, global *flags.Global, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	variables, err := pairs("variable", o.Variables)
	if err != nil {
		return err
	}
	domains, err := pairs("domain", o.Domains)
	if err != nil {
		return err
	}
	values, err := readValues(o.Values)
	if err != nil {
		return source.Coded(err)
	}
	tree, path, err := repository(o.Path)
	if err != nil {
		return source.Coded(err)
	}
	target, err := importer.NewTarget(o.Out)
	if err != nil {
		return source.Coded(err)
	}
	p, err := importer.FromHelmfile(ctx, tree, importer.HelmfileOptions{
		Options: helmfile.Options{Path: path, Environments: o.Environments, Variables: variables, Values: values},
		Domains: domains, Target: target,
	})
	if err != nil {
		return source.Coded(err)
	}
	return o.finish(ctx, streams, global, "helmfile", p, target)
}

// readValues reads files of values, later ones win.
func readValues(written []string) (map[string]any, error) {
	all := map[string]any{}
	for _, file := range written {
		f, err := os.Open(file)
		if err != nil {
			var p *fs.PathError
			if errors.As(err, &p) {
				err = p.Err
			}
			return nil, &repofs.InputError{Message: fmt.Sprintf("the values of %s cannot be read: %v", file, err), Err: err}
		}
		data, err := io.ReadAll(io.LimitReader(f, repofs.MaxFileSize+1))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, &repofs.InputError{Message: fmt.Sprintf("the values of %s cannot be read: %v", file, err), Err: err}
		}
		v, err := yamldoc.ParseOne(file, data)
		if err != nil {
			return nil, err
		}
		values, ok := v.Any().(map[string]any)
		if !ok {
			return nil, &repofs.InputError{Position: v.Position, Message: "the values are no map"}
		}
		maps.Copy(all, values)
	}
	return all, nil
}
