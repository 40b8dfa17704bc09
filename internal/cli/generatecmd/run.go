package generatecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

func run(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) error {
	if o.Layout != "" {
		if err := flags.OneOf("layout", o.Layout, layouts()...); err != nil {
			return err
		}
	}
	if o.named {
		if err := generate.CheckImage(o.SmokeImage); err != nil {
			return exit.With(exit.Usage, fmt.Errorf("--smoke-image: %w", err))
		}
	}
	if err := stream.CheckResult(o.Output); err != nil {
		return exit.With(exit.Usage, err)
	}
	loaded, err := source.LoadEach(ctx, streams, global, o.Source)
	if err != nil {
		return source.Coded(err)
	}
	var made []*generated
	warned, said := map[string]bool{}, source.Said{}
	for _, l := range loaded {
		if wrong := source.PrintFindings(streams.Err, o.Source, said.New(l.Findings), source.Least(global)); wrong > 0 {
			fmt.Fprintf(streams.Err, "%s: nothing was written: the findings above are errors\n", l.Platform.Environment)
			return exit.Silent(exit.No)
		}
		g, err := o.generate(ctx, l)
		if err != nil {
			return coded(err)
		}
		if !global.Quiet {
			g.warn(streams, warned)
		}
		made = append(made, g)
	}
	// Nothing is written before everything was made.
	for _, g := range made {
		if err := g.compare(); err != nil {
			return exit.With(exit.Usage, err)
		}
		if o.Check {
			continue
		}
		if err := g.replace(); err != nil {
			return exit.With(exit.CouldNotRun, err)
		}
	}
	return o.report(streams, made)
}

// coded gives an error of the generator its exit code: an order that cannot be
// kept, or is not there, is an answer, everything else is a mistake in the input.
func coded(err error) error {
	var edge *generate.EdgeError
	var layout *generate.LayoutError
	switch {
	case errors.As(err, &edge):
		return exit.With(exit.No, err)
	case errors.As(err, &layout) && layout.Unordered:
		return exit.With(exit.No, err)
	case errors.As(err, &layout):
		return exit.With(exit.Usage, err)
	default:
		return source.Coded(err)
	}
}

// generated is one environment.
type generated struct {
	environment string
	layout      string
	result      *generate.Result
	// dir is the folder that is written: named relative to the root of the platform where it
	// is in it, and shown as it opens from where the command runs.
	dir, named, shown string
	// way leads from there to the root of the platform.
	way     string
	changes []change
	foreign []string
	// assumed are the settings that were taken from the checkout.
	assumed []string
}

// generate makes the files of one environment.
func (o *Options) generate(ctx context.Context, l *analysis.Result) (*generated, error) {
	p := l.Platform
	if p.Flux != nil {
		return nil, exit.With(exit.Usage, errors.New("Flux applies this platform: ladder import flux makes descriptors of it, of which the objects of Argo CD are generated"))
	}
	planned, err := plan.Build(session.PlanInput(l, rollout.Phases, nil, 0))
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	planned.Edges = l.PreciseEdges(planned.Edges)
	g := &generated{environment: p.Environment, layout: cmp.Or(o.Layout, string(p.Ladder.Layout)), way: source.Way(o.Path)}
	base, below, err := o.base(p, g.way)
	if err != nil {
		return nil, err
	}
	p.ArgoCD.SmokeImage = cmp.Or(o.SmokeImage, p.ArgoCD.SmokeImage)
	in := generate.Input{
		Platform: p, Components: l.Typed(), Plan: planned, Objects: l.Objects, Unrendered: unrendered(l), Layout: o.Layout, Image: generate.Image(o.version),
	}
	in.Out = filepath.ToSlash(below)
	folder := ladderfile.Folder(cmp.Or(in.Out, p.ArgoCD.Out), p.Environment)
	if o.Out == "" || below != "" {
		g.dir, g.named, g.shown = filepath.Join(p.Root, filepath.FromSlash(folder)), folder, path.Join(g.way, folder)
	} else {
		g.dir = filepath.FromSlash(ladderfile.Folder(filepath.ToSlash(base), p.Environment))
		g.named, g.shown = g.dir, g.dir
	}
	if slices.Contains(strings.Split(filepath.ToSlash(g.dir), "/"), ".git") {
		return nil, exit.With(exit.Usage, fmt.Errorf("%s belongs to git; name another folder in argocd.out or --out", g.shown))
	}
	if err := refuseLinks(base, g.dir, p.Root); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if err := g.address(&in); err != nil {
		return nil, err
	}
	if g.result, err = generate.Build(ctx, in); err != nil {
		return nil, err
	}
	return g, nil
}

