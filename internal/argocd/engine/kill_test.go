package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/executor"
	"github.com/rollout-ladder/ladder/internal/store"
)

// childVariable names a file that tells this test binary what to drive.
const childVariable = "LADDER_TEST_DRIVE"

// childTask is what a process that is to be killed does.
type childTask struct {
	Kubeconfig, Store, Run string
	Spec                   rollout.Spec
	Applications           map[string]status.Ref
}

// driveAsChild drives a rollout in a process of its own; 0 means that it
// succeeded.
func driveAsChild() int {
	if err := runChild(os.Getenv(childVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func runChild(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var task childTask
	if err := json.Unmarshal(data, &task); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", task.Kubeconfig)
	if err != nil {
		return err
	}
	state, err := store.Open(task.Store, store.Options{})
	if err != nil {
		return err
	}
	e, err := New(Config{REST: config, Applications: task.Applications, Revision: task.Spec.Revision, Run: task.Run})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	outcome, err := executor.Run(ctx, executor.Config{Spec: task.Spec, Engine: e, Store: state})
	if err != nil {
		return err
	}
	if outcome.Result != rollout.Succeeded {
		return fmt.Errorf("result %s: %s", outcome.Result, outcome.State.Message)
	}
	return e.Release(ctx)
}

// operations records the tokens of the operations that are asked for.
type operations struct {
	mu     sync.Mutex
	tokens map[string]map[string]bool // by Application
	// early are Applications that were started before what they require was done.
	early []string
}

// record watches the Applications of a fixture.
func (s *fixture) record(revision string, requires map[string][]string) *operations {
	o := &operations{tokens: map[string]map[string]bool{}}
	now, err := s.applications().List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	// The server ends the watch of a client that is slow, as on a busy machine.
	changes, err := watchtools.NewRetryWatcherWithContext(s.t.Context(), now.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			return s.applications().Watch(ctx, options)
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	names := map[string]string{}
	for component, ref := range s.apps {
		names[ref.Name] = component
	}
	done := map[string]bool{}
	note := func(obj *unstructured.Unstructured) {
		component := names[obj.GetName()]
		a, err := status.Parse(obj)
		if err != nil || component == "" {
			return
		}
		j := status.Judge(a, status.Want{Revision: revision}, status.Drive, false)
		o.mu.Lock()
		defer o.mu.Unlock()
		if token := a.Operation.Value(InfoToken); token != "" {
			if o.tokens[component] == nil {
				o.tokens[component] = map[string]bool{}
			}
			for _, provider := range requires[component] {
				if !done[provider] && !o.tokens[component][token] {
					o.early = append(o.early, component)
				}
			}
			o.tokens[component][token] = true
		}
		done[component] = j.Health == rollout.Healthy && j.Revision == revision
	}
	for i := range now.Items {
		note(&now.Items[i])
	}
	go func() {
		for event := range changes.ResultChan() {
			if obj, ok := event.Object.(*unstructured.Unstructured); ok {
				note(obj)
			}
		}
	}()
	s.t.Cleanup(changes.Stop)
	return o
}

// A driver that is killed at random points is resumed by the next one, which
// starts nothing twice and nothing early, and gives back what was held.
func TestRealKill(t *testing.T) {
	s := newFixture(t)
	names := []string{"a", "b", "c", "d"}
	requires := map[string][]string{"b": {"a"}, "c": {"b"}, "d": {"c"}}
	s.commit(release("1", names...))
	s.push()
	for _, name := range names {
		s.application(name, healing)
	}
	s.until("version 1", func() bool { return s.version("d") == "1" && !s.live("d").InProgress() })
	r2 := s.commit(release("2", names...))
	e := s.engine(r2, "run-1")
	if err := e.Prepare(s.context()); err != nil {
		t.Fatal(err)
	}
	e.Close()
	s.push()
	seen := s.record(r2, requires)

	task := childTask{Kubeconfig: shared.plane.Kubeconfig, Store: filepath.Join(t.TempDir(), "state"), Run: "run-1", Applications: s.apps,
		Spec: s.spec(r2, rollout.Edges, names, requires)}
	data, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "task.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	kills := 0
	for ctx := s.context(); ; kills++ {
		child := exec.CommandContext(ctx, os.Args[0])
		child.Env = append(os.Environ(), childVariable+"="+file)
		child.Stderr = os.Stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		var limit <-chan time.Time
		if kills < 30 {
			limit = time.After(time.Duration(200+random.Intn(900)) * time.Millisecond)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("after %d kills: %v", kills, err)
			}
		case <-limit:
			_ = child.Process.Kill()
			<-ended
			continue
		}
		break
	}
	t.Logf("killed %d times", kills)
	if kills == 0 {
		t.Error("the driver was never killed")
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.early) > 0 {
		t.Errorf("started before what they require was Healthy: %v", seen.early)
	}
	for _, name := range names {
		if n := len(seen.tokens[name]); n != 1 {
			t.Errorf("%s was synced by %d operations", name, n)
		}
		a := s.live(name)
		if s.version(name) != "2" || !a.SyncPolicy.SelfHeals() || a.Annotations[status.HeldAnnotation] != "" {
			t.Errorf("%s: version %s, sync policy %v, held %q", name, s.version(name), a.SyncPolicy, a.Annotations[status.HeldAnnotation])
		}
	}
}
