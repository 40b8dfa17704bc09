package progress

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// running is a rollout of which one component is in flight, one has failed, and
// a step waits for approval.
func running() *report.Board {
	return &report.Board{
		Steps: []report.BoardStep{
			{Label: "110", Name: "crds", Done: 4, Total: 4, Started: true, Elapsed: 2100 * time.Millisecond},
			{Label: "150", Name: "runtimes", Done: 3, Total: 6, Failed: 1, Started: true, Elapsed: 62 * time.Second},
		},
		Running: []report.BoardRow{{Component: "vault-core", Elapsed: 48 * time.Second, Left: 852 * time.Second, Text: "StatefulSet vault 0/1 ready"}},
		Waiting: []report.BoardWait{{Count: 5, On: "vault-core"}, {Count: 2, On: "step 300 waits for approval"}},
		Failed:  []report.BoardRow{{Component: "db", Blocks: 1, Text: "Job migrate failed"}},
		Elapsed: 64 * time.Second,
		Why: []report.BoardWhy{
			{On: "vault-core", State: "progressing", Text: "StatefulSet vault 0/1 ready", Age: 3 * time.Second, Components: []string{"store", "loki", "minio", "api", "web"}},
			{On: "step 300 waits for approval", Components: []string{"smoke-a", "smoke-b"}},
		},
		Approvals: []report.BoardApproval{{Step: 7, Label: "300", Count: 2}},
	}
}

const foot = "7/10 Healthy  elapsed 1m04s   [a]pprove 300   [e]xplain [f]ailures [p]ause [?]"

