package argocd_test

import (
	"testing"
	"time"
)

// applicationCheck and widgetCheck are keys of generated settings.
const (
	applicationCheck = "resource.customizations.health.argoproj.io_Application"
	widgetCheck      = "resource.customizations.health.example.com_Widget"
)

// slowChain is a repository of three Applications, one after the other.
func slowChain(t *testing.T) platform {
	t.Helper()
	return repository(t,
		piece{name: "store", phase: "150", manifests: deployment("store", "")},
		piece{name: "service", phase: "250", manifests: deployment("service", "")},
		piece{name: "page", phase: "350", manifests: deployment("page", "")},
	)
}

// TestHealthCheckOfApplicationsHoldsTheWaves rehearses with the generated health
// check for Applications and, in the long tests, without it. With it a wave waits for the
// one before; without it Argo CD starts everything at once.
func TestHealthCheckOfApplicationsHoldsTheWaves(t *testing.T) {
	t.Parallel()
	type testCase struct {
		breakIt func(p platform)
		ordered bool
	}
	cases := map[string]testCase{
		"with it": {func(platform) {}, true},
	}
	if *long {
		cases["without it"] = testCase{func(p platform) { p.unset(applicationCheck) }, false}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			binary(t)
			t.Parallel()
			p := slowChain(t)
			tc.breakIt(p)
			// Each Deployment takes 12 seconds, longer than Argo CD from one to the next.
			r, out := rehearsal(t, p.dir, ".", "--speed", "5", "--jitter", "0", "--durations", p.durations("1m"))
			wantHealthy(t, r, out)
			before := time.Time{}
			ordered := true
			for _, name := range []string{"store", "service", "page"} {
				c := byName(r)[name]
				ordered = ordered && !time.Time(c.StartedAt).Before(before)
				before = time.Time(c.HealthyAt)
			}
			if ordered != tc.ordered {
				t.Errorf("one after the other: %t, want %t", ordered, tc.ordered)
			}
		})
	}
}

// durations writes a file of the expected time of every component.
func (p platform) durations(each string) string {
	p.t.Helper()
	p.write("durations.yaml", "store: "+each+"\nservice: "+each+"\npage: "+each+"\n")
	return p.dir + "/durations.yaml"
}

// TestHealthCheckOfAGatingKindFindsItsFailure rehearses a custom resource that
// never becomes ready, since nothing makes it so, of a kind for which Argo CD ships no health check. With the
// generated one the rollout stops at it; without it, in the long tests, Argo CD takes the
// resource for Healthy as soon as it exists, goes on, and nobody notices.
func TestHealthCheckOfAGatingKindFindsItsFailure(t *testing.T) {
	t.Parallel()
	const failing = "widget"
	type testCase struct {
		breakIt func(p platform)
		result  string
		states  []string // of the component that fails
	}
	cases := map[string]testCase{
		"with it": {func(platform) {}, "failed", []string{"failed", "timed-out"}},
	}
	if *long {
		cases["without it"] = testCase{func(p platform) { p.unset(widgetCheck) }, "succeeded", []string{"healthy"}}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			binary(t)
			t.Parallel()
			p := repository(t,
				piece{name: "crds", phase: "110", manifests: widgets},
				piece{name: failing, phase: "250", manifests: widget, more: widgetHealth},
				piece{name: "page", phase: "350", manifests: deployment("page", "")},
			)
			tc.breakIt(p)
			r, _ := rehearsal(t, p.dir, ".", "--speed", "300", "--least-timeout", "15s")
			if r.Result != tc.result {
				t.Errorf("result %q, want %q", r.Result, tc.result)
			}
			c := byName(r)[failing]
			found := false
			for _, state := range tc.states {
				found = found || c.State == state
			}
			if !found {
				t.Errorf("%s is %s: %s", failing, c.State, c.Message)
			}
		})
	}
}
