package generate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Mark begins every generated file, as a comment. What does not begin with it is
// not Ladder's to change or remove.
const Mark = ladderfile.GeneratedMark

// Input is what the objects are made from.
type Input struct {
	Platform *repo.Platform
	// Components are those of the platform with the types that their contents tell; nil
	// for those that are written alone.
	Components []model.Component
	// Plan is that of the policy phases.
	Plan *plan.Plan
	// Objects are those that components render to, by name, as far as they are
	// known.
	Objects map[string][]manifest.Object
	// Unrendered says of components why not all of their objects are known.
	Unrendered map[string]string
	// Layout is single, tiers or app-of-apps; empty for that of the ladder.
	Layout string
	// RepoURL and Revision take precedence over what the ladder file says.
	RepoURL, Revision string
	// Out is the folder of the files relative to the root of the platform; empty
	// for that of the ladder file.
	Out string
	// Image runs ladder smoke where the ladder file names none.
	Image string
}

// File is one generated file. Path is relative to the root of the platform.
type File struct {
	Path    string
	Content []byte
}

// Warning is something that people should know of what was generated.
type Warning struct {
	Message  string
	Position finding.Position
}

// String prints "file:line: message".
func (w Warning) String() string {
	if w.Position.File == "" {
		return w.Message
	}
	return w.Position.String() + ": " + w.Message
}

// Result is what Build makes.
type Result struct {
	// Files are sorted by path.
	Files []File
	// Root is the path of the file that a person applies, Folder the one that all
	// files lie in.
	Root, Folder string
	Warnings     []Warning
}

// EdgeError says that a layout cannot honour an edge.
type EdgeError struct {
	From, To string
	Layout   string
	Reason   string
	Position finding.Position
}

// Error implements error.
func (e *EdgeError) Error() string {
	text := fmt.Sprintf("the layout %s cannot honour that %s requires %s: %s", e.Layout, e.From, e.To, e.Reason)
	if e.Position.File != "" {
		text = e.Position.String() + ": " + text
	}
	return text
}

// LayoutError says that a layout cannot hold something of the platform.
type LayoutError struct {
	Layout   string
	Reason   string
	Hint     string
	Position finding.Position
	// Unordered is set where components have no place in the order, which lint and plan
	// tell as well.
	Unordered bool
}

