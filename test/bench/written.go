package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// linted is one run of lint.
type linted struct {
	// seconds is the whole run, rendering the part of it in which sources are
	// rendered, or taken from the cache.
	seconds, rendering float64
	memory             float64 // the greatest resident memory, in MiB
	edges              int
}

// lintWritten measures the whole command on written platforms: what it takes beside
// rendering, its memory, and how it grows.
func (s *suite) lintWritten(ctx context.Context) error {
	const small, large = 1000, 10_000
	whole, reading, memory := map[int][]float64{}, map[int][]float64{}, map[int][]float64{}
	edges := 0
	for _, n := range []int{small, large} {
		root := filepath.Join(s.temp, fmt.Sprintf("platform-%d", n))
		if err := writeRandomPlatform(root, n, 10, 10, 1); err != nil {
			return err
		}
		cache := filepath.Join(s.temp, "scale-cache")
		// The first run fills the cache, and brings the files into memory.
		for range 1 + s.runs {
			one, err := s.lintOnce(ctx, cache, root, "dev")
			if err != nil {
				return err
			}
			edges = one.edges
			whole[n], reading[n], memory[n] = append(whole[n], one.seconds), append(reading[n], one.seconds-one.rendering), append(memory[n], one.memory)
		}
		whole[n], reading[n], memory[n] = whole[n][1:], reading[n][1:], memory[n][1:]
	}
	seconds, mib := median(reading[large]), median(memory[large])
	s.add(row{
		what:     fmt.Sprintf("whole lint of a written platform of 10,000 components, %d edges, without rendering", edges),
		measured: fmt.Sprintf("%.2f s, %.0f MiB", seconds, mib), against: "2 s, 500 MB",
		ratio: fmt.Sprintf("%.2f, %.2f", seconds/2, mib/477), target: "< 2 s, < 500 MB", ok: edges >= 50_000 && seconds < 2 && mib < 477,
	})
	growth := median(whole[large]) / median(whole[small])
	s.add(row{
		what: "the same with rendering, warm cache, growth", measured: fmt.Sprintf("%.2f s", median(whole[large])),
		against: fmt.Sprintf("1,000 components %.2f s", median(whole[small])), ratio: fmt.Sprintf("%.1fx", growth), target: "<= 15x", ok: growth <= 15,
	})
	return nil
}

// counted finds the number of edges in the text of a report.
var counted = regexp.MustCompile(`\((\d+) edges`)

// lintOnce lints a platform with the built command.
func (s *suite) lintOnce(ctx context.Context, cache, root, environment string) (linted, error) {
	cmd := exec.CommandContext(ctx, s.ladder, "lint", root, "-e", environment, "--offline", "--progress", "json", "--fail-on", "none")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
	var out, progress bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &progress
	started := time.Now()
	if err := cmd.Run(); err != nil {
		return linted{}, fmt.Errorf("ladder lint: %w\n%s%s", err, progress.String(), out.String())
	}
	one := linted{seconds: time.Since(started).Seconds()}
	// The system counts in KiB. Source: getrusage(2).
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return linted{}, errors.New("the system does not tell the memory of a process")
	}
	one.memory = float64(usage.Maxrss) / 1024
	if found := counted.FindSubmatch(out.Bytes()); found != nil {
		one.edges, _ = strconv.Atoi(string(found[1]))
	}
	var err error
	one.rendering, err = rendering(progress.Bytes())
	return one, err
}

// rendering reads off progress how long rendering took, in seconds.
func rendering(progress []byte) (float64, error) {
	var from, to time.Time
	for line := range bytes.Lines(progress) {
		var event struct {
			At          time.Time
			Event, Text string
			Done, Total int
		}
		if json.Unmarshal(line, &event) != nil || event.Event != "count" || event.Text != "rendering" {
			continue
		}
		switch event.Done {
		case 0:
			from = event.At
		case event.Total:
			to = event.At
		}
	}
	if from.IsZero() || to.IsZero() {
		return 0, fmt.Errorf("progress does not say how long rendering took:\n%s", progress)
	}
	return to.Sub(from).Seconds(), nil
}
