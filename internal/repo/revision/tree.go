package revision

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
)

// treeError says which revision an error is about, and names no temporary folder.
type treeError struct {
	tree *Tree
	err  error
}

// Error implements error.
func (e *treeError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "revision %s: %s", e.tree.Commit.Name, e.tree.Strip(e.err.Error()))
	for _, m := range e.tree.Missing {
		fmt.Fprintf(&text, "\nits submodule %s is not at hand: git submodule update --init %s", m.Path, m.Path)
	}
	return text.String()
}

// Unwrap returns the cause.
func (e *treeError) Unwrap() error { return e.err }

// Wrap says that an error is about the revision.
func (t *Tree) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return &treeError{t, err}
}

// Strip takes the temporary folder out of a text.
func (t *Tree) Strip(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, t.Top+"/", ""), t.Top, ".")
}

// Lacking refuses a platform of which something is in a submodule that is not at
// hand: what it renders would seem to be missing from the revision.
func (t *Tree) Lacking(p *repo.Platform) error {
	if len(t.Missing) == 0 {
		return nil
	}
	prefix, err := filepath.Rel(t.Top, p.Root)
	if err != nil {
		return fmt.Errorf("find the platform in %s: %w", t.Commit.Name, err)
	}
	for _, c := range p.Components {
		for _, file := range filesOf(c) {
			file = path.Join(filepath.ToSlash(prefix), file)
			for _, m := range t.Missing {
				if file == m.Path || strings.HasPrefix(file, m.Path+"/") {
					return &repo.InputError{
						Position: c.Position,
						Message:  fmt.Sprintf("revision %s: component %s comes from the submodule %s, whose commit %s is not at hand", t.Commit.Name, c.Name, m.Path, m.Commit[:min(len(m.Commit), 12)]),
						Hint:     "git submodule update --init " + m.Path,
					}
				}
			}
		}
	}
	return nil
}

// filesOf are the paths that a component is made from.
func filesOf(c model.Component) []string {
	out := []string{c.Position.File}
	for _, s := range c.Sources {
		there := s.Kind == model.Git // its files are in another repository, but for some
		if s.Path != "" && !there {
			out = append(out, s.Path)
		}
		for _, f := range s.ValueFiles {
			if !there || f.Here {
				out = append(out, f.Path)
			}
		}
	}
	return out
}
