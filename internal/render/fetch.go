package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/Masterminds/semver/v3"

	"github.com/rollout-ladder/ladder/internal/render/helm"
)

// archives fetches every remote chart once: charts of an exact version are kept
// on disk between runs, others in memory for this one.
type archives struct {
	fetch helm.Fetch
	dir   string // empty keeps nothing on disk

	mu    sync.Mutex
	known map[string]*archive
}

type archive struct {
	done chan struct{}
	data []byte
	err  error
}

// get is a helm.Fetch.
func (a *archives) get(ctx context.Context, repoURL, name, version string) ([]byte, error) {
	sum := sha256.Sum256([]byte(strings.Join([]string{repoURL, name, version}, "\x00")))
	key := hex.EncodeToString(sum[:16])
	a.mu.Lock()
	one, ok := a.known[key]
	if !ok {
		one = &archive{done: make(chan struct{})}
		a.known[key] = one
	}
	a.mu.Unlock()
	if ok {
		select {
		case <-one.done:
			return one.data, one.err
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	defer close(one.done)
	file := ""
	if _, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v")); err == nil && a.dir != "" {
		file = filepath.Join(a.dir, key+".tgz")
		if one.data, err = os.ReadFile(file); err == nil && len(one.data) > 0 {
			return one.data, nil
		}
	}
	one.data, one.err = a.fetch(ctx, repoURL, name, version)
	if one.err == nil && file != "" {
		writeFile(file, one.data)
	}
	return one.data, one.err
}

// writeFile puts a file into the cache, whole or not at all. A cache that
// cannot be written is no failure.
func writeFile(name string, data []byte) {
	dir := filepath.Dir(name)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	temp, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already after the rename
	_, err = temp.Write(data)
	if closeErr := temp.Close(); err != nil || closeErr != nil {
		return
	}
	_ = os.Rename(temp.Name(), name)
}