func TestBlockAndQuestions(t *testing.T) {
	body := `▶ 150   runtimes        3/6  1m02s
  ▶ vault-core  48s, 14m12s left  StatefulSet vault 0/1 ready
  … 7 wait: 5 on vault-core, 2 on step 300 waits for approval
✕ db failed (blocks 1)  Job migrate failed
`
	body = strings.Replace(body, "▶ 150 ", "✕ 150 ", 1) // a component of it has failed
	cases := map[string]struct {
		keys string
		kept bool
		want string
	}{
		"watching": {want: body + foot},
		"paused":   {keys: "p", want: body + "7/10 Healthy  elapsed 1m04s   [a]pprove 300   paused   [p] resume [e]xplain [f]ailures [?]"},
		"Ctrl-C on a kept plane": {keys: "\x03", kept: true, want: body + foot + `
Ctrl-C: nothing has been stopped. What now?
  [d]etach    the plane stays up, the state is saved; go on later with --resume
  [p]ause     start nothing more; 1 in flight go on
  [s]top      abort: cancel 1 in flight, never start 7; the report says aborted
  [c]ontinue  (Ctrl-C again detaches)`},
		"Ctrl-C on a plane that is not kept, in a pause": {keys: "p\x03", want: body + `7/10 Healthy  elapsed 1m04s   [a]pprove 300   paused   [p] resume [e]xplain [f]ailures [?]
Ctrl-C: nothing has been stopped. What now?
  [p]         resume: start again what may start
  [s]top      abort: cancel 1 in flight, never start 7; the report says aborted
  [c]ontinue
  The plane is not kept (--keep): Ctrl-C again ends it, and the rollout with it`},
		"asked to approve": {keys: "a", want: body + foot + "\nApprove step 300? 2 components may start then. [y]es [n]o"},
		"approved":         {keys: "ay", want: body + "7/10 Healthy  elapsed 1m04s   [e]xplain [f]ailures [p]ause [?]"},
		"stopping":         {keys: "\x03s", want: body + "7/10 Healthy  elapsed 1m04s   " + stopping},
		"detaching":        {keys: "\x03\x03", kept: true, want: body + "7/10 Healthy  elapsed 1m04s   detaching: saving the state"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &screen{keys: true, kept: tc.kept, stays: KeptPlane.stays(), board: running()}
			for _, key := range []byte(tc.keys) {
				s.press(key)
			}
			if diff := cmp.Diff(tc.want, strings.Join(s.rows(100, 0), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// On a narrow terminal the keys are there, without their words.
func TestKeysOfANarrowTerminal(t *testing.T) {
	board := running()
	board.Approvals = nil
	s := &screen{keys: true, board: board}
	rows := s.rows(60, 0)
	if got, want := rows[len(rows)-1], "7/10 Healthy  elapsed 1m04s   [e] [f] [p] [?]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeys(t *testing.T) {
	cases := map[string]struct {
		keys  string
		kept  bool
		none  bool // no rollout yet
		want  []Request
		lines string // of the last key
	}{
		"pause and resume":               {keys: "pp", want: []Request{{Event: rollout.Pause{}}, {Event: rollout.Resume{}}}, lines: "resumed"},
		"Ctrl-C alone asks":              {keys: "\x03"},
		"Ctrl-C, then go on":             {keys: "\x03c\x03\x1b"},
		"Ctrl-C twice leaves, once":      {keys: "\x03\x03\x03", kept: true, want: []Request{{Leave: true}}},
		"detach":                         {keys: "\x03d", kept: true, want: []Request{{Leave: true}}},
		"detach is not offered":          {keys: "\x03d"},
		"d alone does nothing":           {keys: "d", kept: true},
		"s alone does nothing":           {keys: "s"},
		"stop":                           {keys: "\x03s", want: []Request{{Event: rollout.Abort{}}}, lines: "stopping: 1 in flight are cancelled, 7 never start"},
		"nothing steers after a stop":    {keys: "\x03spyay", want: []Request{{Event: rollout.Abort{}}}},
		"a stop that hangs can be left":  {keys: "\x03s\x03", want: []Request{{Event: rollout.Abort{}}, {Leave: true}}},
		"approve":                        {keys: "ay", want: []Request{{Event: rollout.Approve{Step: 7}}}, lines: "approved step 300"},
		"approve asks first":             {keys: "an"},
		"approve once":                   {keys: "aya", want: []Request{{Event: rollout.Approve{Step: 7}}}},
		"y alone does nothing":           {keys: "y"},
		"Ctrl-C in a question asks anew": {keys: "a\x03y"},
		"Ctrl-C before the rollout":      {keys: "\x03", none: true, want: []Request{{Leave: true}}},
		"other keys before the rollout":  {keys: "pas", none: true},
		"keys that mean nothing":         {keys: "xyz\r\n\x00\xff"},
		"capitals are other keys":        {keys: "PAE"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &screen{keys: true, kept: tc.kept, stays: KeptPlane.stays(), stage: "reading ."}
			if !tc.none {
				s.board = running()
				s.see(report.Change{Component: "cron", To: "failed", Reason: "no\x1b[2J image"}) // newer than the board
				s.see(report.Change{Component: "mail", To: "failed"})
				s.see(report.Change{Component: "mail", To: "blocked"}) // retried since
			}
			var got []Request
			var lines []string
			for _, key := range []byte(tc.keys) {
				var r *Request
				if lines, r = s.press(key); r != nil {
					got = append(got, *r)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.lines, strings.Join(lines, "\n")); diff != "" && tc.lines != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// What a key explains stands in place of the board until the key is pressed again, and
// nothing of it gets into the scrollback.
func TestViews(t *testing.T) {
	cases := map[string]struct {
		keys string
		none bool   // no rollout yet
		want string // above the last row; empty for the board
	}{
		"explaining before the rollout":   {keys: "e", none: true, want: "the rollout has not started: reading ."},
		"failures before the rollout":     {keys: "f", none: true, want: "nothing has failed"},
		"nothing to approve":              {keys: "aya", want: "nothing waits for approval"},
		"failures, greatest blocks first": {keys: "f", want: "2 failed, those that block most first\n  ✕ db  blocks 1  Job migrate failed\n  ✕ cron  blocks 0  no [2J image"},
		"root causes first": {keys: "e", want: `after 1m04s: 7 wait, 1 in flight
  vault-core  progressing: StatefulSet vault 0/1 ready
              (seen 3.0s ago)  (times out in 14m12s)
    holds up 5: store, loki, minio, api and 1 more
  step 300 waits for approval
    holds up 2: smoke-a, smoke-b`},
		"another one": {keys: "?f", want: "2 failed, those that block most first\n  ✕ db  blocks 1  Job migrate failed\n  ✕ cron  blocks 0  no [2J image"},
		"help": {keys: "?", want: `e        explain: why what waits waits, root causes first
f        failures, ranked by how many components they block
p        pause: nothing more starts; again: resume
a        approve a step that is started by hand (maxUpdate
         0)
Ctrl-C   ask: go on, pause, stop
         Ctrl-C again ends the plane, which is not kept
           (--keep)`},
		"closed by the key":    {keys: "ee"},
		"closed by escape":     {keys: "?\x1b"},
		"closed by a question": {keys: "e\x03c"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &screen{keys: true, stage: "reading ."}
			if !tc.none {
				s.board = running()
				s.see(report.Change{Component: "cron", To: "failed", Reason: "no\x1b[2J image"})
			}
			board := s.rows(60, 24)
			for _, key := range []byte(tc.keys) {
				if lines, _ := s.press(key); lines != nil && !strings.HasPrefix(lines[0], "approved") {
					t.Errorf("in the scrollback: %q", lines)
				}
			}
			got := s.rows(60, 24)
			want := append(strings.Split(tc.want, "\n"), got[len(got)-1])
			if tc.want == "" {
				want = board
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// On 60 columns the question is whole.
func TestQuestionOfANarrowTerminal(t *testing.T) {
	s := &screen{keys: true, kept: true, stays: KeptPlane.stays(), board: running()}
	s.press(keyInterrupt)
	rows := s.rows(60, 24)
	want := `Ctrl-C: nothing has been stopped. What now?
  [d]etach    the plane stays up, the state is saved; go on
              later with --resume
  [p]ause     start nothing more; 1 in flight go on
  [s]top      abort: cancel 1 in flight, never start 7; the
              report says aborted
  [c]ontinue  (Ctrl-C again detaches)`
	if got := strings.Join(rows, "\n"); len(rows) > maxRows || !strings.HasSuffix(got, "\n"+want) {
		t.Errorf("%d rows:\n%s", len(rows), got)
	}
}

// A view that is longer than the terminal is high says how much is left out.
func TestViewKeepsToTheTerminal(t *testing.T) {
	s := &screen{keys: true, board: running()}
	for range 40 {
		s.board.Running = append(s.board.Running, report.BoardRow{Component: "x", Text: strings.Repeat("long ", 60)})
	}
	s.press('e')
	rows := s.rows(60, 24)
	if len(rows) != 23 || rows[21] != "… 34 more lines" {
		t.Errorf("%d rows:\n%s", len(rows), strings.Join(rows, "\n"))
	}
}

func TestWrapped(t *testing.T) {
	cases := map[string][]string{
		"":                         {""},
		"short":                    {"short"},
		"two words more":           {"two words", "  more"},
		"0123456789":               {"0123456789"},
		"0123456789 more":          {"0123456789", "  more"},
		"0123456789abcdef":         {"0123456789", "  abcdef"},
		"a   what it says":         {"a   what", "    it", "    says"},
		"abcdef  what":             {"abcdef", "  what"},
		"\x1b[32mcoloured\x1b[0m…": {"\x1b[32mcoloured\x1b[0m…"},
		"世界世界世界":                   {"世界世界世", "  界"},
	}
	for line, want := range cases {
		if diff := cmp.Diff(want, wrapped(line, 10)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// Whatever is asked, the block keeps to its frame and its last row.
func TestBlockNeverExceedsItsFrame(t *testing.T) {
	board := running()
	for range 40 {
		board.Running = append(board.Running, report.BoardRow{Component: "x", Text: strings.Repeat("long ", 60)})
		board.Failed = append(board.Failed, report.BoardRow{Component: "y"})
		board.Steps = append(board.Steps, report.BoardStep{Label: "2", Started: true, Total: 1})
	}
	for _, keys := range []string{"", "\x03", "a", "p\x03"} {
		s := &screen{keys: true, kept: true, stays: KeptPlane.stays(), board: board}
		for _, key := range []byte(keys) {
			s.press(key)
		}
		rows := s.rows(60, 0)
		if len(rows) > maxRows {
			t.Errorf("%q: %d rows", keys, len(rows))
		}
		if !strings.Contains(strings.Join(rows, "\n"), "elapsed 1m04s") {
			t.Errorf("%q: the last row is missing:\n%s", keys, strings.Join(rows, "\n"))
		}
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); n > 60 {
				t.Errorf("%q: %d columns: %s", keys, n, row)
			}
		}
	}
}

func TestFinishedStepsArePrintedOnce(t *testing.T) {
	s := &screen{board: running()}
	want := []string{"✓ 110   crds            4/4  2.1s"}
	if diff := cmp.Diff(want, s.finished()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if again := s.finished(); again != nil {
		t.Errorf("printed twice: %q", again)
	}
	s = &screen{board: running(), reported: true}
	if early := s.finished(); early != nil {
		t.Errorf("printed before the report that lists them: %q", early)
	}
}
