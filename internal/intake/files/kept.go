package files

import (
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rollout-ladder/ladder/internal/regular"
)

// What is kept of the content of files: of all together, and of one file, in
// bytes. Descriptors and manifests are read by several parties, and are small.
const (
	maxKept     = 32 << 20
	maxKeptFile = 64 << 10
)

// contents keeps the content of small files.
type contents struct {
	files sync.Map // absolute path -> []byte
	size  atomic.Int64
}

// read returns the content of a file of at most MaxFileSize bytes.
func (c *contents) read(abs string) ([]byte, error) {
	if known, ok := c.files.Load(abs); ok {
		return known.([]byte), nil
	}
	data, err := regular.Read(abs, MaxFileSize)
	if err != nil {
		return nil, err
	}
	// Appending to what several hold must not write where another has.
	data = slices.Clip(data)
	if len(data) > maxKeptFile || c.size.Add(int64(len(data))) > maxKept {
		return data, nil
	}
	first, _ := c.files.LoadOrStore(abs, data)
	return first.([]byte), nil
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
