package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// writeRandomPlatform writes a platform of n components, each one Deployment,
// with random edges to fewer than most earlier ones and expected durations of 20 to
// 120 s. The same seed gives the same platform.
func writeRandomPlatform(root string, n, most, inFlight int, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	var durations strings.Builder
	for i := range n {
		name := fmt.Sprintf("c%04d", i)
		phase := 100 + 900*i/n/10*10 // ten phases apart, in order
		requires := []string{}
		if i > 0 {
			for range random.IntN(most) {
				// Edges reach back over a tenth of the platform: neither one chain
				// nor all independent.
				from := max(0, i-max(4, n/10))
				requires = append(requires, fmt.Sprintf("c%04d", from+random.IntN(i-from)))
			}
		}
		if len(requires) == 0 {
			requires = []string{"root"}
		}
		fmt.Fprintf(&durations, "    %s: %ds\n", name, 20+random.IntN(100))
		if err := writeComponent(root, name, phase, requires, deployment(name)); err != nil {
			return err
		}
	}
	if err := writeComponent(root, "root", 0, nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n"); err != nil {
		return err
	}
	ladder := fmt.Sprintf("defaults: {maxInFlight: %d}\ndurations:\n  components:\n    root: 1s\n%s", inFlight, durations.String())
	return write(filepath.Join(root, "ladder.yaml"), ladder)
}

// writeLadder writes a platform of n components in phases, each one Deployment that
// requires up to two of the phase before, with expected durations of 20 to 80 s.
func writeLadder(root string, n, phases int) error {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	var durations strings.Builder
	each := n / phases
	for i := range n {
		name, phase := fmt.Sprintf("c%04d", i), i/each
		requires := []string{"root"}
		if phase > 0 {
			before := (phase - 1) * each
			requires = []string{fmt.Sprintf("c%04d", before+random.IntN(each))}
			if other := fmt.Sprintf("c%04d", before+random.IntN(each)); other != requires[0] {
				requires = append(requires, other)
			}
		}
		fmt.Fprintf(&durations, "    %s: %ds\n", name, 20+random.IntN(60))
		if err := writeComponent(root, name, 100+50*phase, requires, deployment(name)); err != nil {
			return err
		}
	}
	if err := writeComponent(root, "root", 0, nil, "apiVersion: v1\nkind: Namespace\nmetadata: {name: bench}\n"); err != nil {
		return err
	}
	return write(filepath.Join(root, "ladder.yaml"), "layout: single\nargocd: {repoURL: https://git.example.com/bench.git}\ndurations:\n  components:\n    root: 1s\n"+durations.String())
}

func writeComponent(root, name string, phase int, requires []string, manifest string) error {
	descriptor := fmt.Sprintf("name: %s\nnamespace: bench\nrolloutPhase: \"%03d\"\ncomponentType: runtime\nrequires: [%s]\nmanifests: {path: sources/%s.yaml}\n",
		name, phase, strings.Join(requires, ", "), name)
	if err := write(filepath.Join(root, "environments", "dev", "components", name, "component.yaml"), descriptor); err != nil {
		return err
	}
	return write(filepath.Join(root, "sources", name+".yaml"), manifest)
}

func deployment(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: main, image: "registry.example/%[1]s:1"}]
`, name)
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
