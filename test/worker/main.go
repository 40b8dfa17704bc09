// Command worker is what tests ask that do not link package worker themselves.
package main

import (
	"fmt"
	"os"

	_ "github.com/rollout-ladder/ladder/internal/worker" // a worker never reaches main
)

func main() {
	fmt.Fprintln(os.Stderr, "tests start this program as a worker")
	os.Exit(2)
}
