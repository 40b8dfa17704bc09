// Package checkout reads what a checkout of Git says of itself: the address that
// it was cloned from, and the branch that is checked out. It reads files of .git
// and starts no process.
package checkout

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Checkout is what is known of one; empty fields are not known.
type Checkout struct {
	// URL is the address of the remote origin, without credentials; empty where it is a folder of this
	// machine, which says nothing of where others have the repository.
	URL string
	// Branch is the one that HEAD points to; empty where HEAD is detached.
	Branch string
}

// IsAddressed reports whether a remote tells where a folder comes from: it is a checkout that has one.
func IsAddressed(top string) bool {
	c, err := Read(top)
	return err == nil && c.URL != ""
}

// Read reads the checkout whose top is a folder. What is no checkout is the zero
// value; the error is one of reading files.
func Read(top string) (Checkout, error) {
	dir, err := gitDir(filepath.Join(top, ".git"))
	if dir == "" || err != nil {
		return Checkout{}, err
	}
	var c Checkout
	head, err := read(filepath.Join(dir, "HEAD"))
	if err != nil {
		return Checkout{}, err
	}
	if ref, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/"); ok {
		c.Branch = ref
	}
	// A worktree shares the configuration of its repository. Source: Git,
	// gitrepository-layout, commondir.
	common, err := read(filepath.Join(dir, "commondir"))
	if err != nil {
		return Checkout{}, err
	}
	if shared := strings.TrimSpace(string(common)); shared != "" {
		if !filepath.IsAbs(shared) {
			shared = filepath.Join(dir, shared)
		}
		dir = shared
	}
	config, err := read(filepath.Join(dir, "config"))
	if err != nil {
		return Checkout{}, err
	}
	if address := origin(config); !isFolder(address) {
		c.URL = finding.WithoutCredentials(address)
	}
	return c, nil
}

// isFolder reports whether an address is a path. Source: git-clone, "Git URLs".
func isFolder(address string) bool {
	before, _, colon := strings.Cut(address, ":")
	return !colon || strings.Contains(before, "/") || strings.HasPrefix(address, "file:")
}

// gitDir follows a file .git, as worktrees and submodules have it, to the folder.
func gitDir(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		return path, nil
	}
	content, err := read(path)
	if err != nil {
		return "", err
	}
	to, ok := strings.CutPrefix(strings.TrimSpace(string(content)), "gitdir: ")
	if !ok {
		return "", nil
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(filepath.Dir(path), to)
	}
	return to, nil
}

// maxFile bounds the files that are read, in bytes.
const maxFile = 16 << 20

// read returns the content of a file, nothing where there is none. Who sends a folder
// with .git in it may have put a pipe or a device there.
func read(path string) ([]byte, error) {
	content, err := repofs.ReadRegular(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// origin is the address of the remote origin in a configuration file. Source: Git,
// git-config, "Syntax".
func origin(config []byte) string {
	inside := false
	lines := bufio.NewScanner(bytes.NewReader(config))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = strings.EqualFold(strings.Join(strings.Fields(line), " "), `[remote "origin"]`)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if inside && ok && strings.EqualFold(strings.TrimSpace(key), "url") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}
