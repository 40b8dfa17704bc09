package bootstrap_test

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

func TestMain(m *testing.M) { os.Exit(planetest.Main(m, 2)) }