// base is the folder that holds those of the environments. below is what --out names, relative to the
// root of the platform, where it lies below that: then the objects point to it.
func (o *Options) base(p *repo.Platform, way string) (base, below string, err error) {
	if o.Out == "" {
		return filepath.Join(p.Root, filepath.FromSlash(p.ArgoCD.Out)), "", nil
	}
	base = filepath.Clean(o.Out)
	if !filepath.IsAbs(base) {
		// The root of the platform is where links lead to.
		here, err := filepath.Abs(".")
		if err == nil {
			here, err = filepath.EvalSymlinks(here)
		}
		if err != nil {
			return "", "", fmt.Errorf("--out %s: %w", o.Out, err)
		}
		base = filepath.Join(here, base)
	}
	below, err = filepath.Rel(p.Root, base)
	outside := err != nil || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator))
	switch {
	case outside && filepath.IsAbs(o.Out):
		return base, "", nil
	case outside, below == ".":
		return "", "", exit.With(exit.Usage, fmt.Errorf("--out %s is not a folder below the root of the platform, %s; it starts where the command runs, and an absolute path writes a copy elsewhere", o.Out, way))
	}
	return base, below, nil
}

// refuseLinks refuses a folder that a symbolic link leads to: what is replaced
// would not be what it seems.
func refuseLinks(base, dir, root string) error {
	stop := root
	if rel, err := filepath.Rel(root, base); err != nil || strings.HasPrefix(rel, "..") {
		stop = filepath.Dir(base)
	}
	for d := dir; d != stop && d != filepath.Dir(d); d = filepath.Dir(d) {
		info, err := os.Lstat(d)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link; name the folder it leads to", d)
		case !info.IsDir():
			return fmt.Errorf("%s is not a folder", d)
		}
	}
	return nil
}

// address fills in what ladder.yaml does not say of the repository.
func (g *generated) address(in *generate.Input) error {
	root, err := readGenerated(filepath.Join(g.dir, generate.RootFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what was generated before: %w", err)
	}
	here, err := checkout.Read(in.Platform.Repository)
	if err != nil {
		return fmt.Errorf("read what the checkout says of itself: %w", err)
	}
	g.assumed = in.Settle(root, here)
	return nil
}

// unrendered says why components are not wholly known.
func unrendered(l *analysis.Result) map[string]string {
	why := map[string]string{}
	for _, u := range session.Unrendered(l) {
		if why[u.Component] == "" {
			why[u.Component] = u.Reason
		}
	}
	return why
}

// warn tells what generating came upon, once where environments share it.
func (g *generated) warn(streams *stream.Streams, told map[string]bool) {
	for _, w := range g.result.Warnings {
		if text := finding.Redact(g.warning(w)); !told[text] {
			told[text] = true
			fmt.Fprintln(streams.Err, text)
		}
	}
	if len(g.assumed) > 0 {
		fmt.Fprintf(streams.Err, "%s: taken from the checkout, as ladder.yaml does not say it: %s\n", g.environment, strings.Join(g.assumed, ", "))
	}
}

func (g *generated) warning(w generate.Warning) string {
	if w.Position.File == "" {
		return "warning: " + w.Message
	}
	return w.Position.Below(g.way).String() + ": warning: " + w.Message
}
