package e2e

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

func TestMain(m *testing.M) {
	os.Exit(planetest.InTurn(func() int { return planetest.Main(m, 4) }))
}

// ladderBinary is the command under test.
func ladderBinary(t *testing.T) string {
	t.Helper()
	return planetest.Binary(t)
}
