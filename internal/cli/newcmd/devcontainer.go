package newcmd

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/importer"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// templates are the files that are written, below a folder of their own.
//
//go:embed devcontainer
var templates embed.FS

// devcontainerOptions are the arguments of "ladder new devcontainer".
type devcontainerOptions struct {
	flags.Source
	flags.Result

	Config string
	Force  bool
	DryRun bool
}

func newDevcontainer(streams *stream.Streams, global *flags.Global) *cobra.Command {
	o := &devcontainerOptions{}
	cmd := &cobra.Command{
		Use:   "devcontainer [PATH]",
		Short: "Write a development container that bootstraps the platform",
		Long: `Write .devcontainer/devcontainer.json and .devcontainer/postCreate.sh at the top of
the repository. Who opens it in a container has k3d, kubectl and ladder, then the
order is proved (ladder lint), then a cluster with Argo CD is brought up that
converges to the platform (ladder bootstrap), and localhost:8443 leads to Argo CD.

The configuration of the bootstrap is yours to write: ladder schema bootstrap says
what it may hold, and cluster.create makes the cluster. The file .env, which is not
to be committed, holds what it needs, such as GITHUB_TOKEN, and the switches that
postCreate.sh lists: DEVCONTAINER_SKIP_WAVE_VALIDATION=1 does not prove the order,
DEVCONTAINER_SKIP_BOOTSTRAP=1 makes no cluster, and so on.

Files that exist are not overwritten without --force.`,
		Example: `  ladder new devcontainer
  ladder new devcontainer -e dev --config bootstrap/configs/dev.yaml --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.SetPath(args)
			return o.run(cmd.Context(), streams, global)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Environment, "environment", "e", "", "environment that it brings up (default: the only one, else dev)")
	source.CompleteEnvironment(cmd)
	f.StringVar(&o.Config, "config", "", "configuration of the bootstrap, relative to the top of the repository (default: bootstrap/ENVIRONMENT.yaml or bootstrap/configs/ENVIRONMENT.yaml of the platform)")
	f.BoolVar(&o.Force, "force", false, "overwrite files that exist")
	f.BoolVar(&o.DryRun, "dry-run", false, "print the files and write none")
	o.Result.Register(cmd, "text", "json")
	return cmd
}

// devcontainerDocument is the JSON form of the result.
type devcontainerDocument struct {
	FormatVersion string `json:"formatVersion"`
	Environment   string `json:"environment"`
	Config        string `json:"config"`
	DryRun        bool   `json:"dryRun"`
	Files         []File `json:"files"`
}

func (o *devcontainerOptions) run(ctx context.Context, streams *stream.Streams, global *flags.Global) error {
	if err := stream.CheckResult(o.Output); err != nil {
		return exit.With(exit.Usage, err)
	}
	platform, err := repo.Open(ctx, o.Path, repo.Options{Environment: o.Environment})
	if err != nil {
		return source.Coded(err)
	}
	made, err := o.make(platform)
	if err != nil {
		return source.Coded(err)
	}
	target, err := importer.NewTarget(platform.Repository)
	if err != nil {
		return source.Coded(err)
	}
	if err := refuseExisting(target, made, "--force overwrites it"); err != nil && !o.Force {
		return source.Coded(err)
	}
	if !o.DryRun {
		if _, err := target.Write(made, o.Force); err != nil {
			return source.Coded(err)
		}
	}
	tree := &repofs.Tree{Root: platform.Repository, Repository: platform.Repository}
	if !tree.IsFile(o.Config) && !global.Quiet {
		fmt.Fprintf(streams.Err, "%s is not there yet; ladder schema bootstrap says what it may hold\n", finding.Plain(o.Config))
	}
	var b bytes.Buffer
	if o.Format == "json" {
		err = report.JSON(&b, devcontainerDocument{report.FormatVersion, platform.Environment, o.Config, o.DryRun, documents(made)})
	} else {
		fmt.Fprintf(&b, "devcontainer for %s\n", platform.Environment)
		printFiles(&b, made, o.DryRun)
	}
	if err != nil {
		return exit.With(exit.CouldNotRun, err)
	}
	return streams.WriteResult(o.Output, b.Bytes())
}

// make makes the files, relative to the top of the repository.
func (o *devcontainerOptions) make(p *repo.Platform) ([]importer.File, error) {
	folder, err := filepath.Rel(p.Repository, p.Root)
	if err != nil {
		return nil, fmt.Errorf("find the platform in its repository: %w", err)
	}
	folder = filepath.ToSlash(folder)
	if o.Config == "" {
		o.Config = path.Join(folder, "bootstrap", p.Environment+".yaml")
		tree := &repofs.Tree{Root: p.Repository, Repository: p.Repository}
		if among := path.Join(folder, "bootstrap", "configs", p.Environment+".yaml"); !tree.IsFile(o.Config) && tree.IsFile(among) {
			o.Config = among
		}
	}
	if o.Config = path.Clean(filepath.ToSlash(o.Config)); !filepath.IsLocal(o.Config) {
		return nil, &repofs.InputError{Message: fmt.Sprintf("--config %s leaves the repository", o.Config), Hint: "name a file relative to its top"}
	}
	name, err := json.Marshal("platform " + p.Environment)
	if err != nil {
		return nil, fmt.Errorf("write devcontainer.json: %w", err)
	}
	values := map[string]string{
		"Name": string(name), "Platform": word(folder), "Environment": word(p.Environment),
		"Config": word(o.Config), "Namespace": word(p.ArgoCD.Namespace),
	}
	all, err := template.ParseFS(templates, "devcontainer/*")
	if err != nil {
		return nil, fmt.Errorf("write the devcontainer: %w", err)
	}
	var made []importer.File
	for _, file := range []string{"devcontainer.json", "postCreate.sh"} {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, file, values); err != nil {
			return nil, fmt.Errorf("write %s: %w", file, err)
		}
		made = append(made, importer.File{Path: ".devcontainer/" + file, Content: b.Bytes()})
	}
	return made, nil
}

// word is a text as one word of the shell.
func word(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
