// Package versioncmd is the command "ladder version".
package versioncmd

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/confine"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
)

// Info is what the command prints.
type Info struct {
	FormatVersion string `json:"formatVersion"`
	Version       string `json:"version"`
	Revision      string `json:"revision"`
	Go            string `json:"go"`
	Platform      string `json:"platform"`
	// Kubernetes, Helm, Kustomize and Etcd are the versions of the libraries inside.
	// Kubernetes and Etcd are empty in a build without a control plane.
	Kubernetes string `json:"kubernetes"`
	Helm       string `json:"helm"`
	Kustomize  string `json:"kustomize"`
	Etcd       string `json:"etcd"`
	// Confinement is what holds the workers that evaluate repositories; with
	// --verbose.
	Confinement *confine.Confinement `json:"confinement,omitempty"`
}

// New returns the command.
func New(streams *stream.Streams, global *flags.Global, version string) *cobra.Command {
	result := &flags.Result{}
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of Ladder and of what is inside",
		Args:    cobra.NoArgs,
		Example: "  ladder version\n  ladder version -v                # and how what evaluates repositories is confined here\n  ladder version --format json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := read(version)
			if global.Verbose {
				evaluate.Workers.Configure(confine.Mode(global.Confine), nil) // told below
				held, err := evaluate.Workers.Confinement(cmd.Context())
				if err != nil {
					return exit.With(exit.CouldNotRun, err)
				}
				info.Confinement = &held
			}
			return write(streams, result, info)
		},
	}
	result.Register(cmd, "text", "json")
	return cmd
}

// Built is the version of this binary: the one that its build stamped, or else that of the
// module that it was built from, which "go install MODULE@VERSION" knows.
func Built(stamped string) string {
	build, _ := debug.ReadBuildInfo()
	return built(stamped, build)
}

func built(stamped string, build *debug.BuildInfo) string {
	switch {
	case stamped != "":
		return stamped
	case build != nil && build.Main.Version != "" && build.Main.Version != "(devel)":
		return build.Main.Version
	default:
		return "dev"
	}
}

func read(version string) Info {
	info := Info{FormatVersion: "1", Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	for _, s := range build.Settings {
		if s.Key == "vcs.revision" {
			info.Revision = s.Value
		}
	}
	for _, m := range build.Deps {
		switch m.Path {
		case "k8s.io/kubernetes":
			info.Kubernetes = m.Version
		case "helm.sh/helm/v4":
			info.Helm = m.Version
		case "sigs.k8s.io/kustomize/api":
			info.Kustomize = m.Version
		case "go.etcd.io/etcd/server/v3":
			info.Etcd = m.Version
		}
	}
	return info
}

func write(streams *stream.Streams, result *flags.Result, info Info) error {
	if result.Format == "json" {
		b, err := json.MarshalIndent(info, "", "  ")
		if err != nil {
			return err
		}
		return streams.WriteResult(result.Output, append(b, '\n'))
	}
	plane := fmt.Sprintf("Kubernetes %s, etcd %s", info.Kubernetes, info.Etcd)
	if info.Kubernetes == "" { // as with -tags noplane
		plane = "no control plane"
	}
	text := fmt.Sprintf("ladder %s (%s, %s)\n%s, Helm %s, Kustomize %s\n", info.Version, info.Go, info.Platform, plane, info.Helm, info.Kustomize)
	if info.Confinement != nil {
		text += "Repositories are evaluated in " + info.Confinement.String() + "\n"
	}
	return streams.WriteFormat(result.Format, result.Output, []byte(text))
}
