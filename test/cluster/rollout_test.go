package cluster

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/cli/statuscmd"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

func (s *site) report(r result) report.Rollout {
	s.t.Helper()
	var out report.Rollout
	if err := json.Unmarshal([]byte(r.stdout), &out); err != nil {
		s.t.Fatalf("exit code %d, report %v\n%s", r.code, err, r.stderr)
	}
	return out
}

func (s *site) status() (doc statuscmd.Status, err error) {
	r := s.ladder("status", "--format", "json")
	if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil {
		return doc, fmt.Errorf("status: %w: %s", err, r.stderr)
	}
	return doc, nil
}

// state of one component by status; empty where there is none.
func stateOf(doc statuscmd.Status, component string) string {
	for _, c := range doc.Components {
		if c.Name == component {
			return c.State
		}
	}
	return ""
}

// standStill has no pod become ready until the returned function is called.
func (s *site) standStill() (goOn func()) {
	s.t.Helper()
	hardly, err := settings.Config{Speed: 1e-6}.ConfigMap()
	must(s.t, err)
	_, err = s.core.Namespaces().Create(s.t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hardly.Namespace}}, metav1.CreateOptions{})
	must(s.t, err)
	maps := s.core.ConfigMaps(hardly.Namespace)
	_, err = maps.Create(s.t.Context(), hardly, metav1.CreateOptions{})
	must(s.t, err)
	return func() { must(s.t, maps.Delete(s.t.Context(), hardly.Name, metav1.DeleteOptions{})) }
}

// untouched fails the test for a component that was applied.
func (s *site) untouched(component string) {
	s.t.Helper()
	list, err := s.apps.Deployments("ns-"+component).List(s.t.Context(), metav1.ListOptions{})
	must(s.t, err)
	if len(list.Items) > 0 {
		s.t.Errorf("%s was applied", component)
	}
}

// kept fails the test if anything in the namespace of the states holds a canary,
// packed or not.
func (s *site) kept() {
	s.t.Helper()
	list, err := s.core.ConfigMaps("ladder-system").List(s.t.Context(), metav1.ListOptions{})
	must(s.t, err)
	if len(list.Items) == 0 {
		s.t.Error("nothing is kept")
	}
	for _, cm := range list.Items {
		texts := []string{fmt.Sprint(cm.Data, cm.Annotations, cm.Labels)}
		for key, data := range cm.BinaryData {
			texts = append(texts, string(data))
			unpacked, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				continue
			}
			text, err := io.ReadAll(unpacked)
			if err != nil {
				s.t.Errorf("%s %s: %v", cm.Name, key, err)
			}
			texts = append(texts, string(text))
		}
		for _, text := range texts {
			if strings.Contains(text, canary) {
				s.t.Errorf("%s holds a secret", cm.Name)
			}
		}
	}
}

