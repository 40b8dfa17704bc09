package importcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/importer"
)

// wavesOptions are the arguments of "ladder import waves".
type wavesOptions struct {
	flags.Result

	Path    string
	Map     []string
	MapFile string
	Factor  int
	DryRun  bool
	Strict  bool
}

func newWaves(streams *stream.Streams) *cobra.Command {
	o := &wavesOptions{}
	cmd := &cobra.Command{
		Use:   "waves [PATH]",
		Short: "Rewrite older wave labels to phases, in place",
		Long: `Rewrite the older labels of a whole repository to phases: wave: wave35 and
wave: "35" in descriptors, the labels wave and rolloutWave of templates and
Applications, the RollingSync steps that match them, the steps and bands of
ladder.yaml, and tier to domain. Comments and formatting stay; all files change or
none; a second run changes nothing.

Waves below 100 are multiplied by ten, so that there is room between them.
--map gives single waves other phases, as long as their order stays.`,
		Example: `  ladder import waves --dry-run
  ladder import waves --map 35=350,36=355
  ladder import waves --map-file waves.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Path = "."
			if len(args) > 0 {
				o.Path = args[0]
			}
			return o.run(cmd.Context(), streams)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Map, "map", nil, "phase of a wave, as WAVE=PHASE")
	f.StringVar(&o.MapFile, "map-file", "", "YAML file with a map of waves to phases")
	f.IntVar(&o.Factor, "factor", 0, "number that waves are multiplied by (default: 10 where all are below 100, else 1)")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the changes as a diff and make none")
	f.BoolVar(&o.Strict, "strict", false, "end with exit code 1, and change nothing, when anything would have to be changed by hand")
	o.Register(cmd, "text", "json")
	return cmd
}

// wavesDocument is the JSON form of the result.
type wavesDocument struct {
	FormatVersion string             `json:"formatVersion"`
	From          string             `json:"from"`
	DryRun        bool               `json:"dryRun"`
	Mapping       []importer.Mapping `json:"mapping"`
	Files         []string           `json:"files"`
	Diff          string             `json:"diff"`
	Notes         []importer.Note    `json:"notes"`
}

func (o *wavesOptions) run(ctx context.Context, streams *stream.Streams) error {
	if o.Factor < 0 || o.Factor > 999 {
		return exit.With(exit.Usage, errors.New("--factor: write a number from 1 to 999"))
	}
	phases, err := o.phases()
	if err != nil {
		return source.Coded(err)
	}
	rewriting, err := importer.Waves(ctx, o.Path, importer.WavesOptions{Map: phases, Factor: o.Factor})
	if err != nil {
		return source.Coded(err)
	}
	lost := 0
	for _, n := range rewriting.Notes {
		if n.Level == importer.Lost {
			lost++
		}
	}
	refused := o.Strict && lost > 0
	if !o.DryRun && !refused {
		if err := rewriting.Write(); err != nil {
			return source.Coded(err)
		}
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, o.document(rewriting, o.DryRun || refused))
	} else {
		o.print(&b, rewriting, o.DryRun || refused)
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if err := streams.WriteResult(o.Output, b.Bytes()); err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	if refused {
		return exit.Silent(exit.No)
	}
	return nil
}

// phases reads --map-file and --map, which wins.
func (o *wavesOptions) phases() (map[int]model.Phase, error) {
	written := map[string]string{}
	if o.MapFile != "" {
		values, err := readValues([]string{o.MapFile})
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			written[k] = fmt.Sprint(v)
		}
	}
	given, err := pairs("map", o.Map)
	if err != nil {
		return nil, err
	}
	maps.Copy(written, given)
	all := map[int]model.Phase{}
	for k, v := range written {
		wave, err := strconv.Atoi(strings.TrimPrefix(k, "wave"))
		if err != nil || wave < 0 || wave > int(model.MaxPhase) {
			return nil, exit.With(exit.Usage, fmt.Errorf("--map %s=%s: %q is no wave", k, v, k))
		}
		phase, err := model.ParsePhase(v)
		if err != nil || strings.HasPrefix(v, "wave") {
			return nil, exit.With(exit.Usage, fmt.Errorf("--map %s=%s: %q is no phase from 0 to 999", k, v, v))
		}
		all[wave] = phase
	}
	return all, nil
}

func (o *wavesOptions) document(r *importer.Rewriting, dry bool) wavesDocument {
	d := wavesDocument{FormatVersion: report.FormatVersion, From: "waves", DryRun: dry, Mapping: []importer.Mapping{}, Files: []string{}, Diff: r.Diff(), Notes: []importer.Note{}}
	d.Mapping = append(d.Mapping, r.Mapping...)
	d.Notes = append(d.Notes, r.Notes...)
	for _, c := range r.Changes {
		d.Files = append(d.Files, c.File)
	}
	return d
}

func (o *wavesOptions) print(b *bytes.Buffer, r *importer.Rewriting, dry bool) {
	if len(r.Mapping) > 0 {
		b.WriteString("wave  phase  uses\n")
	}
	for _, m := range r.Mapping {
		fmt.Fprintf(b, "%4d    %s  %4d\n", m.Wave, m.Phase, m.Uses)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(b, "%s: %s\n", n.Position, report.Plain(n.Message))
	}
	switch {
	case len(r.Changes) == 0:
		fmt.Fprintf(b, "nothing to rewrite in %d files\n", r.Files)
	case dry:
		b.WriteString(r.Diff())
		fmt.Fprintf(b, "%d of %d files would change\n", len(r.Changes), r.Files)
	default:
		for _, c := range r.Changes {
			fmt.Fprintf(b, "rewrote %s\n", report.Plain(c.File))
		}
		fmt.Fprintf(b, "%d of %d files changed\n", len(r.Changes), r.Files)
	}
}
