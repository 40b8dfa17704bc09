package planecmd

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane"
)

// Listing is the JSON form of the list.
type Listing struct {
	FormatVersion string  `json:"formatVersion"`
	Planes        []Plane `json:"planes"`
}

// Plane is one that is up.
type Plane struct {
	Name       string    `json:"name"`
	Server     string    `json:"server"`
	Kubeconfig string    `json:"kubeconfig"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
}

func newList(streams *stream.Streams) *cobra.Command {
	result := &flags.Result{}
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"status"},
		Short:   "List the planes that are up",
		Example: "  ladder plane list\n  ladder plane list --format json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return list(cmd.Context(), streams, result) },
	}
	result.Register(cmd, "text", "json")
	return cmd
}

func list(ctx context.Context, streams *stream.Streams, o *flags.Result) error {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	up, err := registry.List(ctx)
	if err != nil {
		return coded(ctx, registry, err)
	}
	var b bytes.Buffer
	l := Listing{FormatVersion: report.FormatVersion, Planes: []Plane{}}
	for _, p := range up {
		l.Planes = append(l.Planes, Plane{Name: p.Name, Server: p.Server, Kubeconfig: p.Kubeconfig, PID: p.PID, Started: p.Started})
		if o.Format == "text" {
			fmt.Fprintf(&b, "%s\t%s\tpid %d\tsince %s\n", p.Name, p.Server, p.PID, p.Started.Format(time.RFC3339))
		}
	}
	if o.Format == "json" {
		if err := report.JSON(&b, l); err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
	}
	return streams.WriteResult(o.Output, b.Bytes())
}
