package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestApproveAndRetry steers a rollout that fails at one component and stops at a
// step that is started by hand: people mend what is wrong, and it goes on.
func TestApproveAndRetry(t *testing.T) {
	s := newSite(t, 1)
	s.write("ladder.yaml", `layout: single
environments: {dev: {}}
steps:
  - phases: ["110"]
  - phases: ["120"]
  - phases: ["130"]
    maxUpdate: 0
`)
	s.write("environments/dev/components/homeless/component.yaml",
		"name: homeless\nnamespace: later\nrolloutPhase: \"120\"\nretry: {limit: 0}\nmanifests: {path: sources/homeless.yaml}\n")
	s.write("sources/homeless.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: homeless}\n")
	s.write("environments/dev/components/last/component.yaml",
		"name: last\nnamespace: default\nrolloutPhase: \"130\"\nmanifests: {path: sources/last.yaml}\n")
	s.write("sources/last.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: last}\n")
	s.write("environments/dev/components/aside/component.yaml",
		"name: aside\nnamespace: ns-c01\nrolloutPhase: \"120\"\nmanifests: {path: sources/aside.yaml}\n")
	s.write("sources/aside.yaml", `apiVersion: apps/v1
kind: Deployment
metadata: {name: aside}
spec:
  selector: {matchLabels: {app: aside}}
  template:
    metadata: {labels: {app: aside}}
    spec: {containers: [{name: aside, image: "nginx:1", envFrom: [{secretRef: {name: opens}}]}]}
`)
	var run *process
	reaches := func(component, state string) {
		t.Helper()
		eventually(t, func() error {
			select {
			case r := <-run.ended:
				t.Fatalf("the rollout ended with exit code %d: %s%s", r.code, r.stdout, r.stderr)
			default:
			}
			doc, err := s.status()
			if err != nil {
				return err
			}
			if got := stateOf(doc, component); got != state {
				return fmt.Errorf("%s is %s, not %s", component, got, state)
			}
			return nil
		})
	}
	run = s.start(s.rollout("--on-failure", "continue")...)
	reaches("homeless", "failed")
	_, err := s.core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
	must(t, err)
	if r := s.ladder("retry", "homeless", "--yes"); r.code != 0 || !strings.Contains(r.stdout, "homeless") {
		t.Errorf("retry, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	reaches("homeless", "healthy")
	if _, err := s.core.ConfigMaps("default").Get(t.Context(), "last", metav1.GetOptions{}); err == nil {
		t.Error("the step that is started by hand was started by itself")
	}
	if r := s.ladder("approve", "130", "--yes", "--reason", "OPS-12: its owners agree"); r.code != 0 || !strings.Contains(r.stdout, "130") {
		t.Errorf("approve, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := s.ladder("approve", "130", "--yes", "--reason", "again"); r.code != 1 || !strings.Contains(r.stderr, "is approved already") {
		t.Errorf("approve again, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	_, err = s.core.Secrets("ns-c01").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "opens"}}, metav1.CreateOptions{})
	must(t, err)
	r := s.wait(run)
	if r.code != 0 || s.report(r).Result != "succeeded" {
		t.Fatalf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if a := s.report(r).Approvals; len(a) != 1 || a[0].Step != "130" || a[0].Reason != "OPS-12: its owners agree" || !strings.Contains(a[0].By, "@") || time.Time(a[0].At).IsZero() {
		t.Errorf("the report has the approvals %+v", a)
	}
	if r := s.ladder("history", "show", "latest"); r.code != 0 || !strings.Contains(r.stdout, "OPS-12: its owners agree") {
		t.Errorf("history, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for _, c := range s.report(r).Components {
		if c.State != "healthy" {
			t.Errorf("%s is %s: %s", c.Name, c.State, c.Message)
		}
	}
}
