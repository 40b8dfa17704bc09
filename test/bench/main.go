// Command bench measures Ladder as ratios against peers and bounds of the same
// run, and prints a table. It never compares absolute times: machines differ.
//
//	go run ./test/bench [-only engines,lint,makespan,plane,planner,policies,render] [-runs 3] [-quick] [-base BINARY]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// suite is what the benchmarks share.
type suite struct {
	ladder string // the binary
	argocd string // ladder-argocd; empty where it is not built
	base   string // an older ladder to compare lint with; empty for none
	temp   string
	runs   int // repetitions of which the median counts
	quick  bool
	rows   []row
}

// row is one figure: what was measured against what.
type row struct {
	what, measured, against, ratio, target string
	ok                                     bool
}

func (s *suite) add(r row) {
	s.rows = append(s.rows, r)
	fmt.Fprintf(os.Stderr, "%s: %s against %s: %s (target %s)\n", r.what, r.measured, r.against, r.ratio, r.target)
}

func run() error {
	only := flag.String("only", "", "comma-separated benchmarks to run: engines, lint, makespan, plane, planner, policies, render")
	runs := flag.Int("runs", 3, "repetitions of which the median counts")
	quick := flag.Bool("quick", false, "leave out the 1,000-component rollout, and let the engines roll out a platform of 24 components")
	base := flag.String("base", "", "an older ladder binary, built in the same way: lint is measured against it as well")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	binary := os.Getenv("LADDER_BINARY")
	if binary == "" {
		binary = filepath.Join("bin", "ladder")
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); err != nil {
		return fmt.Errorf("the ladder binary is missing, run make build: %w", err)
	}
	argo, err := argoBinary(binary)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "ladder-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	s := &suite{ladder: binary, argocd: argo, base: *base, temp: temp, runs: *runs, quick: *quick}

	var failed []error
	for _, b := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"plane", s.plane}, {"planner", s.planner}, {"render", s.render}, {"lint", s.lint}, {"policies", s.policies}, {"makespan", s.makespan}, {"engines", s.engines},
	} {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), b.name) {
			continue
		}
		if err := b.run(ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", b.name, err))
		}
	}
	s.print()
	return errors.Join(failed...)
}

// argoBinary is ladder-argocd: the one that LADDER_ARGOCD names, else the one
// beside ladder; empty where there is none.
func argoBinary(ladder string) (string, error) {
	if path := os.Getenv("LADDER_ARGOCD"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(filepath.Dir(ladder), "ladder-argocd")
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // what needs it says so
	}
	return path, nil
}

// print writes the table as Markdown.
func (s *suite) print() {
	fmt.Println("| what | measured | against | ratio | target | |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, r := range s.rows {
		mark := "✕"
		if r.ok {
			mark = "✓"
		}
		fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", r.what, r.measured, r.against, r.ratio, r.target, mark)
	}
}

// median of a non-empty list.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
