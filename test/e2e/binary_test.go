package e2e

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// ladderBinary is the command under test.
func ladderBinary(t *testing.T) string {
	t.Helper()
	return planetest.Binary(t)
}
