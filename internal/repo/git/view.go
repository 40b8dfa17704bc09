package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// View is a Git repository of somebody else, seen through a repository that
// Ladder made.
type View struct {
	// Top is the folder of the work tree without symbolic links; empty for a bare
	// repository.
	Top string
	// Prefix is the folder that was opened, relative to Top with slashes; empty for
	// Top itself.
	Prefix string

	place   place
	folder  folder
	scratch string
}

// Open makes a view of the repository that a folder is in. A folder in none is
// ErrNoRepository. Close removes the view.
func Open(ctx context.Context, dir string) (*View, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	found, err := find(dir)
	if err != nil {
		return nil, err
	}
	v, err := open(ctx, found)
	if err != nil || found.top == "" {
		return v, err
	}
	prefix, err := filepath.Rel(found.top, dir)
	if v.Top = found.top; prefix != "." {
		v.Prefix = filepath.ToSlash(prefix)
	}
	return v, err
}

// open makes a view of a repository that was found.
func open(ctx context.Context, found place) (*View, error) {
	scratch, err := os.MkdirTemp("", "ladder-git-")
	if err != nil {
		return nil, fmt.Errorf("open the repository: %w", err)
	}
	v := &View{place: found, scratch: scratch}
	if err := v.make(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the repository: %w", err), v.Close())
	}
	return v, nil
}

// Close removes the view.
func (v *View) Close() error {
	if err := os.RemoveAll(v.scratch); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

// make makes the repository that git works in.
func (v *View) make(ctx context.Context) error {
	common := filepath.Join(v.scratch, "git")
	v.folder = folder{git: common, home: filepath.Join(v.scratch, "home")}
	for _, dir := range []string{v.folder.home, filepath.Join(common, "objects", "info"), filepath.Join(common, "info")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := v.configure(ctx, common); err != nil {
		return err
	}
	// One quoted line names one folder, whatever characters it has.
	// Source: link_alt_odb_entries in object-file.c of Git.
	alternates := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.Join(v.place.common, "objects")) + "\"\n"
	if err := os.WriteFile(filepath.Join(common, "objects", "info", "alternates"), []byte(alternates), 0o600); err != nil {
		return err
	}
	if err := link(v.place.common, common, "refs", "packed-refs", "logs", "shallow", "index", "info/exclude", "*_HEAD", "sharedindex.*"); err != nil {
		return err
	}
	if v.place.own == v.place.common {
		return copyHead(v.place.own, common)
	}
	// A linked work tree has a HEAD, a log and an index of its own.
	v.folder.git = filepath.Join(common, "worktrees", "this")
	if err := os.MkdirAll(v.folder.git, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(v.folder.git, "commondir"), []byte("../..\n"), 0o600); err != nil {
		return err
	}
	if err := link(v.place.own, v.folder.git, "refs", "logs", "index", "*_HEAD", "sharedindex.*"); err != nil {
		return err
	}
	return errors.Join(copyHead(v.place.common, common), copyHead(v.place.own, v.folder.git))
}

// link links those files and folders of a repository that are plain data.
func link(from, to string, patterns ...string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		if strings.Contains(pattern, "/") {
			if err := os.Symlink(filepath.Join(from, pattern), filepath.Join(to, pattern)); err != nil {
				return err
			}
			continue
		}
		for _, entry := range entries {
			if ok, _ := filepath.Match(pattern, entry.Name()); !ok {
				continue
			}
			if err := os.Symlink(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyHead copies HEAD, which git does not take for a reference where it is a link.
func copyHead(from, to string) error {
	text, err := repofs.ReadRegular(filepath.Join(from, "HEAD"), smallFile)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "HEAD"), text, 0o600)
}

// configure writes the configuration. Of that of the other repository it needs
// the formats of hashes and references, which are words of a fixed set.
func (v *View) configure(ctx context.Context, common string) error {
	const bare = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
	file := filepath.Join(v.place.common, "config")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(filepath.Join(common, "config"), []byte(bare), 0o600)
	}
	text, err := repofs.ReadRegular(file, 16<<20)
	if err != nil {
		return err
	}
	copied := filepath.Join(v.scratch, "theirs")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		return err
	}
	hashes, err := v.setting(ctx, copied, "extensions.objectformat", "sha1", "sha256")
	if err != nil {
		return err
	}
	if _, err := v.setting(ctx, copied, "extensions.refstorage", "files"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(common, "config"), []byte(bare+"[extensions]\n\tobjectformat = "+hashes+"\n"), 0o600)
}

// FormatError says that a repository is in a format that Ladder does not read.
type FormatError struct{ Setting, Value string }

// Error implements error.
func (e *FormatError) Error() string {
	return fmt.Sprintf("the repository has %s = %q, which Ladder does not read", e.Setting, e.Value)
}

// setting is a value of a file of configuration, the first one where there is
// none. Files that the file includes are not read.
func (v *View) setting(ctx context.Context, file, name string, values ...string) (string, error) {
	out, err := v.folder.output(ctx, "config", "--file", file, "--no-includes", "--default", values[0], "--get", name)
	if err != nil {
		return "", err
	}
	out = strings.TrimSuffix(out, "\n")
	for _, value := range values {
		if out == value {
			return value, nil
		}
	}
	return "", &FormatError{name, plain(out)}
}

// Shallow reports whether the repository lacks the beginning of its history.
func (v *View) Shallow() bool {
	info, err := os.Stat(filepath.Join(v.place.common, "shallow"))
	return err == nil && info.Size() > 0
}
