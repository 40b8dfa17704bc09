package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Errors of looking for a repository.
var (
	// ErrNoRepository says that a folder is in no Git repository.
	ErrNoRepository = errors.New("there is no Git repository")
	// ErrElsewhere says that a file .git names a repository that is not there, as
	// that of a linked work tree does where only the work tree was copied.
	ErrElsewhere = errors.New("the Git repository that it names is not there")
)

// smallFile is the most that a file which names another folder or a branch holds.
const smallFile = 64 << 10

// place is where a repository was found.
type place struct {
	// top is the folder of the work tree; empty for a bare repository.
	top string
	// own is the git folder of the work tree, common the one that linked work
	// trees share. They differ in a linked work tree only.
	own, common string
}

// find looks for the repository of a folder, which has no symbolic links, in it
// and above it. It goes by the layout of the files: what the configuration says
// of the work tree is not asked for. Source: gitrepository-layout(5).
func find(dir string) (place, error) {
	for {
		own, err := gitFolder(filepath.Join(dir, ".git"))
		if err != nil {
			return place{}, err
		}
		top := dir
		if own == "" && isRepository(dir) {
			own, top = dir, ""
		}
		if own != "" {
			common, err := commonFolder(own)
			return place{top, own, common}, err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return place{}, ErrNoRepository
		}
		dir = parent
	}
}

// gitFolder is the git folder that .git is or names; empty where there is none.
func gitFolder(dotGit string) (string, error) {
	info, err := os.Stat(dotGit)
	if err != nil {
		return "", nil //nolint:nilerr // what is not there is no repository
	}
	if info.IsDir() {
		if isRepository(dotGit) {
			return dotGit, nil
		}
		return "", nil
	}
	text, err := repofs.ReadRegular(dotGit, smallFile)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", dotGit, err)
	}
	named, ok := strings.CutPrefix(string(text), "gitdir: ")
	named = against(filepath.Dir(dotGit), named)
	if !ok || !isRepository(named) {
		return "", fmt.Errorf("read %s: %w", dotGit, ErrElsewhere)
	}
	return named, nil
}

// commonFolder is the git folder that a linked work tree shares with others.
func commonFolder(own string) (string, error) {
	file := filepath.Join(own, "commondir")
	text, err := repofs.ReadRegular(file, smallFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return own, nil
	case err != nil:
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return against(own, string(text)), nil
}

// against is the folder that the line of a file in dir names.
func against(dir, line string) string {
	line = strings.TrimRight(line, "\r\n")
	if filepath.IsAbs(line) {
		return filepath.Clean(line)
	}
	return filepath.Join(dir, line)
}

// isRepository reports whether a folder is laid out as a git folder.
func isRepository(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(dir, "commondir")); err == nil {
		return true
	}
	return isFolder(filepath.Join(dir, "objects")) && isFolder(filepath.Join(dir, "refs"))
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
