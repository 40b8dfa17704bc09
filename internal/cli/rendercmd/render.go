// Package rendercmd is the command "ladder render".
package rendercmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Options are the arguments of the command.
type Options struct {
	flags.Source
	flags.Result

	Component string
	// ShowSecrets prints the values of Secrets too.
	ShowSecrets bool
	// PreArgo prints what is applied before Argo CD in place of a component, TalosPatch
	// as a patch of the machine configuration of Talos.
	PreArgo, TalosPatch bool
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &Options{}
	cmd := &cobra.Command{
		Use:   "render COMPONENT [PATH]",
		Short: "Print the objects of a component, each with where it comes from",
		Long: `Print the objects of a component, each with where it comes from. The values of
Secrets are left out; --show-secrets prints them.

With --pre-argo and without COMPONENT, print what ladder bootstrap applies before
Argo CD: the entries of preArgo in ladder.yaml, in the order in which they are
applied, with the namespaces that they lack. For kubectl apply give --show-secrets:
it would take [redacted] for the values of Secrets.

--talos-patch prints the same as a patch of the machine configuration of Talos, with
one inline manifest for each component. Give it to talosctl gen config or talosctl
patch machineconfig of the control plane, and set preArgo: {skip: true} in the
configuration of ladder bootstrap. Talos never updates what it has made; Argo CD
adopts it. Secrets are not in the patch, and stderr names them: apply them by hand,
or let ladder bootstrap make them of environment variables. --show-secrets puts them
in; the file is then as secret as they are.`,
		Example: `  ladder render platform-keycloak
  ladder render platform-keycloak --environment prod --format json
  ladder render platform-keycloak -e all
  ladder render --pre-argo -e prod
  ladder render --pre-argo -e prod --show-secrets | kubectl apply --server-side -f -
  ladder render --pre-argo --talos-patch --output talos-patch.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.PreArgo:
				return cobra.MaximumNArgs(1)(cmd, args)
			case o.TalosPatch:
				return cobra.MaximumNArgs(2)(cmd, args) // check says what it goes with
			default:
				return cobra.RangeArgs(1, 2)(cmd, args)
			}
		},
		ValidArgsFunction: source.CompleteComponent(&o.Source),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.PreArgo {
				o.SetPath(args)
				return runEarly(cmd.Context(), streams, global, o)
			}
			o.Component = args[0]
			o.SetPath(args[1:])
			return run(cmd.Context(), streams, global, o)
		},
	}
	source.RegisterEach(cmd, &o.Source)
	o.Result.Register(cmd, "yaml", "json")
	f := cmd.Flags()
	f.BoolVar(&o.ShowSecrets, "show-secrets", false, "print the values of Secrets, as the repository holds them")
	f.BoolVar(&o.PreArgo, "pre-argo", false, "print what is applied before Argo CD, in place of a component")
	f.BoolVar(&o.TalosPatch, "talos-patch", false, "with --pre-argo: as a patch of the machine configuration of Talos")
	return cmd
}

// check refuses flags that do not go together.
func (o *Options) check() error {
	switch {
	case o.TalosPatch && !o.PreArgo:
		return exit.With(exit.Usage, errors.New("--talos-patch goes with --pre-argo"))
	case o.TalosPatch && o.Environment == flags.All:
		return exit.With(exit.Usage, errors.New("--talos-patch is of one environment: name it with -e"))
	case o.TalosPatch && o.Format != "yaml":
		return exit.With(exit.Usage, errors.New("--talos-patch is YAML: leave out --format"))
	}
	return exit.With(exit.Usage, stream.CheckResult(o.Output))
}

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if err := source.Ask(ctx, &o.Source); err != nil {
		return err
	}
	environments, err := source.Chosen(ctx, o.Source)
	if err != nil {
		return err
	}
	var parts []source.Part
	var absent error
	for _, environment := range environments {
		content, err := one(ctx, streams, global, o, environment)
		if errors.Is(err, analysis.ErrNoComponent) {
			absent = err
			continue
		}
		if err != nil {
			return source.Coded(err)
		}
		parts = append(parts, source.Part{Environment: environment, Content: content})
	}
	if len(parts) == 0 {
		var input *repo.InputError
		if len(environments) > 1 && errors.As(absent, &input) {
			input.Message = fmt.Sprintf("there is no component %q in any environment (%s)", o.Component, strings.Join(environments, ", "))
		}
		return source.Coded(absent)
	}
	return o.print(streams, parts)
}

// print prints what was rendered of the environments.
func (o *Options) print(streams *stream.Streams, parts []source.Part) error {
	content, err := source.Join(o.Source, o.Format, parts)
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return streams.WriteResult(o.Output, content)
}

// one renders the component in one environment.
func one(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options, environment string) ([]byte, error) {
	display := progress.New(streams, global, time.Now)
	options := o.loading(environment)
	options.Progress = display.Counted
	c, objects, err := analysis.One(ctx, o.Path, o.Component, options)
	display.Close()
	if err != nil {
		return nil, err
	}
	if !o.ShowSecrets {
		objects = withoutSecrets(objects)
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, document(c, objects))
	} else {
		err = write(&b, objects)
	}
	return b.Bytes(), exit.With(exit.CouldNotRun, err)
}

// loading says how an environment is read.
func (o *Options) loading(environment string) analysis.Options {
	options := source.Options(o.Source)
	options.Environment = environment
	options.SecretKeysOnly = !o.ShowSecrets
	return options
}

// withoutSecrets takes the values of Secrets out. The objects of the renderer
// are left as they are.
func withoutSecrets(objects []manifest.Object) []manifest.Object {
	shown := slices.Clone(objects)
	for i, o := range shown {
		shown[i].Unstructured = &unstructured.Unstructured{Object: manifest.WithoutSecrets(o.Object)}
	}
	return shown
}

// Document is the JSON form: the objects with their origins.
type Document struct {
	FormatVersion string   `json:"formatVersion"`
	Component     string   `json:"component"`
	Environment   string   `json:"environment"`
	Objects       []Object `json:"objects"`
}

// Object is one rendered object.
type Object struct {
	File   string         `json:"file"`
	Line   int            `json:"line"`
	Values string         `json:"values"`
	Object map[string]any `json:"object"`
}

func document(c model.Component, objects []manifest.Object) Document {
	d := Document{FormatVersion: report.FormatVersion, Component: c.Name, Environment: c.Environment, Objects: []Object{}}
	for _, o := range objects {
		d.Objects = append(d.Objects, Object{File: o.Origin.File, Line: o.Origin.Line, Values: o.Origin.Values, Object: o.Object})
	}
	return d
}

func write(b *bytes.Buffer, objects []manifest.Object) error {
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("print %s: %w", o.Resource().Human(), err)
		}
		b.WriteString("---\n")
		if o.Origin.File != "" {
			fmt.Fprintf(b, "# Source: %s", o.Origin.Position())
			if o.Origin.Values != "" {
				fmt.Fprintf(b, ", values %s", strings.ReplaceAll(o.Origin.Values, "\n", " "))
			}
			b.WriteByte('\n')
		}
		if !stream.IsSafe(string(text)) {
			// What is escaped on the way out is the same character in JSON, which YAML takes.
			if err := report.JSON(b, o.Object); err != nil {
				return fmt.Errorf("print %s: %w", o.Resource().Human(), err)
			}
			continue
		}
		b.Write(text)
	}
	return nil
}
