package importer

import (
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
	"github.com/rollout-ladder/ladder/internal/core/dag"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// FinishOptions say how a platform is completed.
type FinishOptions struct {
	// Groups keeps the order of the groups; else bands and slots decide.
	Groups bool
	// Infer renders the result and adds what components are found to require.
	Infer bool
	// Load is how the result is rendered.
	Load analysis.Options
	// Force replaces files; DryRun writes none, and Strict none where anything is lost.
	Force, DryRun, Strict bool
}

// Result is a finished import.
type Result struct {
	Platform *Platform
	Files    []File
	// Written is the number of files that changed.
	Written int
}

// maxInferred bounds how often placing and inferring alternate.
const maxInferred = 3

// Finish places a platform, proves that what would be written reads and plans, and
// writes it.
func Finish(ctx context.Context, p *Platform, target *Target, o FinishOptions) (*Result, error) {
	if len(p.Components) == 0 {
		return nil, p.nothing()
	}
	p.dropEmpty()
	r := &Result{Platform: p}
	for round := range maxInferred {
		files, err := p.build(o.Groups)
		if err != nil {
			return nil, err
		}
		r.Files = files
		added := false
		if err := target.try(files, func(dir string) error {
			var err error
			if err = p.prove(ctx, dir); err != nil || !o.Infer || round == maxInferred-1 {
				return err
			}
			if err = target.link(dir); err == nil {
				added, err = p.infer(ctx, dir, o)
			}
			return err
		}); err != nil {
			return nil, err
		}
		if !added {
			break
		}
	}
	if len(p.StateFiles) > 0 { // whose releases leave them by what the notes say
		if err := target.try(r.Files, func(dir string) error {
			if err := target.link(dir); err != nil {
				return err
			}
			return p.untested(ctx, dir, o.Load)
		}); err != nil {
			return nil, err
		}
	}
	p.sortNotes()
	if o.DryRun || o.Strict && p.Count(Lost) > 0 {
		_, err := target.Conflicts(r.Files)
		return r, err
	}
	var err error
	r.Written, err = target.Write(r.Files, o.Force)
	return r, err
}

// dropEmpty leaves out the environments that have no components.
func (p *Platform) dropEmpty() {
	p.Environments = slices.DeleteFunc(p.Environments, func(env string) bool {
		if p.has(env) {
			return false
		}
		p.note(Note{Level: Told, What: "environment", Environment: env, Message: "nothing is in it, so that it is left out"})
		return true
	})
}

// nothing says why there is nothing to import.
func (p *Platform) nothing() error {
	p.sortNotes()
	problems := []error{&repo.InputError{Message: "nothing was found to import"}}
	for _, n := range p.Notes {
		if n.Level == Lost && len(problems) <= maxReasons {
			problems = append(problems, &repo.InputError{Position: n.Position, Message: finding.Redact(n.Message), Hint: n.Hint})
		}
	}
	return errors.Join(problems...)
}

// maxReasons bounds how many problems an error lists.
const maxReasons = 10

// build places and emits.
func (p *Platform) build(groups bool) ([]File, error) {
	if err := p.Place(groups); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p.Emit()
}

// try writes files into a folder of their own, runs something on them and removes them.
// Paths that lead out of the target lead to the same place from there.
func (t *Target) try(all []File, do func(dir string) error) (err error) {
	parent := t.beside()
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return fmt.Errorf("write to %s: there is no folder %s", t.shown, filepath.Dir(t.shown))
	}
	dir, err := os.MkdirTemp(parent, temporaryFolders)
	if err != nil {
		return fmt.Errorf("write to %s: %w", t.shown, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, f := range all {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("write %s: the path leaves the folder", f.Path)
		}
		to := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a folder of a repository
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
		if err := os.WriteFile(to, f.Content, 0o644); err != nil { //nolint:gosec // descriptors are for everybody to read
			return fmt.Errorf("write %s: %w", f.Path, err)
		}
	}
	return do(dir)
}

// link links what the target holds, as far as dir does not have it, for descriptors that
// name something there. Descriptors are left out: those that are tried may replace them.
func (t *Target) link(dir string) error {
	if !t.referenced {
		return nil
	}
	if err := t.linkFolder(dir, "."); err != nil {
		return fmt.Errorf("try what would be written to %s: %w", t.shown, err)
	}
	return nil
}

func (t *Target) linkFolder(dir, folder string) error {
	entries, err := os.ReadDir(filepath.Join(t.Folder, filepath.FromSlash(folder)))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		top, _, _ := strings.Cut(name, "/")
		described := top == "environments" // what may hold descriptors
		temporary, err := path.Match(temporaryFolders, e.Name())
		if err != nil || temporary || e.Name() == ".git" || described && (e.Name() == descriptor.FileName || e.Name() == descriptor.DisabledFileName) {
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Lstat(to)
		switch missing := errors.Is(err, fs.ErrNotExist); {
		case err != nil && !missing:
			return err
		case e.IsDir() && (missing && described || !missing && info.IsDir()):
			if err = os.MkdirAll(to, 0o755); err == nil { //nolint:gosec // a folder of a repository
				err = t.linkFolder(dir, name)
			}
		case missing:
			err = os.Symlink(filepath.Join(t.Folder, filepath.FromSlash(name)), to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prove reads what was written, and plans it: every component is there with the
// place that it was given, and no edge is against the order.
func (p *Platform) prove(ctx context.Context, dir string) error {
	for _, env := range p.Environments {
		if !p.has(env) {
			continue
		}
		read, err := repo.Open(ctx, dir, repo.Options{Environment: env})
		if err != nil {
			return fmt.Errorf("what would be written does not read: %w", err)
		}
		for _, f := range read.Findings {
			if f.Severity == finding.Error {
				return fmt.Errorf("what would be written is wrong: %s: %s", f.Position, f.Message)
			}
		}
		var edges []plan.Edge
		phases := map[string]string{}
		for _, c := range read.Components {
			phases[c.Name] = c.Order()
			for _, r := range c.Requires {
				edges = append(edges, plan.Edge{From: c.Name, To: r.Text, Strength: plan.Hard})
			}
		}
		for _, c := range p.Components {
			want := c.phaseIn(env).String()
			if c.PreArgo {
				want = "pre"
			}
			if c.In[env] != nil && phases[c.Name] != want {
				return fmt.Errorf("what would be written has %s at %q, not at %s", c.Name, phases[c.Name], want)
			}
		}
		made, err := plan.Build(plan.Input{Environment: env, Components: read.Components, Ladder: read.Ladder, Edges: edges, Policy: rollout.Phases})
		if err != nil {
			return fmt.Errorf("what would be written does not plan: %w", err)
		}
		if len(made.Against) > 0 || len(made.Cycles) > 0 || len(made.Unplaced) > 0 {
			return fmt.Errorf("what would be written contradicts its own order: %d edges, %d cycles, %d components without a step", len(made.Against), len(made.Cycles), len(made.Unplaced))
		}
	}
	return nil
}

// has reports whether an environment has components.
func (p *Platform) has(env string) bool {
	return slices.ContainsFunc(p.Components, func(c *Component) bool { return c.In[env] != nil })
}

// infer renders what was written and adds the hard edges that it shows to the
// requirements. Those that would close a cycle, or contradict the groups that
// count, are noted instead.
func (p *Platform) infer(ctx context.Context, dir string, o FinishOptions) (added bool, err error) {
	for _, env := range p.Environments {
		if !p.has(env) {
			continue
		}
		options := o.Load
		options.Environment, options.SecretKeysOnly = env, true
		loaded, err := analysis.Load(ctx, dir, options)
		if err != nil {
			return false, fmt.Errorf("render what would be written: %w", err)
		}
		p.unrendered(env, loaded, func(*Component) bool { return true }, "what it requires is not inferred")
		for _, e := range loaded.Edges {
			if e.Strength != plan.Hard || e.Basis == finding.Declared {
				continue
			}
			if p.inferred(env, e, o.Groups) {
				added = true
			}
		}
	}
	return added, nil
}

// unrendered notes the components that could not be rendered, and what is not known for it.
func (p *Platform) unrendered(env string, loaded *analysis.Result, counts func(*Component) bool, unknown string) {
	for _, u := range loaded.Unrendered {
		if c := p.component(u.Component); c != nil && c.In[env] != nil && counts(c) {
			p.note(Note{Level: Told, What: "render", Environment: env, Component: c.Name, Position: c.In[env].Position, Message: finding.Redact(fmt.Sprintf("%s, since it cannot be rendered: %s", unknown, oneLine(u.Reason)))})
		}
	}
}

// inferred adds one edge; it reports whether it is new.
func (p *Platform) inferred(env string, e plan.Edge, groups bool) bool {
	from, to := p.component(e.From), p.component(e.To)
	if from == nil || to == nil || from == to || from.In[env] == nil || to.In[env] == nil {
		return false
	}
	d := from.In[env]
	if slices.Contains(d.Requires, e.To) || slices.Contains(d.Validates, e.To) {
		return false
	}
	d.Requires = append(d.Requires, e.To)
	slices.Sort(d.Requires)
	against := groups && to.Group > from.Group || p.Placed && to.phaseIn(env) > from.phaseIn(env)
	if !against && len(dag.New(len(p.Components), p.edges()).Cycles()) == 0 {
		p.note(Note{Level: Changed, What: "edge", Environment: env, Component: from.Name, Position: d.Position, Message: fmt.Sprintf("%s requires %s: %s", e.From, e.To, e.Reason)})
		return true
	}
	d.Requires = slices.DeleteFunc(d.Requires, func(name string) bool { return name == e.To })
	why := "it would close a cycle"
	if against {
		why = "it contradicts the order of what is imported"
	}
	message := fmt.Sprintf("%s requires %s (%s), which is not written: %s", e.From, e.To, e.Reason, why)
	if !slices.ContainsFunc(p.Notes, func(n Note) bool { return n.Message == message && n.Environment == env }) {
		p.note(Note{Level: Lost, What: "edge", Environment: env, Component: from.Name, Position: d.Position, Message: message, Hint: "ladder lint tells more"})
	}
	return false
}

// Summary counts what an import made.
type Summary struct {
	Components int `json:"components"`
	Enabled    int `json:"enabled"`
	Edges      int `json:"edges"`
	Files      int `json:"files"`
	Written    int `json:"written"`
	Lost       int `json:"lost"`
	Changed    int `json:"changed"`
	Told       int `json:"told"`
}

// Summary counts what the import made; a component counts once, enabled if it is
// in any environment.
func (r *Result) Summary() Summary {
	p := r.Platform
	s := Summary{Components: len(p.Components), Files: len(r.Files), Written: r.Written, Lost: p.Count(Lost), Changed: p.Count(Changed), Told: p.Count(Told)}
	for _, c := range p.Components {
		required := map[string]bool{}
		enabled := false
		for _, env := range p.Environments {
			if d := c.In[env]; d != nil {
				enabled = enabled || d.Enabled && (d.HasSource() || c.Type == "smoke")
				for _, name := range d.Requires {
					if !strings.Contains(name, "/") {
						required[name] = true
					}
				}
			}
		}
		s.Edges += len(required)
		if enabled {
			s.Enabled++
		}
	}
	return s
}
