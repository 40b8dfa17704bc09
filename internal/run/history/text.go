package history

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// mostComponents is how many components a comparison lists for people.
const mostComponents = 20

// List is what a history holds, as JSON.
type List struct {
	FormatVersion string    `json:"formatVersion"`
	Entries       []Summary `json:"entries"`
	Problems      []Problem `json:"problems"`
}

// Summary is one entry of a list.
type Summary struct {
	Run
	MakespanSeconds float64 `json:"makespanSeconds"`
	Where           string  `json:"where"`
}

// NewList summarises entries.
func NewList(entries []Entry, problems []Problem) List {
	l := List{FormatVersion: report.FormatVersion, Entries: []Summary{}, Problems: []Problem{}}
	for _, e := range entries {
		m := measure(e, 1)
		l.Entries = append(l.Entries, Summary{Run: m.run, MakespanSeconds: m.makespan, Where: e.Where})
	}
	l.Problems = append(l.Problems, problems...)
	return l
}

// ListText writes a list for people.
func ListText(w io.Writer, l List, markdown bool) error {
	if len(l.Entries) == 0 {
		_, err := io.WriteString(w, "The history is empty. Keep a report: ladder rehearse --report report.json && ladder history add report.json\n")
		return err
	}
	rows := [][]string{{"ID", "KIND", "ENGINE", "POLICY", "RESULT", "MAKESPAN", "COMPONENTS", "REVISION"}}
	for _, e := range l.Entries {
		rows = append(rows, []string{
			e.ID, e.Kind, e.Engine, e.Policy, e.result(), clock(e.MakespanSeconds), strconv.Itoa(e.Components), e.Revision[:min(len(e.Revision), 12)],
		})
	}
	return table(w, rows, markdown)
}

// result is the result with what it does not show.
func (r Run) result() string {
	return strings.Join(append([]string{r.Result}, r.Shortcomings...), "; ")
}

