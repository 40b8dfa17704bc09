package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rollout-ladder/ladder/internal/cachedir"
)

// maxVariants is how many results are kept for one key: the branches somebody
// goes back and forth between.
const maxVariants = 4

// maxEntry is the greatest entry that is read, in bytes.
const maxEntry = 1 << 30

// cache keeps results on disk. A key stands for what is asked, without the
// content of files; it has a few variants, each with a record of the files it was
// made from. Anything that cannot be read counts as absent.
//
// The files of all keys that begin alike lie in one folder, which is listed once:
// what another process writes meanwhile is rendered here too. It is safe for
// concurrent use.
type cache struct {
	dir string

	mu      sync.Mutex
	buckets map[string]*bucket // by the beginning of the keys
}

// bucket is one folder.
type bucket struct {
	mu     sync.Mutex
	listed bool
	names  map[string][]string // files by key, sorted
}

// openCache opens the cache below a folder. What other versions of Ladder left
// there is deleted: nothing reads it, and older ones kept the values of Secrets.
func openCache(dir string) *cache {
	entries, err := os.ReadDir(dir)
	if err == nil {
		for _, e := range entries {
			if e.Name() != formatVersion {
				_ = os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}
	return newCache(filepath.Join(dir, formatVersion))
}

func newCache(dir string) *cache { return &cache{dir: dir, buckets: map[string]*bucket{}} }

// entryEnding ends the names of entries: KEY.VARIANT.json.
const entryEnding = ".json"

// folder is where the entries of a key lie.
func (c *cache) folder(key string) string { return filepath.Join(c.dir, key[:1]) }

// bucket returns the folder of a key, listed and locked.
func (c *cache) bucket(key string) *bucket {
	c.mu.Lock()
	s, ok := c.buckets[key[:1]]
	if !ok {
		s = &bucket{names: map[string][]string{}}
		c.buckets[key[:1]] = s
	}
	c.mu.Unlock()
	s.mu.Lock()
	if s.listed {
		return s
	}
	s.listed = true
	entries, err := os.ReadDir(c.folder(key))
	if err != nil {
		return s
	}
	for _, e := range entries {
		of, variant, _ := strings.Cut(e.Name(), ".")
		if of != "" && strings.HasSuffix(variant, entryEnding) {
			s.names[of] = append(s.names[of], e.Name())
		}
	}
	return s
}

// variants lists the files of a key.
func (c *cache) variants(key string) []string {
	s := c.bucket(key)
	defer s.mu.Unlock()
	paths := make([]string, len(s.names[key]))
	for i, name := range s.names[key] {
		paths[i] = filepath.Join(c.folder(key), name)
	}
	return paths
}

// add writes a variant of a key, and drops the oldest where there are too many.
func (c *cache) add(key, variant string, data []byte) {
	s := c.bucket(key)
	defer s.mu.Unlock()
	name := key + "." + variant + entryEnding
	names := slices.DeleteFunc(s.names[key], func(n string) bool { return n == name })
	if old := len(names) - maxVariants + 1; old > 0 {
		slices.SortFunc(names, func(a, b string) int { return c.age(key, a).Compare(c.age(key, b)) })
		for _, n := range names[:old] {
			_ = os.Remove(filepath.Join(c.folder(key), n))
		}
		names = names[old:]
	}
	cachedir.Write(filepath.Join(c.folder(key), name), data)
	names = append(names, name)
	slices.Sort(names)
	s.names[key] = names
}

// age is when an entry was written; the zero time where that cannot be told.
func (c *cache) age(key, name string) (at time.Time) {
	if info, err := os.Stat(filepath.Join(c.folder(key), name)); err == nil {
		at = info.ModTime()
	}
	return at
}
