// Package confinetest gives tests a worker that is a program of its own: a test that asks
// need not link what the worker computes with. Nothing but a test may import it.
package confinetest

import (
	"sync"
	"testing"

	"github.com/rollout-ladder/ladder/internal/confine/internal/instead"
	"github.com/rollout-ladder/ladder/internal/testbuild"
)

// Main runs the tests of a package that asks workers. It returns the exit code.
func Main(m *testing.M) int {
	Use()
	return m.Run()
}

// Use builds the worker, where it is not up to date, and has this test ask it. It is
// confined as every other.
func Use() {
	if !testing.Testing() {
		panic("only tests ask another program")
	}
	program, err := testbuild.Build("test-worker", "./test/worker")
	if err != nil {
		panic(err)
	}
	instead.Program = sync.OnceValues(program.Use)
}
