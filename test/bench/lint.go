package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/load"
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
	}
	return s.lintScale(ctx)
}

// lintExample measures one example, cold and warm.
func (s *suite) lintExample(ctx context.Context, root, environment string) error {
	loaded, err := load.Load(ctx, root, load.Options{Environment: environment, Offline: true, NoCache: true})
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

// lintOnce lints a platform with the built command and returns its greatest resident
// memory in MiB.
func (s *suite) lintOnce(ctx context.Context, cache, root, environment string) (float64, error) {
	cmd := exec.CommandContext(ctx, s.ladder, "lint", root, "-e", environment, "--offline", "--progress", "none", "--fail-on", "none")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("ladder lint: %w\n%s", err, out)
	}
	// The system counts in KiB. Source: getrusage(2).
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("the system does not tell the memory of a process")
	}
	return float64(usage.Maxrss) / 1024, nil
}

// processes renders every source of the repository as people do in a shell, and
// returns how many processes that took.
func (s *suite) processes(ctx context.Context, loaded *load.Result) (int, error) {
	n := 0
	for _, c := range loaded.Platform.Components {
		for _, source := range c.Sources {
			if !c.Enabled || source.Path == "" {
				continue
			}
			one := c
			one.Sources = []component.Source{source}
			switch source.Kind {
			case component.Chart:
				if err := template(ctx, filepath.Join(s.temp, "helm"), loaded.Platform.Root, one); err != nil {
					return n, err
				}
			case component.Kustomize:
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
// package lint, and linting a written platform of the same size as a whole.
func (s *suite) lintScale(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./internal/lint", "-run", "^$", "-bench", "^BenchmarkLint", "-benchtime", "3x", "-count", strconv.Itoa(s.runs))
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

	sizes := []int{1000, 10_000}
	times, resident := map[int][]float64{}, map[int][]float64{}
	for _, n := range sizes {
		root := filepath.Join(s.temp, fmt.Sprintf("platform-%d", n))
		if err := writeRandomPlatform(root, n, 10, 1); err != nil {
			return err
		}
		for range s.runs {
			started := time.Now()
			mib, err := s.lintOnce(ctx, filepath.Join(s.temp, "scale-cache"), root, "dev")
			if err != nil {
				return err
			}
			times[n], resident[n] = append(times[n], time.Since(started).Seconds()), append(resident[n], mib)
		}
	}
	whole := median(times[sizes[1]])
	ratio := whole / median(times[sizes[0]])
	s.add(row{
		what: "lint of a written platform of 10,000 components, files and all", measured: fmt.Sprintf("%.1f s, %.0f MiB", whole, median(resident[sizes[1]])),
		against: fmt.Sprintf("1,000 components %.2f s", median(times[sizes[0]])), ratio: fmt.Sprintf("%.1fx", ratio), target: "<= 15x, < 500 MB",
		ok: ratio <= 15 && median(resident[sizes[1]]) < 477,
	})
	return nil
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
