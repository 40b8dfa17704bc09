package planetest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// turnHeld tells the processes that a package of tests starts that it is its turn.
const turnHeld = "LADDER_TEST_TURN"

// Main runs the tests of a package whose tests need planes: sideBySide of those
// that are parallel at once where no -parallel says it, since rehearsals wait for
// simulated delays most of the time and one test per core leaves the cores idle;
// and one such package at a time, however many go test starts, since a plane with
// what runs on it needs up to 1 GB and much of a core while it starts. It returns
// the exit code.
func Main(m *testing.M, sideBySide int) int {
	if os.Getenv(strangerVariable) != "" { // see WantRefused
		return stranger(os.Stdin, os.Stdout)
	}
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if !said {
		if err := flag.Set("test.parallel", strconv.Itoa(sideBySide)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if os.Getenv(turnHeld) == "" { // else a test runs its own binary again
		turn, err := await()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = turn.Close() }() // ends the turn, as the end of the process would
		if err := os.Setenv(turnHeld, "1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// await waits until no other package of tests with planes runs.
func await() (*os.File, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(root, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return nil, err
	}
	turn, err := os.OpenFile(filepath.Join(bin, ".turn"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(turn.Fd()), unix.LOCK_EX); err != nil {
		_ = turn.Close()
		return nil, fmt.Errorf("lock %s: %w", turn.Name(), err)
	}
	return turn, nil
}
