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

// makespan measures the simulated time of rollouts whose idle time is skipped against
// their lower bounds: platforms of random edges and seeded delays, and the example.
func (s *suite) makespan(ctx context.Context) error {
	for _, m := range []struct {
		components, inFlight int // of a random platform; 0 is the example
		policy               string
		target               float64
		runs                 int
	}{
		{64, 10, "edges", 1.05, s.runs},
		{1000, 50, "edges", 1.05, 1},
		{0, 0, "edges", 1.15, s.runs},
		{0, 0, "phases", 1.15, s.runs},
	} {
		if s.quick && m.components > 100 {
			continue
		}
		what, platform, args := "examples/ameide", filepath.Join("examples", "ameide"), []string{"--environment", "dev"}
		if m.components > 0 {
			what, args = fmt.Sprintf("%d components", m.components), []string{"--jitter", "0"}
			platform = filepath.Join(s.temp, fmt.Sprintf("random-%d", m.components))
			if err := writeRandomPlatform(platform, m.components, 4, m.inFlight, 1); err != nil {
				return err
			}
		}
		var ratios, spans, bounds, real []float64
		for range m.runs {
			r, err := s.rehearse(ctx, platform, append(args, "--policy", m.policy)...)
			if err != nil {
				return err
			}
			ratios = append(ratios, r.MakespanSeconds/r.BoundSeconds)
			spans, bounds, real = append(spans, r.MakespanSeconds), append(bounds, r.BoundSeconds), append(real, r.RealSeconds)
		}
		s.add(row{
			what:     fmt.Sprintf("makespan, %s, policy %s", what, m.policy),
			measured: fmt.Sprintf("%.1f s (%.0f s of real time)", median(spans), median(real)), against: fmt.Sprintf("lower bound %.1f s", median(bounds)),
			ratio: fmt.Sprintf("%.3f", median(ratios)), target: fmt.Sprintf("<= %.2f", m.target),
			ok: median(ratios) <= m.target,
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
