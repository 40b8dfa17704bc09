package files

import (
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
