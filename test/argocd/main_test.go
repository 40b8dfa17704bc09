package argocd_test

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

func TestMain(m *testing.M) {
	const sideBySide = 5
	if _, ok := built(); !ok {
		os.Exit(planetest.Main(m, sideBySide)) // everything is skipped: there is nothing to wait for
	}
	os.Exit(planetest.MainInTurn(m, sideBySide))
}
