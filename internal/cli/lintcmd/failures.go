package lintcmd

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// failures are the findings about sources of the repository itself that cannot
// be rendered. What lies elsewhere is no mistake of the repository; it is listed
// as not rendered.
func failures(r *analysis.Result, tree *repofs.Tree) []finding.Finding {
	if len(r.Unrendered) == 0 {
		return nil
	}
	modules := tree.Submodules()
	of := map[string]model.Component{}
	for _, c := range r.Platform.Components {
		of[c.Name] = c
	}
	var found []finding.Finding
	for _, e := range r.Unrendered {
		if elsewhere(e, modules) || missed(r.Findings, e) {
			continue // or who read the repository has said so
		}
		f := finding.Finding{
			Rule: lint.RuleRenderFailed, Severity: finding.Warning, Scope: finding.Rule, Environment: r.Platform.Environment,
			Component: e.Component, Position: e.Position, Basis: finding.Rendered, Message: strings.TrimSpace(e.Reason),
		}
		switch {
		case errors.Is(e.Err, fs.ErrNotExist):
			f.Rule, f.Severity, f.Basis = lint.RuleFileMissing, finding.Error, finding.Declared
		case errors.As(e.Err, new(*manifest.SyntaxError)): // nothing that only Argo CD knows mends it
			f.Severity = finding.Error
		}
		if f.Rule == lint.RuleFileMissing && blank(e.Err) && templated(tree, of[e.Component].Position.File) {
			f.Severity = finding.Info
			f.Message += "; a part of the name is empty, and whoever installs the chart of the Application may set it"
		}
		if of[e.Component].Assumed && (f.Rule == lint.RuleFileMissing || e.Missing.Path != "" && !exists(tree, e.Missing.Path)) {
			// What belongs to a cluster that nobody may have registered.
			f.Severity = finding.Info
			if of[e.Component].Solved {
				f.Message += "; whether there is the cluster that the Application is for is not known here"
			} else {
				f.Message += "; which Applications the ApplicationSet generates is not known here"
			}
		}
		if c := of[e.Component]; f.Rule == lint.RuleFileMissing && c.Set != "" && c.Position != f.Position && c.Position.File != "" {
			f.Evidence = append(f.Evidence, finding.Evidence{Text: "ApplicationSet " + c.Set + " generates " + c.Name + " of this", File: c.Position.File, Line: c.Position.Line})
		}
		found = append(found, f)
	}
	return found
}

// withoutUnrendered leaves out what says of parts alone that they are not read which are
// listed as not rendered, with what lacks them.
func withoutUnrendered(found []finding.Finding, unrendered []*render.Error) []finding.Finding {
	listed := func(u finding.Unread) bool {
		return u.Part && u.Name == "" && slices.ContainsFunc(unrendered, func(e *render.Error) bool { return e.Position == u.Position })
	}
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool {
		return len(f.Unread) > 0 && f.Severity == finding.Info && !slices.ContainsFunc(f.Unread, func(u finding.Unread) bool { return !listed(u) })
	})
}

// emptied matches the name of a file of which a part was empty: "values-.yaml".
var emptied = lazyregexp.New(`^[-_]|[-_.]\.\w+$`)

func blank(err error) bool {
	var missing *fs.PathError
	return errors.As(err, &missing) && emptied.MatchString(path.Base(missing.Path))
}

// templated reports whether a file is a template of a chart.
func templated(tree *repofs.Tree, file string) bool {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if path.Base(dir) == "templates" && tree.IsFile(path.Join(path.Dir(dir), "Chart.yaml")) {
			return true
		}
	}
	return false
}

func exists(tree *repofs.Tree, name string) bool { return tree.IsFile(name) || tree.IsDir(name) }

// missed reports whether why a component is not rendered is told in its words, or a file of it is
// missing, the kustomization of a parent cannot be built, or values are not read, and
// what fails without them may well be whole with them. A source that is not there at all
// is not.
func missed(found []finding.Finding, e *render.Error) bool {
	var missing *fs.PathError
	whole := errors.As(e.Err, &missing) && e.Missing.Path != "" && missing.Path == e.Missing.Path
	part := func(u finding.Unread) bool { return u.Part && u.Name == e.Component && !whole }
	return slices.ContainsFunc(found, func(f finding.Finding) bool {
		return f.Component == e.Component && f.Message == e.Reason || f.Rule == lint.RuleFileMissing && (f.Component == e.Component || missing != nil && entryOf(f) == missing.Path) || slices.ContainsFunc(f.Unread, part) ||
			f.Severity == finding.Error && f.Position.File == e.Position.File && len(f.Unread) > 0
	})
}

// entryOf is the file that an entry of a kustomization names which is missing.
func entryOf(f finding.Finding) string {
	name, _, _ := strings.Cut(f.Message, " ")
	return path.Join(path.Dir(f.Position.File), name)
}

// elsewhere reports whether what could not be rendered is not in the repository, or only
// as another revision has it, or needs what only Argo CD's own host has: a program, a key.
func elsewhere(e *render.Error, modules []string) bool {
	switch {
	case inSubmodule(e, modules):
		return true
	case e.Missing.Kind == model.Chart && lacksValues(e):
		return false // its value files are here, wherever the chart is
	case e.Part, e.Missing.RepoURL != "", e.Missing.Revision != "", errors.Is(e, source.ErrPlugin), errors.Is(e, source.ErrEncrypted):
		return true
	case e.Missing.Kind == model.Git, e.Missing.Kind == model.Plugin:
		return true
	}
	return false
}

// inSubmodule reports whether a source, or the file that it lacks, is of a Git submodule.
func inSubmodule(e *render.Error, modules []string) bool {
	names := []string{e.Missing.Path}
	if missing := (*fs.PathError)(nil); errors.As(e.Err, &missing) {
		names = append(names, missing.Path)
	}
	return slices.ContainsFunc(modules, func(m string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return path.Clean(name) == m || strings.HasPrefix(path.Clean(name), m+"/")
		})
	})
}

// lacksValues reports whether a value file that a source names is why it is not rendered.
func lacksValues(e *render.Error) bool {
	var missing *fs.PathError
	return errors.As(e.Err, &missing) && errors.Is(missing, fs.ErrNotExist) &&
		slices.ContainsFunc(e.Missing.ValueFiles, func(f model.ValueFile) bool { return f.Path == missing.Path })
}
