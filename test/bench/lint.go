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
	_ "github.com/rollout-ladder/ladder/internal/worker" // the program is its own worker
)

// lint measures linting repositories against a shell loop of one helm or
// kustomize process per source, and how lint grows with the platform.
func (s *suite) lint(ctx context.Context) error {
	for _, tool := range []string{"helm.sh/helm/v4/cmd/helm", "sigs.k8s.io/kustomize/kustomize/v5"} {
		build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join("test", "peers"), "-o", s.temp+string(filepath.Separator), tool)
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", tool, err, out)
		}
	}
	// What "go build" names the command of a module's major version.
	if err := os.Rename(filepath.Join(s.temp, "v5"), filepath.Join(s.temp, "kustomize")); err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, example := range []struct{ name, environment string }{{"ameide", "dev"}, {"zerotouch", "main"}} {
		if err := s.lintExample(ctx, filepath.Join("examples", example.name), example.environment); err != nil {
			return err
		}
		if s.base == "" {
			continue
		}
		if err := s.lintBase(ctx, filepath.Join("examples", example.name), example.environment); err != nil {
			return err
		}
	}
	return s.lintScale(ctx)
}

// lintBase measures one example against an older build. The two take turns, so
// that both meet the same machine: once with a cold cache, then five times with a
// warm one, which is short and noisy.
func (s *suite) lintBase(ctx context.Context, root, environment string) error {
	older := *s
	older.ladder = s.base
	sides := []struct {
		suite      *suite
		cache      string
		cold, warm []float64
	}{{suite: s, cache: filepath.Join(s.temp, "lint-new")}, {suite: &older, cache: filepath.Join(s.temp, "lint-base")}}
	for n := range 6 * s.runs {
		for i := range sides {
			side := &sides[i]
			times := &side.warm
			if n%6 == 0 {
				times = &side.cold
				if err := os.RemoveAll(side.cache); err != nil {
					return err
				}
			}
			one, err := side.suite.lintOnce(ctx, side.cache, root, environment)
			if err != nil {
				return err
			}
			*times = append(*times, one.seconds)
		}
	}
	for _, m := range []struct {
		cache     string
		now, then float64
	}{{"cold", median(sides[0].cold), median(sides[1].cold)}, {"warm", median(sides[0].warm), median(sides[1].warm)}} {
		s.add(row{
			what: fmt.Sprintf("lint of %s, %s cache, against the older build", root, m.cache), measured: fmt.Sprintf("%.3f s", m.now),
			against: fmt.Sprintf("%.3f s", m.then), ratio: fmt.Sprintf("%.2f", m.now/m.then), target: "<= 1.2", ok: m.now <= 1.2*m.then,
		})
	}
	return nil
}

// lintExample measures one example, cold and warm.
func (s *suite) lintExample(ctx context.Context, root, environment string) error {
	loaded, err := analysis.Load(ctx, root, analysis.Options{Environment: environment, Offline: true, NoCache: true})
	if err != nil {
		return err
	}
	var loop, cold, warm []float64
	processes := 0
	for range s.runs {
		started := time.Now()
		if processes, err = s.processes(ctx, loaded); err != nil {
			return err
		}
		loop = append(loop, time.Since(started).Seconds())
		cache := filepath.Join(s.temp, "lint-cache")
		if err := os.RemoveAll(cache); err != nil {
			return err
		}
		for _, times := range []*[]float64{&cold, &warm} {
			started := time.Now()
			if _, err := s.lintOnce(ctx, cache, root, environment); err != nil {
				return err
			}
			*times = append(*times, time.Since(started).Seconds())
		}
	}
	against := fmt.Sprintf("%d processes of helm and kustomize %.2f s", processes, median(loop))
	for _, m := range []struct {
		what    string
		seconds float64
	}{{"lint of " + root + ", cold cache", median(cold)}, {"the same, warm cache", median(warm)}} {
		ratio := median(loop) / m.seconds
		s.add(row{
			what: m.what, measured: fmt.Sprintf("%.2f s", m.seconds), against: against,
			ratio: fmt.Sprintf("%.1fx faster", ratio), target: ">= 5x", ok: ratio >= 5,
		})
	}
	enabled := 0
	for _, c := range loaded.Platform.Components {
		if c.Enabled {
			enabled++
		}
	}
	hundred := median(warm) * 1000 / float64(enabled) * 100
	s.add(row{
		what: "warm lint of " + root + " per 100 components", measured: fmt.Sprintf("%.0f ms", hundred), against: "300 ms",
		ratio: fmt.Sprintf("%.2f", hundred/300), target: "< 300 ms", ok: hundred < 300,
	})
	return nil
}