// CompareText writes a comparison for people, as Markdown or as plain text.
func CompareText(w io.Writer, c Comparison, markdown bool) error {
	var b strings.Builder
	title := fmt.Sprintf("%s %s → %s %s", c.From.Kind, c.From.ID, c.To.Kind, c.To.ID)
	if markdown {
		title = "## " + title
	}
	fmt.Fprintf(&b, "%s\n\n", title)
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "! %s\n", report.Plain(n))
	}
	if c.Scaled {
		fmt.Fprintf(&b, "! the two ran at different speeds (%g and %g): times are multiplied by them\n", c.From.Speed, c.To.Speed)
	}
	if len(c.Notes) > 0 || c.Scaled {
		b.WriteByte('\n')
	}
	rows := [][]string{
		{"", "BEFORE", "AFTER", "CHANGE"},
		{"result", c.From.result(), c.To.result(), ""},
		{"makespan", clock(c.Makespan.From), clock(c.Makespan.To), change(c.Makespan.From, c.Makespan.To)},
		{"nothing in flight", share(c.Idle.From), share(c.Idle.To), signed(c.Idle.Delta*100, "%.0f points")},
		{"mean in flight", fmt.Sprintf("%.1f", c.Parallel.From), fmt.Sprintf("%.1f", c.Parallel.To), signed(c.Parallel.Delta, "%.1f")},
		{"components", strconv.Itoa(c.From.Components), strconv.Itoa(c.To.Components), signed(float64(c.To.Components-c.From.Components), "%.0f")},
	}
	if err := table(&b, rows, markdown); err != nil {
		return err
	}
	failures(&b, c, markdown)
	heading(&b, "Phases", markdown)
	rows = [][]string{{"PHASE", "BEFORE", "AFTER", "CHANGE"}}
	for _, p := range c.Phases {
		rows = append(rows, []string{p.Phase, known(p.From), known(p.To), changed(p.From, p.To)})
	}
	if err := table(&b, rows, markdown); err != nil {
		return err
	}
	heading(&b, "Components, the greatest change first", markdown)
	rows = [][]string{{"COMPONENT", "PHASE", "BEFORE", "AFTER", "CHANGE", "QUEUE", "SYNC", "SETTLE"}}
	for _, d := range c.Components[:min(len(c.Components), mostComponents)] {
		rows = append(rows, []string{
			d.Name, d.Phase, known(d.From.Total), known(d.To.Total), changed(d.From.Total, d.To.Total),
			changed(d.From.Queue, d.To.Queue), changed(d.From.Sync, d.To.Sync), changed(d.From.Settle, d.To.Settle),
		})
	}
	if err := table(&b, rows, markdown); err != nil {
		return err
	}
	if n := len(c.Components) - mostComponents; n > 0 {
		fmt.Fprintf(&b, "\n… %d more (--format json has all)\n", n)
	}
	for _, l := range []struct {
		what  string
		names []string
	}{{"Only before", c.Removed}, {"Only after", c.Added}} {
		if len(l.names) > 0 {
			fmt.Fprintf(&b, "\n%s: %s\n", l.what, strings.Join(l.names, ", "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func failures(b *strings.Builder, c Comparison, markdown bool) {
	for _, l := range []struct {
		what  string
		glyph string
		all   []Failure
	}{{"New failures", "✕", c.Failures}, {"Healthy again", "✓", c.Mended}} {
		if len(l.all) == 0 {
			continue
		}
		heading(b, l.what, markdown)
		for _, f := range l.all {
			text := f.Name + " " + f.State
			if f.Message != "" {
				text += ": " + report.Plain(f.Message)
			}
			if markdown {
				fmt.Fprintf(b, "- %s %s\n", l.glyph, text)
			} else {
				fmt.Fprintf(b, "  %s %s\n", l.glyph, text)
			}
		}
	}
}

// DurationsText writes durations for people.
func DurationsText(w io.Writer, all []Duration, markdown bool) error {
	rows := [][]string{{"COMPONENT", "RUNS", "MEDIAN", "P90", "LEAST", "MOST"}}
	for _, d := range all {
		rows = append(rows, []string{d.Component, strconv.Itoa(d.Runs), report.Clock(d.Median), report.Clock(d.P90), report.Clock(d.Least), report.Clock(d.Most)})
	}
	return table(w, rows, markdown)
}

func heading(b *strings.Builder, text string, markdown bool) {
	if markdown {
		fmt.Fprintf(b, "\n### %s\n\n", text)
		return
	}
	fmt.Fprintf(b, "\n%s\n", text)
}

// table writes rows below a head, the first of them.
func table(w io.Writer, rows [][]string, markdown bool) error {
	var b strings.Builder
	if markdown {
		for i, row := range rows {
			for j, cell := range row {
				if i == 0 {
					cell = strings.ToLower(cell)
				}
				row[j] = strings.ReplaceAll(cell, "|", `\|`)
			}
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, line := range strings.SplitAfter(b.String(), "\n") {
		if line == "" {
			continue
		}
		if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

func clock(seconds float64) string {
	return report.Clock(time.Duration(seconds * float64(time.Second)))
}

func known(s *float64) string {
	if s == nil {
		return "-"
	}
	return clock(*s)
}

func changed(from, to *float64) string {
	if from == nil || to == nil {
		return "-"
	}
	return change(*from, *to)
}

// change prints a difference, and what part of the former it is; less than a
// twentieth of a second is none.
func change(from, to float64) string {
	difference, sign := to-from, "+"
	if difference < 0 {
		sign = "−"
	}
	if math.Abs(difference) < 0.05 {
		return "="
	}
	text := sign + clock(math.Abs(difference))
	switch {
	case from <= 0:
	case to >= 3*from:
		text += fmt.Sprintf(" (×%.1f)", to/from)
	default:
		text += fmt.Sprintf(" (%s%.0f%%)", sign, math.Abs(difference)/from*100)
	}
	return text
}

// signed prints a difference with its sign; "=" where it prints as none.
func signed(n float64, format string) string {
	text := fmt.Sprintf(format, math.Abs(n))
	switch {
	case text == fmt.Sprintf(format, 0.0):
		return "="
	case n < 0:
		return "−" + text
	default:
		return "+" + text
	}
}

func share(s float64) string { return fmt.Sprintf("%.0f%%", s*100) }