// Error implements error.
func (e *LayoutError) Error() string {
	text := fmt.Sprintf("the layout %s cannot be generated: %s", e.Layout, e.Reason)
	if e.Position.File != "" {
		text = e.Position.String() + ": " + text
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Build makes the objects of one environment. The error is one or several joined
// *EdgeError and *LayoutError, else something that could not be done.
func Build(ctx context.Context, in Input) (*Result, error) {
	b, err := newBuilder(ctx, in)
	if err != nil {
		return nil, err
	}
	if err := b.arrange(); err != nil {
		return nil, err
	}
	if err := b.applications(); err != nil {
		return nil, err
	}
	b.besideSets()
	switch b.layout {
	case plan.Tiers:
		err = b.tiers()
	case plan.AppOfApps:
		err = b.appOfApps()
	default:
		err = b.single()
	}
	if err != nil {
		return nil, err
	}
	if err := b.common(); err != nil {
		return nil, err
	}
	slices.SortFunc(b.out, func(x, y File) int { return strings.Compare(x.Path, y.Path) })
	return &Result{Files: b.out, Root: path.Join(b.folder, RootFile), Folder: b.folder, Warnings: b.warnings}, nil
}

// RootFile is the file of the root Application, in the folder of an environment.
const RootFile = "root.yaml"

// Marked reports whether a file is one that was generated.
func Marked(content []byte) bool { return ladderfile.IsGenerated(content) }

// The other files.
const (
	kustomizationFile = "kustomization.yaml"
	projectsFile      = "projects.yaml"
	setFile           = "applicationset.yaml"
	applicationsDir   = "applications"
	settingsDir       = "settings"
	smokesDir         = "smokes"
	tiersDir          = "tiers"
)

type builder struct {
	ctx      context.Context
	in       Input
	platform *repo.Platform
	layout   plan.Layout
	// repoURL and revision are those of every source in this repository.
	repoURL, revision string
	// prefix is the root of the platform relative to the top of its repository,
	// "." where they are one; name that of the platform.
	prefix, name string
	// folder is where the files land, relative to the root of the platform.
	folder      string
	destination Destination
	// label are the keys of the labels of Applications.
	label ladderfile.Labels

	// components are those that are generated, by name.
	components map[string]*model.Component
	stages     []stage
	stageOf    map[string]int
	// apps are the Applications of components, by name.
	apps map[string]Application

	// early is what preArgo returns.
	early map[finding.Resource]string

	// parents are the Applications that apply others.
	parents []Application
	// resources are what the kustomization of the root lists.
	resources []string
	out       []File
	warnings  []Warning
}

func newBuilder(ctx context.Context, in Input) (*builder, error) {
	p := in.Platform
	b := &builder{
		ctx: ctx, in: in, platform: p, components: map[string]*model.Component{},
		stageOf: map[string]int{}, apps: map[string]Application{}, label: p.ArgoCD.Labels,
	}
	b.layout = plan.Layout(cmp.Or(in.Layout, string(p.Ladder.Layout)))
	if !slices.Contains([]plan.Layout{plan.Single, plan.Tiers, plan.AppOfApps}, b.layout) {
		return nil, fmt.Errorf("the layout %q is not one of single, tiers, app-of-apps", b.layout)
	}
	if in.Plan == nil || in.Plan.Environment != p.Environment {
		return nil, errors.New("generate: the plan is not that of the environment")
	}
	b.repoURL = cmp.Or(in.RepoURL, p.ArgoCD.RepoURL)
	if b.repoURL == "" {
		return nil, b.refuse(p.ArgoCD.At("repoURL"), "add argocd.repoURL to ladder.yaml, or a remote named origin", "the address of the repository is not known")
	}
	b.revision = cmp.Or(in.Revision, p.ArgoCD.TargetRevision, "main")
	rel, err := filepath.Rel(p.Repository, p.Root)
	if err != nil {
		return nil, fmt.Errorf("find the platform in its repository: %w", err)
	}
	b.prefix = filepath.ToSlash(rel)
	b.name = platformName(b.prefix, cmp.Or(p.ArgoCD.RepoURL, b.repoURL))
	b.folder = ladderfile.Folder(cmp.Or(in.Out, p.ArgoCD.Out), p.Environment)
	to := p.ArgoCD.In(p.Environment)
	b.destination = Destination{Server: to.Server, Name: to.Name}
	components := in.Components
	if components == nil {
		components = p.Components
	}
	for i := range components {
		if c := &components[i]; c.Enabled && !c.PreArgo {
			b.components[c.Name] = c
		}
	}
	return b, nil
}

// platformName is the last part of the path of a platform in its repository, or
// of the address of the repository: the folder it is checked out in says nothing.
func platformName(prefix, repoURL string) string {
	name := path.Base(prefix)
	if prefix == "." || prefix == "" {
		trimmed := strings.TrimSuffix(strings.TrimSuffix(repoURL, "/"), ".git")
		name = trimmed[strings.LastIndexAny(trimmed, "/:")+1:]
	}
	clean := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name)), "-")
	return cmp.Or(clean, "platform")
}

// inRepository is a path of the platform as Git sources see it.
func (b *builder) inRepository(p string) string { return path.Join(b.prefix, p) }

func (b *builder) refuse(at finding.Position, hint, format string, args ...any) error {
	return &LayoutError{Layout: string(b.layout), Reason: fmt.Sprintf(format, args...), Hint: hint, Position: at}
}

func (b *builder) warn(at finding.Position, format string, args ...any) {
	b.warnings = append(b.warnings, Warning{Message: fmt.Sprintf(format, args...), Position: at})
}

// add writes a file of the given YAML documents below the folder.
func (b *builder) add(file string, documents ...any) error {
	var content bytes.Buffer
	for i, d := range documents {
		if i > 0 {
			content.WriteString("---\n")
		}
		text, ready := d.([]byte)
		if !ready {
			var err error
			if text, err = yaml.Marshal(d); err != nil {
				return fmt.Errorf("write %s: %w", file, err)
			}
		}
		content.Write(text)
	}
	b.write(file, content.Bytes())
	return nil
}

// write adds a file with the mark before its content.
func (b *builder) write(file string, content []byte) {
	b.out = append(b.out, File{Path: path.Join(b.folder, file), Content: append([]byte(Mark), content...)})
}

// list adds a file to the kustomization of the root.
func (b *builder) list(file string) { b.resources = append(b.resources, file) }
