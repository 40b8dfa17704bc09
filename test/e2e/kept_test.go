package e2e

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKeptPlaneOfARefusedRehearsal: a plane that was started to be kept for a
// rehearsal that cannot take place goes down again; one that was up stays.
func TestKeptPlaneOfARefusedRehearsal(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"found before the plane is up": true, "found after the plane is up": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := ownHome(t)
			entry := filepath.Join(state, "ladder", "planes", "rehearsal", "state.json")
			// The repository of a chart answers, with nothing, once the plane is up.
			charts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				deadline := time.Now().Add(patience)
				for time.Now().Before(deadline) && r.Context().Err() == nil {
					if _, err := os.Stat(entry); err == nil {
						break
					}
					time.Sleep(20 * time.Millisecond)
				}
				http.NotFound(w, r)
			}))
			t.Cleanup(charts.Close)
			chart := "name: remote\nnamespace: app\nrolloutPhase: \"200\"\nchart: {repoURL: " + charts.URL + ", name: x, version: 1.0.0}\n"
			if early {
				chart = "name: remote\nnamespace: app\nrolloutPhase: many\n"
			}
			dir := writeCanary(t, map[string]string{"environments/dev/components/remote/component.yaml": chart})

			listed := func() bool { return strings.Contains(ladder(t, dir, "plane", "list").stdout, "rehearsal") }
			refused := func() {
				t.Helper()
				out := ladder(t, dir, "rehearse", "--keep", "--no-cache", "--progress", "none", "--fail", "remote")
				if out.code != 2 || !strings.Contains(out.stderr, "remote") {
					t.Errorf("exit code %d: %s", out.code, out.stderr)
				}
			}
			refused()
			if listed() {
				t.Error("the plane stays")
			}
			if _, err := os.Stat(filepath.Dir(entry)); err == nil {
				t.Error("the folder of the plane stays")
			}

			if out := ladder(t, dir, "plane", "up", "rehearsal", "--quiet"); out.code != 0 {
				t.Fatalf("plane up: %s", out.stderr)
			}
			before := listed()
			refused()
			if after := listed(); !before || !after {
				t.Errorf("the plane is listed before: %v, after: %v", before, after)
			}
		})
	}
}
