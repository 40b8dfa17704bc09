package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// ladderBinary is the command under test.
func ladderBinary(t *testing.T) string {
	t.Helper()
	path, given := os.LookupEnv("LADDER_BINARY")
	if !given {
		path = filepath.Join("..", "..", "bin", "ladder")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		t.Fatalf("the ladder binary is missing at %s: run `make build` (go build -o bin/ladder ./cmd/ladder), or name another with LADDER_BINARY", path)
	}
	return path
}
