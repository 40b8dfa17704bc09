package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// rehearse runs one rehearsal to its success.
func (s *suite) rehearse(ctx context.Context, platform string, args ...string) (report.Rollout, error) {
	cmd := exec.CommandContext(ctx, s.ladder, append([]string{"rehearse", platform, "--format", "json", "--progress", "none"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	runErr := cmd.Run()
	return succeeded(stdout.Bytes(), stderr.String(), runErr)
}

// succeeded reads the report of a rehearsal, which must have succeeded.
func succeeded(stdout []byte, stderr string, runErr error) (report.Rollout, error) {
	var r report.Rollout
	if err := json.Unmarshal(stdout, &r); err != nil {
		return r, fmt.Errorf("no report: %w\n%s", errors.Join(runErr, err), stderr)
	}
	if r.Result == "succeeded" {
		return r, nil
	}
	for _, c := range r.Components {
		if c.State != "healthy" && c.State != "skipped" {
			return r, fmt.Errorf("the rehearsal %s: %s is %s: %s", r.Result, c.Name, c.State, c.Message)
		}
	}
	return r, fmt.Errorf("the rehearsal %s", r.Result)
}

// makespan measures the time of a rollout against its lower bound, for
// platforms of random edges and seeded delays.
func (s *suite) makespan(ctx context.Context) error {
	for _, size := range []struct {
		components, inFlight int
		speed                float64
		target               float64
		runs                 int
	}{
		{64, 10, 20, 1.05, s.runs},
		{1000, 50, 10, 1.10, 1},
	} {
		if s.quick && size.components > 100 {
			continue
		}
		platform := filepath.Join(s.temp, fmt.Sprintf("random-%d", size.components))
		if err := writeRandomPlatform(platform, size.components, 4, size.inFlight, 1); err != nil {
			return err
		}
		var ratios, spans, bounds []float64
		for range size.runs {
			r, err := s.rehearse(ctx, platform, "--policy", "edges", "--jitter", "0", "--speed", fmt.Sprint(size.speed))
			if err != nil {
				return err
			}
			ratios = append(ratios, r.MakespanSeconds/r.BoundSeconds)
			spans, bounds = append(spans, r.MakespanSeconds), append(bounds, r.BoundSeconds)
		}
		s.add(row{
			what:     fmt.Sprintf("makespan, %d components, policy edges", size.components),
			measured: fmt.Sprintf("%.1f s", median(spans)), against: fmt.Sprintf("lower bound %.1f s", median(bounds)),
			ratio: fmt.Sprintf("%.3f", median(ratios)), target: fmt.Sprintf("<= %.2f", size.target),
			ok: median(ratios) <= size.target,
		})
	}
	return nil
}

// policies measures the policies against serial on the example platform, with
// the same delays.
func (s *suite) policies(ctx context.Context) error {
	span := map[string]float64{}
	for _, policy := range []string{"serial", "phases", "edges"} {
		r, err := s.rehearse(ctx, filepath.Join("examples", "ameide"), "-e", "dev", "--policy", policy, "--jitter", "0", "--speed", "20")
		if err != nil {
			return err
		}
		span[policy] = r.MakespanSeconds
	}
	for _, policy := range []string{"phases", "edges"} {
		ratio := span["serial"] / span[policy]
		s.add(row{
			what:     "examples/ameide, policy " + policy,
			measured: fmt.Sprintf("%.1f s", span[policy]), against: fmt.Sprintf("serial %.1f s", span["serial"]),
			ratio: fmt.Sprintf("%.1fx faster", ratio), target: "> 1x", ok: ratio > 1,
		})
	}
	return nil
}
