package e2e

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// randomPlatform is a platform of n components of one workload each, which require
// random earlier ones, and when each of them is Healthy if nothing takes time but
// their own durations.
func randomPlatform(random *rand.Rand, n int) (files map[string]string, requires [][]int, healthy []time.Duration) {
	const template = `
  template:
    metadata: {labels: {app: NAME}}
    spec: {RESTARTcontainers: [{name: c, image: example.com/c:1}]}
`
	workloads := []string{
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: NAME}}" + strings.Replace(template, "RESTART", "", 1),
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: NAME}\nspec:\n  serviceName: NAME\n  selector: {matchLabels: {app: NAME}}" + strings.Replace(template, "RESTART", "", 1),
		"apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\nspec:" + strings.Replace(template, "RESTART", "restartPolicy: Never, ", 1),
	}
	files = map[string]string{}
	requires, healthy = make([][]int, n), make([]time.Duration, n)
	durations := ""
	for i := range n {
		name := fmt.Sprintf("c%02d", i)
		// The hundredths tell the moments of different components apart.
		takes := time.Duration(30+random.IntN(400))*time.Second + time.Duration(i)*10*time.Millisecond
		begins, names := time.Duration(0), []string{}
		for j := range i {
			if random.IntN(i) < 2 {
				requires[i] = append(requires[i], j)
				names = append(names, fmt.Sprintf("c%02d", j))
				begins = max(begins, healthy[j])
			}
		}
		healthy[i] = begins + takes
		durations += fmt.Sprintf("    %s: %s\n", name, takes)
		files["environments/dev/components/"+name+"/component.yaml"] = fmt.Sprintf(
			"name: %s\nnamespace: default\nrolloutPhase: \"100\"\nmanifests: {path: sources/%[1]s.yaml}\nrequires: [%s]\n", name, strings.Join(names, ", "))
		files["sources/"+name+".yaml"] = strings.ReplaceAll(workloads[random.IntN(len(workloads))], "NAME", name)
	}
	files["ladder.yaml"] = "layout: single\nenvironments: {dev: {}}\ndurations:\n  components:\n" + durations
	return files, requires, healthy
}

// Skipping changes how long one waits, nothing else: every component is Healthy when
// the durations say, to 2 %, and in that order; where time passes, the results are the
// same and no component starts before what it requires is Healthy.
func TestSkippingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2} {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			ownHome(t)
			files, requires, healthy := randomPlatform(rand.New(rand.NewPCG(seed, 0)), 12)
			dir := writeFiles(t, files)
			flags := []string{".", "--policy", "edges", "--jitter", "0"}
			skipped, out := rehearsal(t, dir, flags...)
			wantHealthy(t, skipped, out)
			if skipped.Speed != 1 || skipped.RealSeconds <= 0 || skipped.RealSeconds > skipped.MakespanSeconds {
				t.Errorf("speed %v, %v s in reality, %v s simulated", skipped.Speed, skipped.RealSeconds, skipped.MakespanSeconds)
			}
			components := byName(skipped)
			for i, want := range healthy {
				name := fmt.Sprintf("c%02d", i)
				got := time.Time(components[name].HealthyAt).Sub(time.Time(skipped.Started))
				if got < want-time.Second || got > want+want/50+time.Second {
					t.Errorf("%s is Healthy after %s, want %s", name, got, want)
				}
			}
			passed, out := rehearsal(t, dir, append(flags, "--speed", "300")...)
			wantHealthy(t, passed, out)
			for _, r := range []report.Rollout{skipped, passed} {
				inOrder(t, r, requires)
			}
		})
	}
}

// inOrder holds that each component starts after what it requires is Healthy.
func inOrder(t *testing.T, r report.Rollout, requires [][]int) {
	t.Helper()
	components := byName(r)
	for i, list := range requires {
		started := time.Time(components[fmt.Sprintf("c%02d", i)].StartedAt)
		for _, j := range list {
			if before := time.Time(components[fmt.Sprintf("c%02d", j)].HealthyAt); started.Before(before) {
				t.Errorf("c%02d starts at %s, and c%02d, which it requires, is Healthy at %s", i, started, j, before)
			}
		}
	}
}
