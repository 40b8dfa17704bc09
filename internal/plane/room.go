package plane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/plane/child"
)

const (
	// memoryFolder is a file system in memory on Linux.
	memoryFolder = "/dev/shm"
	// memoryRoom is the least free room there for a plane: the database of a
	// platform of a thousand components with its log stays below.
	memoryRoom = 2 << 30
	// throwawayPrefix marks the folders that sweep looks at.
	throwawayPrefix = "ladder-plane-"
	// sweepAge spares folders that are just being made.
	sweepAge = time.Minute
)

// throwawayFolder makes the folder of a plane that is thrown away, in memory
// where there is room, and removes what killed planes left behind.
func throwawayFolder(now time.Time) (string, error) {
	root := os.TempDir()
	if hasRoom(memoryFolder, memoryRoom) {
		root = memoryFolder
	}
	sweep(root, now)
	if root != os.TempDir() {
		sweep(os.TempDir(), now)
	}
	dir, err := os.MkdirTemp(root, throwawayPrefix)
	if err != nil {
		return "", fmt.Errorf("make the plane's folder: %w", err)
	}
	return dir, nil
}

func hasRoom(dir string, bytes uint64) bool {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false
	}
	return unix.Access(dir, unix.W_OK) == nil && fs.Bavail*uint64(fs.Bsize) >= bytes //nolint:gosec // a block size is positive
}

// sweep removes the folders of this user's throwaway planes whose processes are all
// dead. In those of others, who share the folder, it looks at nothing.
func sweep(root string, now time.Time) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), throwawayPrefix) {
			continue
		}
		dir := filepath.Join(root, e.Name())
		info, err := e.Info()
		if err != nil || !own(info) || now.Sub(info.ModTime()) < sweepAge || held(filepath.Join(dir, child.LockFile)) {
			continue
		}
		_ = os.RemoveAll(dir)
	}
}

func own(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}