// processes renders every source of the repository as people do in a shell, and
// returns how many processes that took.
func (s *suite) processes(ctx context.Context, loaded *analysis.Result) (int, error) {
	n := 0
	for _, c := range loaded.Platform.Components {
		for _, source := range c.Sources {
			if !c.Enabled || source.Path == "" {
				continue
			}
			one := c
			one.Sources = []model.Source{source}
			switch source.Kind {
			case model.Chart:
				if err := template(ctx, filepath.Join(s.temp, "helm"), loaded.Platform.Root, one); err != nil {
					return n, err
				}
			case model.Kustomize:
				var stderr bytes.Buffer
				cmd := exec.CommandContext(ctx, filepath.Join(s.temp, "kustomize"), "build", "--load-restrictor", "LoadRestrictionsNone", filepath.Join(loaded.Platform.Root, source.Path))
				cmd.Stderr = &stderr
				if err := cmd.Run(); err != nil {
					return n, fmt.Errorf("kustomize build %s: %w\n%s", c.Name, err, stderr.String())
				}
			default:
				continue
			}
			n++
		}
	}
	return n, nil
}

// lintScale measures judging synthetic environments, in the Go benchmark of
// package lint, and linting written platforms of the same sizes as a whole.
func (s *suite) lintScale(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./internal/core/lint", "-run", "^$", "-bench", "^BenchmarkLint", "-benchtime", "1s", "-count", strconv.Itoa(s.runs))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test -bench: %w\n%s", err, out)
	}
	small, large := figures(string(out), "/1000"), figures(string(out), "/10000")
	if len(small["ns/op"]) == 0 || len(large["ns/op"]) == 0 || len(large["MiB"]) == 0 {
		return fmt.Errorf("no figures in:\n%s", out)
	}
	seconds, memory := median(large["ns/op"])/1e9, median(large["MiB"])
	growth := median(large["ns/op"]) / median(small["ns/op"])
	s.add(row{
		what: "judging 10,000 components, 50,000 dependencies, without rendering", measured: fmt.Sprintf("%.2f s, %.0f MiB", seconds, memory),
		against: "2 s, 500 MB", ratio: fmt.Sprintf("%.2f, %.2f", seconds/2, memory/477), target: "< 2 s, < 500 MB", ok: seconds < 2 && memory < 477,
	})
	s.add(row{
		what: "the same, growth", measured: fmt.Sprintf("%.2f s", seconds), against: fmt.Sprintf("1,000 components %.2f s", median(small["ns/op"])/1e9),
		ratio: fmt.Sprintf("%.1fx", growth), target: "<= 15x", ok: growth <= 15,
	})
	made := median(large["B/op"]) / median(small["B/op"])
	s.add(row{
		what: "the same, growth of what it allocates", measured: fmt.Sprintf("%.0f MB", median(large["B/op"])/1e6),
		against: fmt.Sprintf("1,000 components %.0f MB", median(small["B/op"])/1e6), ratio: fmt.Sprintf("%.1fx", made), target: "<= 12x", ok: made <= 12,
	})

	return s.lintWritten(ctx)
}

// figures collects the figures of a Go benchmark by their units.
func figures(out, suffix string) map[string][]float64 {
	all := map[string][]float64{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasSuffix(strings.TrimSuffix(fields[0], fmt.Sprintf("-%d", runtime.GOMAXPROCS(0))), suffix) {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				all[fields[i+1]] = append(all[fields[i+1]], v)
			}
		}
	}
	return all
}
