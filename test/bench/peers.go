package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// render measures rendering a platform against a loop of one helm process per
// chart component, each with the same chart and value files.
func (s *suite) render(ctx context.Context) error {
	helm := filepath.Join(s.temp, "helm")
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("test", "peers"), "-o", helm, "helm.sh/helm/v4/cmd/helm")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build helm: %w\n%s", err, out)
	}
	root := filepath.Join("examples", "ameide")
	loaded, err := analysis.Load(ctx, root, analysis.Options{Environment: "dev", Offline: true, NoCache: true})
	if err != nil {
		return err
	}
	var charts []model.Component
	for _, c := range loaded.Platform.Components {
		if c.Enabled && len(c.Sources) == 1 && c.Sources[0].Kind == model.Chart {
			charts = append(charts, c)
		}
	}
	var loop, cold, warm []float64
	for range s.runs {
		started := time.Now()
		for _, c := range charts {
			if err := template(ctx, helm, loaded.Platform.Root, c); err != nil {
				return err
			}
		}
		loop = append(loop, time.Since(started).Seconds())

		cache := filepath.Join(s.temp, "cache")
		if err := os.RemoveAll(cache); err != nil {
			return err
		}
		for _, times := range []*[]float64{&cold, &warm} {
			started := time.Now()
			cmd := exec.CommandContext(ctx, s.ladder, "plan", root, "-e", "dev", "--offline", "--progress", "none")
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("ladder plan: %w\n%s", err, out)
			}
			*times = append(*times, time.Since(started).Seconds())
		}
	}
	against := fmt.Sprintf("%d x helm template %.2f s", len(charts), median(loop))
	for _, m := range []struct {
		what    string
		seconds float64
		target  float64
	}{
		{"read, render, infer and plan examples/ameide, cold cache", median(cold), 5},
		{"the same, warm cache", median(warm), 5},
	} {
		ratio := median(loop) / m.seconds
		s.add(row{
			what: m.what, measured: fmt.Sprintf("%.2f s", m.seconds), against: against,
			ratio: fmt.Sprintf("%.1fx faster", ratio), target: fmt.Sprintf(">= %.0fx", m.target), ok: ratio >= m.target,
		})
	}
	return nil
}

// template renders one component as people do on the command line.
func template(ctx context.Context, helm, root string, c model.Component) error {
	source := c.Sources[0]
	args := []string{"template", source.ReleaseName, filepath.Join(root, source.Path), "--namespace", c.Namespace, "--kube-version", "1.36.3"}
	if !source.SkipCRDs {
		args = append(args, "--include-crds")
	}
	for _, v := range source.ValueFiles {
		file := filepath.Join(root, v.Path)
		if _, err := os.Stat(file); err != nil && v.Optional {
			continue
		}
		args = append(args, "--values", file)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, helm, args...)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("helm template %s: %w\n%s", c.Name, err, stderr.String())
	}
	return nil
}

// planner measures planning 10,000 components with 50,000 edges against
// ordering the same graph with plain Kahn, in the Go benchmark of package plan.
func (s *suite) planner(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./internal/core/plan", "-run", "^$", "-bench", "^BenchmarkPlan", "-benchtime", "5x", "-count", strconv.Itoa(s.runs))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	times := map[string][]float64{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != "ns/op" {
			continue
		}
		var ns float64
		if _, err := fmt.Sscan(fields[2], &ns); err != nil {
			return err
		}
		name := strings.TrimSuffix(fields[0], fmt.Sprintf("-%d", runtime.GOMAXPROCS(0)))
		times[name] = append(times[name], ns)
	}
	var plan, kahn []float64
	for name, ns := range times {
		if !strings.HasSuffix(name, "/10000") {
			continue
		}
		if strings.Contains(strings.ToLower(name), "kahn") {
			kahn = ns
		} else if plan == nil || median(ns) > median(plan) {
			plan = ns
		}
	}
	if plan == nil || kahn == nil {
		return fmt.Errorf("no figures in:\n%s", out)
	}
	milliseconds := median(plan) / 1e6
	s.add(row{
		what: "plan of 10,000 components, 50,000 edges", measured: fmt.Sprintf("%.0f ms", milliseconds),
		against: fmt.Sprintf("plain Kahn %.0f ms", median(kahn)/1e6), ratio: fmt.Sprintf("%.1fx", median(plan)/median(kahn)),
		target: "< 100 ms", ok: milliseconds < 100,
	})
	return nil
}
