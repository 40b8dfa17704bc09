package report

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func testBoard() Board {
	return Board{
		Steps: []BoardStep{
			{Label: "110", Name: "crds", Done: 4, Total: 4, Started: true, Elapsed: 2100 * time.Millisecond},
			{Label: "150", Name: "runtimes", Done: 3, Total: 6, Started: true, Elapsed: 62 * time.Second},
			{Label: "199", Name: "smokes", Total: 3},
		},
		Running: []BoardRow{{Component: "vault-core", Elapsed: 48 * time.Second, Left: 852 * time.Second, Text: "StatefulSet vault 0/1 ready" + strings.Repeat(" and more", 20)}},
		Waiting: []BoardWait{{Count: 49, On: "vault-core"}, {Count: 2, On: "approval of 300"}},
		Failed:  []BoardRow{{Component: "db", Blocks: 12, Text: "Job migrate failed"}},
		Elapsed: 64 * time.Second, Expected: 14 * time.Minute,
	}
}

func TestLiveBlock(t *testing.T) {
	lines := Style{}.Live(testBoard(), 80)
	got := strings.Join(lines, "\n")
	for _, want := range []string{
		"▶ 150   runtimes        3/6  1m02s",
		"  ▶ vault-core  48s, 14m12s left  StatefulSet vault 0/1 ready",
		"  … 51 wait: 49 on vault-core, 2 on approval of 300",
		"✕ db failed (blocks 12)  Job migrate failed",
		"elapsed 1m04s of about 14m00s",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the block lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "crds") || strings.Contains(got, "smokes") {
		t.Errorf("finished steps belong to the scrollback, later ones nowhere:\n%s", got)
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("colours without Style.Color:\n%q", got)
	}
}

// The columns behind labels hold, however long these are.
func TestLiveBlockOfLongLabels(t *testing.T) {
	b := Board{Steps: []BoardStep{
		{Label: "step 9", Name: "crds", Done: 1, Total: 4, Started: true},
		{Label: "tier step 10", Name: "runtimes", Done: 3, Total: 6, Started: true},
	}}
	got := Style{}.Live(b, 60)
	for i, want := range []string{
		"▶ step 9       crds            1/4  0.0s",
		"▶ tier step 10 runtimes        3/6  0.0s",
	} {
		if got[i] != want {
			t.Errorf("got %q, want %q", got[i], want)
		}
	}
}

func TestLiveBlockNeverExceedsItsFrame(t *testing.T) {
	b := testBoard()
	for range 40 {
		b.Running = append(b.Running, BoardRow{Component: "x", Text: "a\nb\x1b[2Jc"})
		b.Failed = append(b.Failed, BoardRow{Component: "y"})
		b.Steps = append(b.Steps, BoardStep{Label: "2", Started: true, Total: 1})
	}
	for _, style := range []Style{{}, {Color: true}} {
		lines := style.Live(b, 40)
		if len(lines) > maxLive {
			t.Errorf("%d rows, at most %d allowed", len(lines), maxLive)
		}
		for _, l := range lines {
			if strings.ContainsAny(l, "\n\r\t") || strings.Contains(l, "\x1b[2J") {
				t.Errorf("control character in %q", l)
			}
			if n := utf8.RuneCountInString(stripped(l)); n > 40 {
				t.Errorf("%d columns: %q", n, l)
			}
		}
	}
}

func stripped(s string) string {
	var b strings.Builder
	for s != "" {
		if s[0] == 0x1b {
			s = s[strings.IndexByte(s, 'm')+1:]
			continue
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}
