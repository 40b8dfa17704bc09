package argocd_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/plane/planetest"
)

// TestDrivenByEdges has Ladder drive the Applications of a layout, of every layout in the
// long tests, by what they require. The page waits for the store; the tool, the last of the ladder, does
// not. Every sync is Ladder's: neither RollingSync nor automated sync has made one,
// and both are afterwards as they were generated.
func TestDrivenByEdges(t *testing.T) {
	t.Parallel()
	layouts := []string{"single"}
	if *long {
		layouts = append(layouts, "tiers", "app-of-apps")
	}
	for _, layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			argo := binary(t)
			t.Parallel()
			p := described(t, layout,
				piece{name: "base", phase: "110", manifests: widgets},
				piece{name: "store", phase: "150", manifests: deployment("store", ""), more: "requires: [base]\n"},
				piece{name: "page", phase: "350", manifests: deployment("page", ""), more: "requires: [store]\n"},
				piece{name: "tool", phase: "450", manifests: deployment("tool", ""), more: "requires: [base]\n"},
			)
			p.write("durations.yaml", "base: 5s\nstore: 1m\npage: 10s\ntool: 10s\n")
			home := t.TempDir()
			command := func(ctx context.Context, args ...string) *exec.Cmd {
				cmd := exec.CommandContext(ctx, planetest.Binary(t), args...)
				cmd.Dir, cmd.Env = p.dir, append(os.Environ(), "XDG_STATE_HOME="+home)
				return cmd
			}
			t.Cleanup(func() {
				if out, err := command(context.Background(), "plane", "down", "driven").CombinedOutput(); err != nil {
					t.Errorf("plane down: %v: %s", err, out)
				}
			})
			var stderr strings.Builder
			cmd := command(t.Context(), "rehearse", ".", "--engine", "argocd", "--argocd-binary", argo, "--policy", "edges", "--plane", "driven",
				"--format", "json", "--progress", "none", "--speed", "5", "--jitter", "0", "--durations", "durations.yaml", "--timeout", "20m")
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			var r report.Rollout
			if json.Unmarshal(out, &r) != nil {
				t.Fatalf("no report: %v\n%s", err, stderr.String())
			}
			wantHealthy(t, r, outcome{cmd.ProcessState.ExitCode(), string(out), stderr.String()})
			if !r.Driven || r.Engine != "argocd" || r.Policy != "edges" {
				t.Errorf("driven %t, engine %s, policy %s", r.Driven, r.Engine, r.Policy)
			}
			c := byName(r)
			at := func(t report.Time) time.Time { return time.Time(t) }
			if at(c["page"].StartedAt).Before(at(c["store"].HealthyAt)) {
				t.Error("the page started before the store was Healthy")
			}
			if !at(c["tool"].StartedAt).Before(at(c["store"].HealthyAt)) {
				t.Error("the tool waited for the store, which it does not require")
			}
			wantOnlyLadder(t, r.Kubeconfig)
		})
	}
}

// wantOnlyLadder fails unless each of the Applications was synced by Ladder, and
// nothing is held any more.
func wantOnlyLadder(t *testing.T, kubeconfig string) {
	t.Helper()
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(access)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(status.Applications()).Namespace(status.DefaultNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	synced := 0
	for i := range list.Items {
		a, err := status.Parse(&list.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		if a.Annotations[status.HeldAnnotation] != "" {
			t.Errorf("%s is held", a.Ref)
		}
		switch a.Ref.Name {
		case "base", "store", "page", "tool":
			synced++
			if s := a.Status.OperationState; s == nil || s.Operation.InitiatedBy.Username != "ladder" {
				t.Errorf("%s was synced by %+v", a.Ref, s)
			}
		}
	}
	if synced != 4 {
		t.Errorf("%d Applications, want 4", synced)
	}
	sets, err := client.Resource(status.ApplicationSets()).Namespace(status.DefaultNamespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range sets.Items {
		s, err := status.ParseSet(&sets.Items[i])
		if err != nil || s.Stopped() || s.Annotations[status.HeldAnnotation] != "" {
			t.Errorf("%s is held: %v", sets.Items[i].GetName(), err)
		}
	}
}
