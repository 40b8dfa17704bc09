package steering

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// planned has two steps that are started by hand, and one of them has two
// phases; a third one by hand is empty.
func planned() *plan.Plan {
	return &plan.Plan{Steps: []plan.Step{
		{Label: "100", Phases: []model.Phase{100}, Components: []string{"crds"}},
		{Label: "200,210", Phases: []model.Phase{200, 210}, Limit: -1, Components: []string{"db"}},
		{Label: "300", Phases: []model.Phase{300}, Limit: -1, Components: []string{"api"}},
		{Label: "400", Phases: []model.Phase{400}, Limit: -1},
	}}
}

func TestApprovals(t *testing.T) {
	cases := map[string]struct {
		approve []string
		reason  string
		keys    bool
		cluster bool
		want    []int
		refused string // part of the message
		noted   string
	}{
		"nobody is there": {refused: "step 200,210 starts by hand (maxUpdate 0), and nobody is at a terminal to approve it: approve it up front with --approve 200,210; " +
			"steps that need one: 200,210, 300 (all of them: --approve all)"},
		"somebody is there":         {keys: true},
		"somebody may be elsewhere": {cluster: true, approve: []string{"200"}, want: []int{1}, noted: "step 300 starts by hand (maxUpdate 0), when somebody runs: ladder approve 300"},
		"all":                       {approve: []string{"all"}, want: []int{1, 2}},
		"all, with a reason":        {approve: []string{"all"}, reason: "OPS-12", want: []int{1, 2}},
		"one by one":                {approve: []string{"300", "210"}, want: []int{1, 2}},
		"by label, twice":           {approve: []string{"200,210", "200"}, keys: true, want: []int{1}},
		"one is left":               {approve: []string{"200"}, refused: "step 300 starts by hand"},
		"a step that needs none":    {approve: []string{"100"}, keys: true, refused: "--approve 100: that step needs no approval: it has no maxUpdate 0; steps that need one: 200,210, 300"},
		"a step that is not there":  {approve: []string{"500"}, keys: true, refused: "--approve 500: the ladder has no such step"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			place := progress.KeptPlane
			if tc.cluster {
				place = progress.RealCluster
			}
			h := New(t.Context(), place, UpFront{Approve: tc.approve, Reason: tc.reason})
			defer h.Leave()
			noted := ""
			h.Note = func(text string) { noted += text }
			h.keys = tc.keys
			err := h.Check(planned())
			if tc.refused != "" {
				if exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("got %v, want exit code 2 and %q", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := received(t, h).(rollout.Resume); !ok {
				t.Errorf("a rollout that was paused goes on first, got %v", r)
			}
			var got []int
			for range tc.want {
				a, _ := received(t, h).(rollout.Approve)
				got = append(got, a.Step)
				want := tc.reason
				if want == "" {
					want = "up front, by --approve"
				}
				if a.Reason != want {
					t.Errorf("step %d is approved with the reason %q, want %q", a.Step, a.Reason, want)
				}
			}
			if noted != tc.noted {
				t.Errorf("noted %q, want %q", noted, tc.noted)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("approved (-want +got):\n%s", diff)
			}
		})
	}
}

func received(t *testing.T, h *Helm) rollout.Event {
	t.Helper()
	select {
	case e := <-h.Control:
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was asked for")
		return nil
	}
}

// Without steps by hand an unattended rehearsal is not refused.
func TestAutomaticLadderNeedsNobody(t *testing.T) {
	h := New(t.Context(), progress.Thrown, UpFront{Approve: []string{"all"}})
	defer h.Leave()
	if err := h.Check(&plan.Plan{Steps: planned().Steps[:1]}); err != nil {
		t.Error(err)
	}
}

func TestLeavingEndsTheRun(t *testing.T) {
	h := New(t.Context(), progress.KeptPlane, UpFront{})
	h.Do(progress.Request{Event: rollout.Pause{}})
	if _, ok := received(t, h).(rollout.Pause); !ok || h.Context.Err() != nil {
		t.Error("a pause is passed on, and ends nothing")
	}
	for range 3 * waiting {
		h.Do(progress.Request{Event: rollout.Pause{}}) // nobody takes them: it must not block
	}
	h.Do(progress.Request{Leave: true})
	if !errors.Is(h.Context.Err(), context.Canceled) {
		t.Error("the run goes on")
	}
	if err := h.Ended(h.Context.Err()); exit.Of(err) != exit.Interrupted || err.Error() == "" {
		t.Errorf("left before the rollout: %v", err)
	}
}
