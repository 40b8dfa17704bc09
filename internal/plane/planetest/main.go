package planetest

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/rollout-ladder/ladder/internal/confine/confinetest"
)

// Main runs the tests of a package whose tests need planes, so many of those that are
// parallel at once. It returns the exit code.
func Main(m *testing.M, sideBySide int) int {
	if os.Getenv(strangerVariable) != "" { // see WantRefused
		return stranger(os.Stdin, os.Stdout)
	}
	confinetest.Use()
	SideBySide(sideBySide)
	return m.Run()
}

// SideBySide has so many parallel tests run at once where no -parallel says it:
// rehearsals wait for simulated delays most of the time, and one test per core leaves
// the cores idle.
func SideBySide(tests int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) // package testing has no such flag any more
	}
}
