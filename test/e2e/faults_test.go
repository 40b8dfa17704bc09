package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

var (
	faultSeed = flag.Uint64("fault-seed", 1, "seed of the faults of TestFaultyAPIServer")
	long      = flag.Bool("long", false, "every kind of fault alone as well; the whole example in all environments, not a part of it")
)

// exampleOrPart is the whole example where the tests are to be long. Else it is what a
// component requires that needs a bit of everything: a webhook that refuses, operators
// with their custom resources, Secrets that they make, storage, Jobs. It returns how
// many components and objects there are at least.
func exampleOrPart(t *testing.T) (dir string, components, objects int) {
	t.Helper()
	if *long {
		return filepath.Join(repositoryRoot(t), "examples/ameide"), 50, 200
	}
	return partOf(t, "examples/ameide", "apps-threads").dir, 15, 50
}

// TestFaultyAPIServer rolls a part of the example out through a proxy that makes
// the faults of an API server: the end is that of a rollout without them, nothing
// starts before its gates, and no Job runs twice.
func TestFaultyAPIServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a faulty API server takes minutes")
	}
	sound, wantObjects := rehearseUndisturbed(t)
	dir, leastComponents, _ := exampleOrPart(t)
	outageAt := 200
	state := t.TempDir()
	rehearse := func(plane string) []string {
		// Time that is skipped while a watch is away is lost to what came meanwhile.
		return []string{"rehearse", dir, "-e", "dev", "--policy", "edges", "--progress", "none", "--speed", "60", "--least-timeout", "5m", "--plane", plane}
	}

	for name, tc := range map[string]struct {
		rates faultRates
		// outage is how long nothing is answered, from the request outageAt on.
		outage time.Duration
		want   []string // faults that must have happened
	}{
		"errors":  {faultRates{overload: 20, internal: 30, unavailable: 30}, 0, []string{"overload", "internal", "unavailable"}},
		"network": {faultRates{refused: 30, cut: 30, truncated: 30}, 0, []string{"refused", "cut", "truncated"}},
		"watches": {faultRates{watches: 1500 * time.Millisecond}, 0, []string{"watch"}},
		"outage":  {faultRates{}, 10 * time.Second, []string{"outage"}},
		"all": {faultRates{overload: 10, internal: 10, unavailable: 10, refused: 10, cut: 10, truncated: 10, watches: 8 * time.Second},
			10 * time.Second, []string{"overload", "internal", "unavailable", "refused", "cut", "truncated", "watch", "outage"}},
	} {
		if name != "all" && !*long {
			continue
		}
		t.Run(name, func(t *testing.T) {
			k := &killer{t: t, state: state, args: rehearse(name)}
			proxy, direct := newFaultyProxy(t, k.plane(name), *faultSeed, tc.rates)
			if tc.outage > 0 {
				proxy.outageAt = outageAt
				proxy.outage = func(over chan<- struct{}) { time.AfterFunc(tc.outage, func() { close(over) }) }
			}
			w := witness(t, direct)
			r := k.report()
			again := w.stop()
			t.Logf("%d requests, faults %v, makespan %.1f s, longest %s", proxy.requests, proxy.counts, r.MakespanSeconds, longest(r))
			for _, fault := range tc.want {
				if proxy.counts[fault] == 0 {
					t.Errorf("no fault %s among %d requests", fault, proxy.requests)
				}
			}
			if diff := cmp.Diff(states(sound), states(r)); diff != "" {
				t.Errorf("the states differ (-sound +faulty):\n%s", diff)
			}
			wantEdgesKept(t, r, dir, leastComponents)
			if diff := cmp.Diff(wantObjects, ownedObjects(t, direct)); diff != "" {
				t.Errorf("the objects differ (-sound +faulty):\n%s", diff)
			}
			if len(again) > 0 {
				t.Errorf("these Jobs were made more than once: %s", strings.Join(again, ", "))
			}
		})
	}
}

// report runs a rehearsal to its end, whatever it is.
func (k *killer) report() *report.Rollout {
	k.t.Helper()
	cmd := k.command(k.t.Context(), append(k.args, "--format", "json")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	var r report.Rollout
	if json.Unmarshal(text, &r) != nil {
		k.t.Fatalf("rehearsal: %v\n%s", err, stderr.String())
	}
	if err != nil || r.Result != "succeeded" {
		k.t.Errorf("rehearsal: %v, result %q\n%s", err, r.Result, stderr.String())
	}
	for _, c := range r.Components {
		switch c.State {
		case "healthy", "skipped", "blocked":
		default:
			k.t.Errorf("%s is %s: %s %s", c.Name, c.State, c.Object, c.Message)
		}
		if c.Attempts > 1 {
			k.t.Logf("%s took %d attempts", c.Name, c.Attempts)
		}
	}
	return &r
}

// longest names the component that took longest from its start to Healthy.
func longest(r *report.Rollout) string {
	var name string
	var most time.Duration
	for _, c := range r.Components {
		if took := time.Time(c.HealthyAt).Sub(time.Time(c.StartedAt)); took > most {
			name, most = c.Name, took
		}
	}
	return fmt.Sprintf("%s %s", name, most.Round(time.Second))
}

// observer watches the plane itself during a rollout, and meddles: as another
// field manager it takes a label of every Deployment away.
type observer struct {
	t      *testing.T
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu   sync.Mutex
	jobs map[string]map[types.UID]bool
}

func witness(t *testing.T, kubeconfig string) *observer {
	t.Helper()
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	access.QPS = -1
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &observer{t: t, cancel: cancel, jobs: map[string]map[types.UID]bool{}}
	jobs, err := client.BatchV1().Jobs("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	deployments, err := client.AppsV1().Deployments("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	o.done.Go(func() {
		for event := range jobs.ResultChan() {
			job, ok := event.Object.(*batchv1.Job)
			if !ok || len(job.OwnerReferences) > 0 {
				continue
			}
			o.mu.Lock()
			key := job.Namespace + "/" + job.Name
			if o.jobs[key] == nil {
				o.jobs[key] = map[types.UID]bool{}
			}
			o.jobs[key][job.UID] = true
			o.mu.Unlock()
		}
	})
	o.done.Go(func() {
		force := true
		for event := range deployments.ResultChan() {
			accessor, ok := event.Object.(metav1.Object)
			if !ok || event.Type != "ADDED" {
				continue
			}
			body := []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"app.kubernetes.io/managed-by":"meddler"}}}`)
			_, err := client.AppsV1().Deployments(accessor.GetNamespace()).Patch(ctx, accessor.GetName(), types.ApplyPatchType, body,
				metav1.PatchOptions{FieldManager: "meddler", Force: &force})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("meddle with %s: %v", accessor.GetName(), err)
			}
		}
	})
	t.Cleanup(func() { cancel(); o.done.Wait() })
	return o
}

// stop returns the Jobs that were made more than once, sorted.
func (o *observer) stop() []string {
	o.cancel()
	o.done.Wait()
	if len(o.jobs) == 0 {
		o.t.Error("no Job was ever seen")
	}
	maps.DeleteFunc(o.jobs, func(_ string, uids map[types.UID]bool) bool { return len(uids) == 1 })
	return slices.Sorted(maps.Keys(o.jobs))
}
