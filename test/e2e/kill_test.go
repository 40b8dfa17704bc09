package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

var (
	killCount = flag.Int("kills", 20, "kills of TestKilledRehearsalsResume")
	killSeed  = flag.Uint64("kill-seed", 1, "seed of the moments of the kills")
)

// killer runs rehearsals on a kept plane and kills them.
type killer struct {
	t      *testing.T
	random *rand.Rand
	state  string // XDG_STATE_HOME, so that the planes are the test's own
	args   []string
}

func (k *killer) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, ladderBinary(k.t), args...)
	cmd.Dir = repositoryRoot(k.t)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+k.state)
	return cmd
}

// run starts a rehearsal and kills it after a while; a zero while lets it end.
// It returns the report, or nil when it was killed first.
func (k *killer) run(after time.Duration) *report.Rollout {
	k.t.Helper()
	file := filepath.Join(k.state, "report.json")
	_ = os.Remove(file)
	cmd := k.command(k.t.Context(), append(k.args, "--report", file)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if after > 0 {
		select {
		case <-time.After(after):
			_ = cmd.Process.Kill()
			<-done
			return nil
		case err := <-done:
			if err != nil {
				k.t.Fatalf("rehearsal: %v\n%s", err, stderr.String())
			}
		}
	} else if err := <-done; err != nil {
		k.t.Fatalf("rehearsal: %v\n%s", err, stderr.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		k.t.Fatal(err)
	}
	var r report.Rollout
	if err := json.Unmarshal(text, &r); err != nil {
		k.t.Fatal(err)
	}
	return &r
}

// plane gets the kubeconfig of a fresh plane.
func (k *killer) plane(name string) string {
	k.t.Helper()
	up := k.command(k.t.Context(), "plane", "up", name, "--quiet")
	up.Stderr = os.Stderr
	out, err := up.Output()
	if err != nil {
		k.t.Fatalf("plane up: %v", err)
	}
	k.t.Cleanup(func() { _ = k.command(context.Background(), "plane", "down", name).Run() })
	return strings.TrimSpace(string(out))
}

// undisturbed is a rehearsal under edges of exampleOrPart, on which those that are
// killed, or meet faults, must end alike. It runs once for all tests.
var undisturbed struct {
	once    sync.Once
	report  *report.Rollout
	objects []string
}

// rehearseUndisturbed returns the report of the undisturbed rehearsal, and the objects
// that it left.
func rehearseUndisturbed(t *testing.T) (r *report.Rollout, objects []string) {
	t.Helper()
	undisturbed.once.Do(func() {
		dir, leastComponents, leastObjects := exampleOrPart(t)
		k := &killer{t: t, state: t.TempDir()}
		kubeconfig := k.plane("undisturbed")
		k.args = []string{"rehearse", dir, "-e", "dev", "--policy", "edges", "--progress", "none", "--plane", "undisturbed"}
		r := k.run(0)
		wantHealthy(t, *r, outcome{})
		wantEdgesKept(t, r, dir, leastComponents)
		objects := ownedObjects(t, kubeconfig)
		if len(objects) < leastObjects {
			t.Fatalf("only %d objects on the plane", len(objects))
		}
		undisturbed.report, undisturbed.objects = r, objects
		_ = k.command(t.Context(), "plane", "down", "undisturbed").Run()
	})
	if undisturbed.report == nil {
		t.Fatal("the undisturbed rehearsal failed in another test")
	}
	return undisturbed.report, undisturbed.objects
}

// TestKilledRehearsalsResume kills rehearsals at seeded random moments and
// resumes them: the end is that of one that was not killed, and nothing starts
// before its gates.
func TestKilledRehearsalsResume(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills take minutes")
	}
	whole, wantObjects := rehearseUndisturbed(t)
	dir, leastComponents, _ := exampleOrPart(t)
	k := &killer{t: t, random: rand.New(rand.NewPCG(*killSeed, 0)), state: t.TempDir()}
	rehearse := func(plane string) []string {
		return []string{"rehearse", dir, "-e", "dev", "--policy", "edges", "--progress", "none", "--plane", plane}
	}

	for kills, cycle := 0, 0; kills < *killCount; cycle++ {
		name := fmt.Sprintf("killed-%d", cycle)
		kubeconfig := k.plane(name)
		k.args = rehearse(name)
		var r *report.Rollout
		killedHere := 0
		for r == nil {
			if kills >= *killCount {
				r = k.run(0)
				break
			}
			// Between the first breath of the process and some work.
			if r = k.run(time.Duration(20+k.random.IntN(900)) * time.Millisecond); r == nil {
				kills++
				killedHere++
			}
		}
		t.Logf("cycle %d: %d kills", cycle, killedHere)
		if got, want := states(r), states(whole); !cmp.Equal(got, want) {
			t.Errorf("cycle %d: the states differ (-uncrashed +killed):\n%s", cycle, cmp.Diff(want, got))
		}
		wantEdgesKept(t, r, dir, leastComponents)
		if diff := cmp.Diff(wantObjects, ownedObjects(t, kubeconfig)); diff != "" {
			t.Errorf("cycle %d: the objects differ (-uncrashed +killed):\n%s", cycle, diff)
		}
		_ = k.command(t.Context(), "plane", "down", name).Run()
	}
}

func states(r *report.Rollout) map[string]string {
	m := map[string]string{}
	for _, c := range r.Components {
		m[c.Name] = c.State
	}
	return m
}

// requirements are what the components of a platform require, by the plan.
func requirements(t *testing.T, platform string) map[string][]string {
	t.Helper()
	out := ladder(t, repositoryRoot(t), "plan", platform, "-e", "dev", "--policy", "edges", "--format", "json", "--progress", "none")
	var p report.Plan
	if err := json.Unmarshal([]byte(out.stdout), &p); err != nil {
		t.Fatalf("%v\n%s", err, out.stderr)
	}
	requires := map[string][]string{}
	for _, e := range p.Edges {
		requires[e.From] = append(requires[e.From], e.To)
	}
	return requires
}

// wantEdgesKept replays the transitions: when a component starts, everything it
// requires must be Healthy at that moment. At least so many components must have
// started.
func wantEdgesKept(t *testing.T, r *report.Rollout, platform string, least int) {
	t.Helper()
	requires := requirements(t, platform)
	healthy, started := map[string]bool{}, map[string]bool{}
	for _, tr := range r.Transitions {
		if tr.To == "syncing" && !started[tr.Component] {
			started[tr.Component] = true
			for _, provider := range requires[tr.Component] {
				if !healthy[provider] {
					t.Errorf("%s started at %s while %s was not Healthy", tr.Component, tr.At, provider)
				}
			}
		}
		healthy[tr.Component] = tr.To == "healthy"
	}
	if len(started) < least {
		t.Errorf("only %d components ever started", len(started))
	}
}

// ownedObjects lists every object on the plane that belongs to a component and
// has no owner, as "group/kind/namespace/name component".
func ownedObjects(t *testing.T, kubeconfig string) []string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	lists, err := disco.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects, err := client.Resource(gv.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("list %s: %v", resource.Name, err)
			}
			for _, o := range objects.Items {
				component := o.Annotations["ladder.rollout-ladder.dev/component"]
				if component == "" || len(o.OwnerReferences) > 0 {
					continue
				}
				found = append(found, strings.Join([]string{gv.Group, resource.Kind, o.Namespace, o.Name}, "/")+" "+component)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
