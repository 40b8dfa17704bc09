package history

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func at(seconds float64) report.Time {
	return report.Time(noon.Add(time.Duration(seconds * float64(time.Second))))
}

// run is a rollout of components that took so many seconds, one after the other.
func run(day int, speed float64, took map[string]float64, order ...string) report.Rollout {
	start := float64(day) * 86400
	r := report.Rollout{FormatVersion: "1", Result: "succeeded", Environment: "dev", Engine: "native", Policy: "phases", Speed: speed, Started: at(start), Components: []report.RolloutComponent{}}
	now := start
	for _, name := range order {
		c := report.RolloutComponent{Name: name, Phase: "100", State: "healthy", UnblockedAt: at(now), StartedAt: at(now), SyncedAt: at(now), HealthyAt: at(now + took[name]), Attempts: 1}
		now += took[name]
		r.Components = append(r.Components, c)
	}
	r.Finished, r.MakespanSeconds = at(now), now-start
	return r
}

func entry(t *testing.T, r report.Rollout) Entry {
	t.Helper()
	e, err := New("test", r)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestRunsOfDifferentSpeeds: a rehearsal at speed 60 compares with a rollout in
// the time that it stands for.
func TestRunsOfDifferentSpeeds(t *testing.T) {
	fast := run(0, 60, map[string]float64{"a": 1, "b": 2}, "a", "b")
	fast.PlaneReadySeconds = 2
	real := run(1, 1, map[string]float64{"a": 90, "b": 120}, "a", "b")
	c := Compare(entry(t, fast), entry(t, real))
	if !c.Scaled || c.Makespan != (Delta{180, 210, 30}) {
		t.Errorf("scaled = %t, makespan = %+v", c.Scaled, c.Makespan)
	}
	if len(c.Components) != 2 || c.Components[0].Name != "a" || c.Components[0].Delta != 30 || c.Components[1].Delta != 0 {
		t.Errorf("components = %+v", c.Components)
	}
	if diff := cmp.Diff([]string{"kind rehearsal against rollout"}, c.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if same := Compare(entry(t, real), entry(t, real)); same.Scaled || same.Makespan.Delta != 0 || len(same.Failures)+len(same.Added)+len(same.Removed)+len(same.Notes) != 0 {
		t.Errorf("a run differs from itself: %+v", same)
	}
}

// TestWhatEndedIsNotInFlight: a component that was never Healthy is busy until it ended.
func TestWhatEndedIsNotInFlight(t *testing.T) {
	r := run(0, 1, map[string]float64{"a": 10, "b": 10}, "a", "b")
	r.Components[0].State, r.Components[0].HealthyAt, r.Components[0].EndedAt = report.StateUnrendered, report.Time{}, at(5)
	if got := Compare(entry(t, r), entry(t, r)).Idle.From; got != 0.25 { // 5 of 20 seconds
		t.Errorf("idle for %g of the time", got)
	}
}

// TestCompareIsSymmetric: the other way round every change has the other sign.
func TestCompareIsSymmetric(t *testing.T) {
	a := run(0, 1, map[string]float64{"a": 10, "b": 20, "gone": 1}, "a", "b", "gone")
	b := run(1, 1, map[string]float64{"a": 12, "b": 5, "new": 3}, "a", "b", "new")
	b.Components[1].State, b.Components[1].Message = "failed", "no"
	there, back := Compare(entry(t, a), entry(t, b)), Compare(entry(t, b), entry(t, a))
	if there.Makespan.Delta != -back.Makespan.Delta || there.Idle.Delta != -back.Idle.Delta {
		t.Errorf("makespan %v and %v", there.Makespan, back.Makespan)
	}
	for i, c := range there.Components {
		if o := back.Components[i]; o.Name != c.Name || o.Delta != -c.Delta {
			t.Errorf("%+v and %+v", c, o)
		}
	}
	if len(there.Failures) != 1 || len(back.Mended) != 1 || there.Failures[0].Name != "b" {
		t.Errorf("failures %v, mended %v", there.Failures, back.Mended)
	}
	if diff := cmp.Diff([][]string{there.Added, there.Removed}, [][]string{back.Removed, back.Added}); diff != "" {
		t.Errorf("added and removed:\n%s", diff)
	}
}

func TestDurations(t *testing.T) {
	var entries []Entry
	for day, took := range []float64{10, 20, 30, 40, 100} {
		entries = append(entries, entry(t, run(day, 2, map[string]float64{"a": took, "old": 1}, "a", "old")))
	}
	newest := run(9, 1, map[string]float64{"a": 7, "failed": 3}, "a", "failed")
	newest.Components[1].State = "failed"
	entries = Merge(entries, []Entry{entry(t, newest)})
	known, gone := Durations(entries)
	// Twice as long as measured, but for the newest: 7 20 40 60 80 200.
	want := []Duration{{Component: "a", Runs: 6, Median: 50 * time.Second, P90: 200 * time.Second, Least: 7 * time.Second, Most: 200 * time.Second}}
	if diff := cmp.Diff(want, known); diff != "" {
		t.Errorf("durations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"old"}, gone); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
}

func TestFind(t *testing.T) {
	a, b := entry(t, run(0, 1, nil, "a")), entry(t, run(1, 1, nil, "a"))
	entries := Merge([]Entry{a}, []Entry{b, a})
	for name, want := range map[string]string{"latest": b.ID, "latest~0": b.ID, "latest~1": a.ID, a.ID: a.ID, "20260304": a.ID, "20260305T12": b.ID} {
		if e, err := Find(entries, name); err != nil || e.ID != want {
			t.Errorf("%s = %s, %v, want %s", name, e.ID, err, want)
		}
	}
	for _, name := range []string{"latest~2", "latest~-1", "latest~", "latest~1x", "latestx", "2026", "none", ""} {
		if e, err := Find(entries, name); !errors.Is(err, ErrNone) {
			t.Errorf("%q = %s, %v", name, e.ID, err)
		}
	}
}

// TestTheSameReportIsOneEntry: in the folder and in the cluster, and without what
// nobody may read.
func TestTheSameReportIsOneEntry(t *testing.T) {
	r := run(0, 1, map[string]float64{"a": 1}, "a")
	r.Kubeconfig = "/home/somebody/CANARY"
	r.Components[0].Message = "cannot clone https://user:CANARY@git.example.com/x"
	r.Components[0].BlockedBy = []report.Blocker{{Component: "b", Reason: "https://CANARY@x"}}
	r.Transitions = []report.Transition{{At: at(0), Component: "a", Reason: "https://CANARY@x"}}
	r.Unrendered = []report.Unrendered{{Component: "a", Source: "https://CANARY@x", Reason: "https://CANARY@x"}}

	folder := Folder{filepath.Join(t.TempDir(), "deep", "history")}
	if entries, problems, err := folder.List(); err != nil || len(entries)+len(problems) != 0 {
		t.Fatalf("a folder that is not there: %v %v %v", entries, problems, err)
	}
	kept, fresh, err := folder.Add(r)
	if err != nil || !fresh {
		t.Fatalf("fresh = %t, error = %v", fresh, err)
	}
	if _, fresh, err = folder.Add(r); err != nil || fresh {
		t.Errorf("again: fresh = %t, error = %v", fresh, err)
	}
	text, err := os.ReadFile(kept.Where)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "CANARY") {
		t.Errorf("kept: %s", text)
	}
	if r.Components[0].Message == kept.Report.Components[0].Message {
		t.Error("the report itself was changed, or nothing was taken out")
	}
	if err := os.WriteFile(filepath.Join(folder.Path, "torn.json"), text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	entries, problems, err := folder.List()
	if err != nil || len(entries) != 1 || len(problems) != 1 || entries[0].ID != kept.ID {
		t.Fatalf("entries = %v, problems = %v, error = %v", entries, problems, err)
	}

	full, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err = z.Write(full); err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	client := configMaps{items: []corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ladder-system", Name: "ladder-history-acme-dev-1"}, BinaryData: map[string][]byte{"report.json.gz": packed.Bytes()}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ladder-system", Name: "ladder-history-acme-dev-2"}, Data: map[string]string{"x": "no report"}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ladder-system", Name: "ladder-rollout-acme-dev"}, Data: map[string]string{"x": "no history"}},
	}}
	remote, problems, err := FromCluster(t.Context(), client)
	if err != nil || len(remote) != 1 || len(problems) != 1 {
		t.Fatalf("entries = %v, problems = %v, error = %v", remote, problems, err)
	}
	if all := Merge(entries, remote); len(all) != 1 {
		t.Errorf("%s and %s are two", entries[0].ID, remote[0].ID)
	}
}

// configMaps are those of namespace ladder-system, a page for each.
type configMaps struct {
	corev1client.ConfigMapInterface
	items []corev1.ConfigMap
}

func (c configMaps) ConfigMaps(namespace string) corev1client.ConfigMapInterface {
	if namespace != "ladder-system" {
		panic(namespace)
	}
	return c
}

func (c configMaps) List(_ context.Context, options metav1.ListOptions) (*corev1.ConfigMapList, error) {
	i := len(options.Continue)
	page := &corev1.ConfigMapList{Items: c.items[i : i+1]}
	if i+1 < len(c.items) {
		page.Continue = strings.Repeat("x", i+1)
	}
	return page, nil
}

func FuzzParse(f *testing.F) {
	text, err := json.Marshal(run(0, 1, map[string]float64{"a": 1}, "a"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Add([]byte(`{"formatVersion":"1","result":"x","started":"2026-03-04T12:00:00Z","components":[{"speed":-1}],"speed":-5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		c := Compare(e, e)
		if c.Makespan.Delta != 0 || len(c.Added)+len(c.Removed) != 0 {
			t.Errorf("differs from itself: %+v", c)
		}
		Durations([]Entry{e})
		if err := CompareText(&bytes.Buffer{}, c, true); err != nil {
			t.Error(err)
		}
	})
}

// TestListTellsShortcomings: a run that succeeded although its order did not keep what is
// required is not listed as one that shows it.
func TestListTellsShortcomings(t *testing.T) {
	list := func(r report.Rollout) string {
		t.Helper()
		entry, err := New("a", r)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := ListText(&b, NewList([]Entry{entry}, nil), true); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	r := report.Rollout{Result: "succeeded", Against: []report.PlanEdge{{From: "a", To: "b", Strength: "soft"}}}
	if got := list(r); !strings.Contains(got, "| succeeded |") {
		t.Error(got)
	}
	r.Against[0].Strength = "hard"
	if got := list(r); !strings.Contains(got, "| succeeded; 1 requirement not kept by the order |") {
		t.Error(got)
	}
}
