package helmfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// join makes a path relative to the root of one relative to a folder. An absolute
// one, such as variables that were given make, may lie in the repository.
func (e *engine) join(base, file string) (string, error) {
	switch {
	case isMarked(file):
		return "", errors.New("the path is not known")
	case strings.HasPrefix(file, "~"):
		return "", fmt.Errorf("the path %s is not in the repository", file)
	case path.IsAbs(file):
		rel := e.tree.Rel(file)
		if !filepath.IsLocal(rel) {
			return "", fmt.Errorf("the path %s is absolute", file)
		}
		return rel, nil
	default:
		return path.Join(base, file), nil
	}
}

func (e *engine) readFile(base, file string) (string, error) {
	if isMarked(file) {
		return e.unknown.mark("%s", e.unknown.reason(file)), nil
	}
	p, err := e.join(base, file)
	if err != nil {
		return "", err
	}
	data, err := e.tree.Read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("readFile: there is no file %s", p)
	case err != nil:
		return "", fmt.Errorf("readFile: %w", err)
	}
	e.secrets.AddText(data)
	if isEncrypted(data) {
		return e.unknown.mark("the file %s is encrypted", p), nil
	}
	return string(data), nil
}

func (e *engine) isFile(base, file string) (bool, error) {
	p, err := e.join(base, file)
	return err == nil && e.tree.IsFile(p), err
}

func (e *engine) isDir(base, file string) (bool, error) {
	p, err := e.join(base, file)
	return err == nil && e.tree.IsDir(p), err
}

func (e *engine) readDir(base, dir string) ([]string, error) {
	p, err := e.join(base, dir)
	if err != nil {
		return nil, err
	}
	names, err := e.tree.List(p)
	var out []string
	for _, name := range names {
		if e.tree.IsFile(path.Join(p, name)) {
			out = append(out, path.Join(dir, name))
		}
	}
	return out, err
}

// expand finds the files that a path names, which may be a pattern. It is empty
// where there are none.
func (l *loader) expand(base, file string) ([]string, error) {
	p, err := l.engine.join(base, file)
	if err != nil {
		return nil, err
	}
	if !strings.ContainsAny(p, "*?[{") {
		if err := l.tree.Check(p, finding.Position{}); err != nil {
			return nil, err
		}
		if l.tree.IsFile(p) || l.tree.IsDir(p) {
			return []string{p}, nil
		}
		return nil, nil
	}
	if !doublestar.ValidatePattern(p) {
		return nil, fmt.Errorf("%s is not a valid pattern", file)
	}
	dir, rest := doublestar.SplitPattern(p)
	if err := l.tree.Check(dir, finding.Position{}); err != nil {
		return nil, err
	}
	found, err := l.tree.Find(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range found {
		rel := strings.TrimPrefix(strings.TrimPrefix(f, dir), "/")
		if ok, err := doublestar.Match(rest, rel); ok && err == nil {
			out = append(out, f)
		}
	}
	return out, nil
}

// isRemote reports whether a path names something to fetch. Source: Helmfile,
// remote.IsRemote: an address, or one of go-getter.
func isRemote(file string) bool {
	return strings.Contains(file, "::") || strings.Contains(file, "://")
}
