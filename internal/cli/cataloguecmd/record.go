package cataloguecmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	rendersource "github.com/rollout-ladder/ladder/internal/repo/render/source"
)

type recordOptions struct {
	flags.Source
	flags.Result
	component  string
	repository string
}

func newRecord(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &recordOptions{}
	cmd := &cobra.Command{
		Use:   "record COMPONENT [PATH]",
		Short: "Render a component and write down what it provides",
		Long: `Render a component and write a catalogue entry of what it provides: CRDs,
controllers as its roles tell, webhooks, and what it makes. The entry holds for the
values of the component; look it over, and name it in ladder.yaml under catalogue.`,
		Example: `  ladder catalogue record my-operator --output ladder/my-operator.yaml
  ladder catalogue record my-operator platform --repository oci://registry.example.com/charts`,
		Args:              cobra.RangeArgs(1, 2),
		ValidArgsFunction: source.CompleteComponent(&o.Source),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.component = args[0]
			o.SetPath(args[1:])
			return record(cmd.Context(), streams, global, o)
		},
	}
	source.Register(cmd, &o.Source)
	o.Result.Register(cmd, "yaml")
	cmd.Flags().StringVar(&o.repository, "repository", "", "where the chart is published (default: the repository that the component names)")
	return cmd
}

func record(ctx context.Context, streams *stream.Streams, global *flags.Global, o *recordOptions) error {
	display := progress.New(streams, global, time.Now)
	options := source.KeysOnly(o.Source)
	options.Progress = display.Counted
	c, objects, err := analysis.One(ctx, o.Path, o.component, options)
	display.Close()
	if err != nil {
		return source.Coded(err)
	}
	entry, release, err := o.entryOf(ctx, c)
	if err != nil {
		return err
	}
	recorded := catalogue.Record(catalogue.Recorded{Entry: entry, Release: release, Namespace: c.Namespace, Objects: objects})
	text, err := yaml.Marshal([]catalogue.Entry{recorded})
	if err != nil {
		return exit.With(exit.CouldNotRun, fmt.Errorf("print the entry: %w", err))
	}
	head := fmt.Sprintf("# Recorded by ladder catalogue record from component %s in environment %s.\n", c.Name, c.Environment)
	return streams.WriteResult(o.Output, append([]byte(head), text...))
}

// entryOf begins an entry with what the source says of itself. A chart of the
// repository says in Chart.yaml what it is, but not where it is published.
func (o *recordOptions) entryOf(ctx context.Context, c model.Component) (entry catalogue.Entry, release string, err error) {
	if len(c.Sources) != 1 {
		return entry, "", exit.With(exit.Usage, fmt.Errorf("component %s has %d sources and an entry is about one: make a component of the chart alone", c.Name, len(c.Sources)))
	}
	src := c.Sources[0]
	if src.Kind != model.Chart {
		return entry, "", exit.With(exit.Usage, fmt.Errorf("component %s is no chart, and an entry is about a chart", c.Name))
	}
	release = cmp.Or(src.ReleaseName, c.Name)
	entry = catalogue.Entry{Chart: src.Name, Version: cmp.Or(src.Version, "latest"), Source: []string{"component " + c.Name}}
	if src.RepoURL == "" {
		if entry.Chart, entry.Version, err = o.readChart(ctx, src); err != nil {
			return entry, "", err
		}
		if o.repository == "" {
			return entry, "", exit.With(exit.Usage, fmt.Errorf("chart %s is a folder of this repository: say with --repository where others get it", entry.Chart))
		}
	}
	entry.Repositories = []string{cmp.Or(o.repository, rendersource.Address(src))}
	return entry, release, nil
}

// readChart reads name and version of a chart of the repository, which was
// rendered before.
func (o *recordOptions) readChart(ctx context.Context, src model.Source) (name, version string, err error) {
	p, err := analysis.Open(ctx, o.Path, source.KeysOnly(o.Source))
	if err != nil {
		return "", "", source.Coded(err)
	}
	file := filepath.Join(p.Root, filepath.FromSlash(src.Path), "Chart.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", "", exit.With(exit.CouldNotRun, fmt.Errorf("read the chart: %w", err))
	}
	var chart struct{ Name, Version string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		return "", "", exit.With(exit.Usage, fmt.Errorf("read the chart: %w", err))
	}
	return chart.Name, chart.Version, nil
}
