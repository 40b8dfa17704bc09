package planetest

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/rollout-ladder/ladder/internal/testbuild"
)

// turnHeld tells the processes that a package of tests starts that it is its turn.
const turnHeld = "LADDER_TEST_TURN"

// InTurn runs the tests of a package whose rehearsals keep the cores busy: one such
// package runs at a time, however many go test starts. Beside each other their
// components go over timeouts, and what Argo CD does on a timer takes the time of all.
// It returns the exit code.
func InTurn(run func() int) int {
	if os.Getenv(strangerVariable) != "" || os.Getenv(turnHeld) != "" { // a test runs its own binary again
		return run()
	}
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
	return run()
}

// await waits until no other package runs that takes turns.
func await() (*os.File, error) {
	root, err := testbuild.Root()
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
