package patch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Write gives files their new content: all of them, or, where one cannot be
// written or changed since it was read, none. resolve returns the absolute path
// of a file and refuses those that must not be written.
func Write(changes []Change, resolve func(file string) (string, error)) error {
	paths := make([]string, len(changes))
	fresh := make([]string, len(changes))
	defer func() {
		for _, name := range fresh {
			if name != "" {
				_ = os.Remove(name) // gone already after the rename
			}
		}
	}()
	for i, c := range changes {
		var err error
		if paths[i], err = resolve(c.File); err != nil {
			return err
		}
		if err := unchanged(paths[i], c); err != nil {
			return err
		}
		if fresh[i], err = beside(paths[i], c.After); err != nil {
			return fmt.Errorf("write %s: %w", c.File, err)
		}
	}
	for i, c := range changes {
		if err := os.Rename(fresh[i], paths[i]); err != nil {
			err = fmt.Errorf("write %s: %w", c.File, err)
			return errors.Join(err, restore(changes[:i], paths))
		}
	}
	return nil
}

func unchanged(path string, c Change) error {
	now, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", c.File, err)
	}
	if !bytes.Equal(now, c.Before) {
		return fmt.Errorf("write %s: the file changed in the meantime", c.File)
	}
	return nil
}

// beside writes content into a new file next to path, with its permissions, and
// returns its name.
func beside(path string, content []byte) (name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return f.Name(), errors.Join(err, f.Close())
}

// restore gives files their old content back.
func restore(changes []Change, paths []string) error {
	var problems []error
	for i, c := range changes {
		old, err := beside(paths[i], c.Before)
		if err == nil {
			err = os.Rename(old, paths[i])
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("restore %s: %w", c.File, err))
		}
	}
	return errors.Join(problems...)
}
