package repofs

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// What is kept of the content of files: of all together, and of one file, in
// bytes. Descriptors and manifests are read by several parties, and are small.
const (
	maxKept     = 32 << 20
	maxKeptFile = 64 << 10
)

// contents keeps the content of small files.
type contents struct {
	files sync.Map // path as it is asked for -> []byte
	size  atomic.Int64
}

func (c *contents) find(file string) ([]byte, bool) {
	known, ok := c.files.Load(file)
	if !ok {
		return nil, false
	}
	return known.([]byte), true
}

// keep returns what is kept: who reads a file at the same time gets the same.
func (c *contents) keep(file string, data []byte) []byte {
	// Appending to what several hold must not write where another has.
	data = slices.Clip(data)
	if len(data) > maxKeptFile || c.size.Add(int64(len(data))) > maxKept {
		return data
	}
	first, _ := c.files.LoadOrStore(file, data)
	return first.([]byte)
}

// folder is what is in a folder, sorted by name.
type folder struct {
	entries []entry
	err     error
}

// entry is a file, a folder or a link in a folder; mode has the bits of the type
// only.
type entry struct {
	name string
	mode fs.FileMode
}

// isPlain reports whether a path is known to be there and no link: its folder was
// listed. Nothing follows from a name that is not in the list, since file systems
// differ in which names are the same.
func (t *Tree) isPlain(abs string) bool {
	known, ok := t.folders.Load(filepath.Dir(abs))
	if !ok {
		return false
	}
	name, list := filepath.Base(abs), known.(folder).entries
	i, ok := slices.BinarySearchFunc(list, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	return ok && list[i].mode&fs.ModeSymlink == 0 && list[i].mode&fs.ModeIrregular == 0
}

// few is how many folders are listed one after the other.
const few = 16

// listAll lists the folders in a folder side by side, so that who goes through them
// finds them listed: a platform may hold ten thousand next to each other.
func (t *Tree) listAll(ctx context.Context, abs string, entries []entry) {
	var folders []string
	for _, e := range entries {
		if e.mode.IsDir() && e.name != gitFolder {
			folders = append(folders, filepath.Join(abs, e.name))
		}
	}
	if len(folders) <= few {
		return
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(folders, few) {
		group.Go(func() error {
			for _, folder := range part {
				if ctx.Err() == nil {
					_, _ = t.entries(folder) // who needs it is told again
				}
			}
			return nil
		})
	}
	_ = group.Wait() // nothing fails
}

// entries lists a folder.
func (t *Tree) entries(abs string) ([]entry, error) {
	if known, ok := t.folders.Load(abs); ok {
		f := known.(folder)
		return f.entries, f.err
	}
	var f folder
	list, err := os.ReadDir(abs)
	if f.err = err; err == nil {
		f.entries = make([]entry, len(list))
		for i, e := range list {
			f.entries[i] = entry{e.Name(), e.Type()}
		}
	}
	t.folders.Store(abs, f)
	return f.entries, f.err
}
