package progress

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func streams(env map[string]string, terminal bool) (*stream.Streams, *bytes.Buffer) {
	var b bytes.Buffer
	return &stream.Streams{Err: &b, ErrTerminal: terminal, Getenv: func(k string) string { return env[k] }}, &b
}

func TestChoice(t *testing.T) {
	cases := map[string]struct {
		env      map[string]string
		terminal bool
		global   flags.Global
		want     time.Duration // Redraw tells the displays apart
	}{
		"pipe":              {want: heartbeat, global: flags.Global{Progress: "auto"}},
		"quiet":             {global: flags.Global{Progress: "auto", Quiet: true}, terminal: true},
		"dumb terminal":     {env: map[string]string{"TERM": "dumb"}, terminal: true, want: heartbeat, global: flags.Global{Progress: "auto"}},
		"CI":                {env: map[string]string{"CI": "true"}, terminal: true, want: heartbeat, global: flags.Global{Progress: "auto"}},
		"asked for nothing": {terminal: true, global: flags.Global{Progress: "none"}},
		"asked for plain":   {terminal: true, want: heartbeat, global: flags.Global{Progress: "plain", Quiet: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, _ := streams(tc.env, tc.terminal)
			display := New(s, &tc.global, func() time.Time { return noon })
			defer display.Close()
			if got := display.Redraw(); got != tc.want {
				t.Errorf("Redraw is %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPlainLines(t *testing.T) {
	s, b := streams(map[string]string{"GITHUB_ACTIONS": "true"}, false)
	now := noon
	display := New(s, &flags.Global{Progress: "auto"}, func() time.Time { return now })
	display.Stage("starting a control plane")
	display.Change(report.Change{At: noon, Phase: "110", Component: "crds", To: "syncing", Reason: "line\x1b[2J\nbreak"})
	board := report.Board{Elapsed: time.Minute, Running: []report.BoardRow{{Component: "crds", Text: "applying", Left: 9 * time.Minute}}, Waiting: []report.BoardWait{{Count: 3, On: "crds"}}}
	display.Board(board) // something was said just now
	now = now.Add(heartbeat)
	display.Board(board)
	display.Close()
	at := noon.Local().Format("15:04:05")
	later := now.Local().Format("15:04:05")
	want := strings.Join([]string{
		"::group::starting a control plane",
		at + " starting a control plane",
		at + " 110  syncing     crds  line [2J break",
		later + " still at it after 1m00s: crds applying, times out in 9m00s; 3 wait on crds",
		"::endgroup::", "",
	}, "\n")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJSONLines(t *testing.T) {
	s, b := streams(nil, false)
	display := New(s, &flags.Global{Progress: "json"}, func() time.Time { return noon })
	for done := range 4 {
		display.Counted(done, 3, "rendering")
	}
	display.Change(report.Change{At: noon.Add(time.Second), Component: "crds", To: "healthy"})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), b.String())
	}
	var r record
	for i, done := range []int{0, 3} {
		r = record{}
		if err := json.Unmarshal([]byte(lines[i]), &r); err != nil {
			t.Fatal(err)
		}
		if r.Event != "count" || r.Done != done || r.Total != 3 {
			t.Errorf("got %+v, want %d of 3", r, done)
		}
	}
	if err := json.Unmarshal([]byte(lines[2]), &r); err != nil {
		t.Fatal(err)
	}
	if r.Event != "change" || r.Change.Component != "crds" || !time.Time(r.At).Equal(noon.Add(time.Second)) {
		t.Errorf("got %+v", r)
	}
}