// TestRollout walks through the life of a rollout: dry run, rollout, a second one
// at the same time, steering from elsewhere, a narrowed one, history.
func TestRollout(t *testing.T) {
	s := newSite(t, 5)
	r := s.ladder("rollout", s.repo, "--dry-run", "--progress", "none")
	if r.code != 0 || !strings.Contains(r.stdout, "10 objects are created") {
		t.Errorf("dry run, exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	s.untouched(name(1))
	if r := s.ladder("status"); r.code != 1 || !strings.Contains(r.stderr, "holds no such rollout") {
		t.Errorf("status of nothing, exit code %d: %s", r.code, r.stderr)
	}

	goOn := s.standStill()
	first := s.start(s.rollout()...)
	eventually(t, func() error {
		if doc, err := s.status(); err != nil || doc.Runner == "" {
			return errors.Join(fmt.Errorf("runner %q", doc.Runner), err)
		}
		return nil
	})
	if r := s.ladder("pause", "--yes"); r.code != 0 || !strings.HasPrefix(r.stdout, "paused: ") {
		t.Errorf("pause, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	doc, err := s.status()
	must(t, err)
	if !doc.Paused || doc.Result != "running" || !strings.Contains(doc.PausedBy, "@") {
		t.Errorf("after the pause was acknowledged: %+v", doc)
	}
	second := s.ladder(s.rollout()...)
	if second.code != 3 || !strings.Contains(second.stderr, fmt.Sprintf("process %d on ", first.cmd.Process.Pid)) {
		t.Errorf("a second run, exit code %d: %s", second.code, second.stderr)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"paused already":  {[]string{"pause", "--yes"}, "paused already"},
		"no such step":    {[]string{"approve", "999", "--yes"}, `no step "999"`},
		"needs none":      {[]string{"approve", "110", "--yes"}, "step 110 needs no approval"},
		"nothing failed":  {[]string{"retry", "--yes"}, "nothing has failed"},
		"no such":         {[]string{"retry", "nobody", "--yes"}, `no component "nobody"`},
		"nothing to heal": {[]string{"retry", "c05", "--yes"}, "there is nothing to retry"},
	} {
		if r := s.ladder(tc.args...); r.code != 1 || !strings.Contains(r.stderr, tc.want) {
			t.Errorf("%s, exit code %d: %s", name, r.code, r.stderr)
		}
	}
	if r := s.ladder("abort"); r.code != 2 || !strings.Contains(r.stderr, "add --yes") {
		t.Errorf("unconfirmed, exit code %d: %s", r.code, r.stderr)
	}
	if r := s.ladder("abort", "--yes"); r.code != 0 || !strings.HasPrefix(r.stdout, "aborted: ") {
		t.Errorf("abort, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if r := s.wait(first); r.code != 1 || s.report(r).Result != "aborted" {
		t.Errorf("the aborted run, exit code %d: %s", r.code, r.stderr)
	}
	if r := s.ladder("resume", "--yes"); r.code != 1 || !strings.Contains(r.stderr, "nobody runs the rollout") {
		t.Errorf("resume of nothing, exit code %d: %s", r.code, r.stderr)
	}
	s.untouched(name(5))
	goOn()

	again := s.start(s.rollout("--resume")...)
	eventually(t, func() error {
		if doc, err := s.status(); err != nil || doc.Result == "aborted" {
			return errors.Join(fmt.Errorf("it is %s", doc.Result), err)
		}
		return nil
	})
	watched := s.ladder("watch", "--progress", "plain")
	if r := s.wait(again); r.code != 0 || s.report(r).Result != "succeeded" {
		t.Fatalf("resumed after an abort, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	if watched.code != 0 || !strings.Contains(watched.stdout, "succeeded") || strings.Contains(watched.stderr, "\x1b") {
		t.Errorf("watch, exit code %d: %s%q", watched.code, watched.stdout, watched.stderr)
	}
	if r := s.ladder("history"); r.code != 0 || strings.Count(r.stdout, "succeeded")+strings.Count(r.stdout, "aborted") < 2 {
		t.Errorf("history, exit code %d:\n%s%s", r.code, r.stdout, r.stderr)
	}
	s.kept()
}

// TestSelection rolls a part out: what is outside must be Healthy where it is
// required, and is not touched.
func TestSelection(t *testing.T) {
	s := newSite(t, 4)
	r := s.ladder(s.rollout("--from", "130", "--to", "130")...)
	if r.code != 1 || !strings.Contains(r.stdout, "is not selected, and must be Healthy for what is") {
		t.Errorf("with nothing below it, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	for i := 1; i <= 4; i++ {
		s.untouched(name(i))
	}
	if r := s.ladder(s.rollout("--fresh", "--to", "120")...); r.code != 0 {
		t.Fatalf("the first two, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	s.untouched(name(3))
	s.component(2, "v2") // is not selected, so it stays as it is
	if r := s.ladder(s.rollout("--fresh", "--only", "c03")...); r.code != 0 {
		t.Errorf("the third, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	s.untouched(name(4))
	d, err := s.apps.Deployments("ns-c02").Get(t.Context(), "web", metav1.GetOptions{})
	must(t, err)
	if image := d.Spec.Template.Spec.Containers[0].Image; image != "nginx:v1" {
		t.Errorf("what is outside has the image %s", image)
	}
	for _, args := range [][]string{{"--from", "x"}, {"--only", "nobody"}, {"--from", "300"}} {
		if r := s.ladder(s.rollout(args...)...); r.code != 2 {
			t.Errorf("%v, exit code %d: %s", args, r.code, r.stderr)
		}
	}
}

var kills = flag.Int("kills", 7, "how often TestKills kills a run")

// TestKills kills the run again and again; it ends as one that was let alone.
func TestKills(t *testing.T) {
	s := newSite(t, 8)
	random := rand.New(rand.NewPCG(5, 5))
	done := 0
	for killed := range *kills {
		if done == 0 && killed > 0 { // it has succeeded: another revision
			s.component(1+random.IntN(8), fmt.Sprintf("k%d", killed))
		}
		args := s.rollout()
		if done > 0 {
			args = s.rollout("--resume")
		}
		p := s.start(args...)
		select {
		case r := <-p.ended:
			if r.code != 0 {
				t.Fatalf("run %d, exit code %d: %s%s", killed, r.code, r.stdout, r.stderr)
			}
			done = 0
		case <-time.After(time.Duration(200+random.IntN(2500)) * time.Millisecond):
			must(t, p.cmd.Process.Kill())
			s.wait(p)
			done = 1
			if doc, err := s.status(); err != nil || doc.Result != "running" {
				done = 0 // killed before it began, or after it ended
			}
		}
	}
	r := s.ladder(s.rollout()...)
	if r.code != 0 {
		t.Fatalf("at the end, exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
	out := s.report(r)
	for _, c := range out.Components {
		if c.State != "healthy" {
			t.Errorf("%s is %s", c.Name, c.State)
		}
	}
	list, err := s.core.ConfigMaps("ladder-system").List(t.Context(), metav1.ListOptions{LabelSelector: "ladder.rollout-ladder.dev/part in (snapshot, journal)"})
	must(t, err)
	if len(list.Items) > 3 {
		t.Errorf("%d parts of states are left", len(list.Items))
	}
	s.kept()
}

// TestOutage takes the API server away for some seconds in the middle.
func TestOutage(t *testing.T) {
	s := newSite(t, 6)
	link := s.cut()
	p := s.start(s.rollout()...)
	eventually(t, func() error {
		if doc, err := s.status(); err != nil || stateOf(doc, name(1)) != "healthy" {
			return errors.Join(fmt.Errorf("%s is %q", name(1), stateOf(doc, name(1))), err)
		}
		return nil
	})
	link.down()
	time.Sleep(6 * time.Second) // how long it is away is the subject
	link.up()
	if r := s.wait(p); r.code != 0 || s.report(r).Result != "succeeded" {
		t.Errorf("exit code %d: %s%s", r.code, r.stdout, r.stderr)
	}
}

// TestUnreachable: the address is told.
func TestUnreachable(t *testing.T) {
	s := newSite(t, 1)
	s.cut().down()
	r := s.ladder(s.rollout()...)
	if r.code != 3 || !strings.Contains(r.stderr, "https://127.0.0.1:") || !strings.Contains(r.stderr, "does not answer") {
		t.Errorf("exit code %d: %s", r.code, r.stderr)
	}
}
