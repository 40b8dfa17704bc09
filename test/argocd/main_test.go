package argocd_test

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

func TestMain(m *testing.M) {
	const sideBySide = 5
	run := func() int { return planetest.Main(m, sideBySide) }
	if _, ok := built(); ok { // else everything is skipped: there is nothing to wait for
		os.Exit(planetest.InTurn(run))
	}
	os.Exit(run())
}
