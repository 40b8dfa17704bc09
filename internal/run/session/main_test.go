package session

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/confine/confinetest"
)

func TestMain(m *testing.M) { os.Exit(confinetest.Main(m)) }
