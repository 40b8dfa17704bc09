// Package planetest gives tests the built command, and planes made of it,
// without linking the control plane into test binaries.
package planetest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rollout-ladder/ladder/internal/testbuild"
)

var built struct {
	once sync.Once
	path string
	err  error
}

// Binary is the path of the ladder command under test: LADDER_BINARY, else
// bin/ladder at the top of the module, which is built when it is not up to
// date. Test processes that run at once build it once.
func Binary(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		built.path, built.err = find()
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

func find() (string, error) {
	if path := os.Getenv("LADDER_BINARY"); path != "" {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return "", fmt.Errorf("LADDER_BINARY names %s, which is no program", path)
		}
		return path, nil
	}
	program, err := testbuild.Build("ladder", "./cmd/ladder")
	if err != nil {
		return "", err
	}
	return program.Use()
}
