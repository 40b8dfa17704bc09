package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// RolloutText writes the report of a rollout for people.
func RolloutText(w io.Writer, r Rollout, style Style) error {
	var b strings.Builder
	s := summarise(r)
	writeUnrendered(&b, r.Unrendered, nil, false)
	writeAgainst(&b, r.Against)
	writeErrors(&b, r.Errors)
	writeUntested(&b, r.Untested)
	for _, p := range s.phases {
		b.WriteString(style.phaseLine(p, s.labels()) + "\n")
	}
	b.WriteByte('\n')
	glyph, colour := verdict(r, s)
	b.WriteString(style.paint(colour, fmt.Sprintf("%s %s: %d of %d components Healthy", glyph, r.Result, s.healthy, s.planned)))
	b.WriteString(removals(s) + notRendered(r, s))
	if r.MakespanSeconds > 0 {
		fmt.Fprintf(&b, " after %s", Clock(seconds(r.MakespanSeconds)))
	}
	b.WriteString(shortcomings(r) + "\n")
	b.WriteString(style.paint(faint, style.fold("  ", facts(r, s))) + "\n")
	for _, a := range r.Approvals {
		b.WriteString("  " + Plain(a.String()) + "\n")
	}
	writeTrouble(&b, r, style)
	text := b.String()
	if style.Width > 0 {
		text = Fold(text, style.Width)
	}
	_, err := io.WriteString(w, text+style.keptPlane(r.Kubeconfig))
	return err
}

// keptPlane says how to look at a plane that stays up. The command stays in one line, for
// people to copy.
func (s Style) keptPlane(kubeconfig string) string {
	if kubeconfig == "" {
		return ""
	}
	command := "export KUBECONFIG=" + kubeconfig
	if line := "The plane stays up: " + command; s.Width == 0 || columns(line) <= s.Width {
		return "\n" + line + "\n"
	}
	return "\nThe plane stays up:\n  " + command + "\n"
}

// String says who let the step start.
func (a Approval) String() string {
	text := fmt.Sprintf("step %s approved by %s at %s", a.Step, cmp.Or(a.By, "somebody"), time.Time(a.At).UTC().Format(time.RFC3339))
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return text
}

// removals says how many components were removed, where any had to be.
func removals(s summary) string {
	switch {
	case s.toRemove == 0:
		return ""
	case s.removed == s.toRemove:
		return fmt.Sprintf(", %d removed", s.removed)
	default:
		return fmt.Sprintf(", %d of %d removed", s.removed, s.toRemove)
	}
}

// notRendered says of how many components something was not rendered, as the head of the
// report does: whether they started or not.
func notRendered(r Rollout, s summary) string {
	if s.unrendered() == 0 {
		return ""
	}
	text := fmt.Sprintf(", %d not rendered", s.unrendered())
	if r.Result == string(rollout.ResultFailed) && s.failed.all+s.blocked.all == 0 {
		return text + " (only --allow-unrendered lets that pass)"
	}
	var instead []string
	for _, count := range []struct {
		n    int
		text string
	}{{s.failed.unrendered, "failed"}, {s.blocked.unrendered, "blocked"}, {s.inFlight.unrendered, "in flight"}, {s.skipped.unrendered, "skipped"}} {
		if count.n > 0 {
			instead = append(instead, fmt.Sprintf("%d %s", count.n, count.text))
		}
	}
	if len(instead) > 0 {
		text += " (of these " + strings.Join(instead, ", ") + ")"
	}
	return text
}

// pace says which of the times are simulated.
func (r Rollout) pace() string {
	switch {
	case r.RealSeconds > 0:
		return "times are simulated (" + Clock(seconds(r.RealSeconds)) + " of real time)"
	case r.Speed == 1 || !(r.Speed > 0): // not told
		return "speed 1"
	default:
		return fmt.Sprintf("times are real, with simulated delays divided by %g", r.Speed)
	}
}

// facts are the figures below the verdict.
func facts(r Rollout, s summary) string {
	parts := []string{"environment " + r.Environment, "policy " + r.Policy, r.pace(), fmt.Sprintf("seed %d", r.Seed)}
	if r.ExpectedSeconds > 0 {
		expected := "the plan expected " + Clock(seconds(r.ExpectedSeconds))
		if r.Speed > 0 && r.Speed != 1 {
			expected += " at speed 1"
		}
		parts = append(parts, expected)
	}
	if r.PlaneReadySeconds > 0 {
		parts = append(parts, "plane ready after "+Clock(seconds(r.PlaneReadySeconds)))
	}
	if s.skipped.all > 0 {
		parts = append(parts, fmt.Sprintf("%d skipped", s.skipped.all))
	}
	return strings.Join(append(parts, "revision "+r.Revision), ", ")
}

// writeTrouble says what failed, and what waits for it: the cause once, not
// once for every component behind it.
func writeTrouble(b *strings.Builder, r Rollout, style Style) {
	waiting := map[waited][]string{}
	cause := causes(r)
	for _, c := range r.Components {
		switch rollout.Status(c.State) {
		case rollout.Done, rollout.Skipped, rollout.Removed, StateUnrendered:
		case rollout.Blocked:
			on := cause(c)
			waiting[on] = append(waiting[on], c.Name)
		default:
			glyph, colour := "✕", red
			if r.left(c) {
				glyph, colour = "▶", cyan
			}
			fmt.Fprintf(b, "\n%s\n", style.paint(colour, glyph+" "+strings.Join(slices.DeleteFunc([]string{c.Name, bracketed(standing(c)), c.State}, func(s string) bool { return s == "" }), " ")))
			if c.Object != "" {
				fmt.Fprintf(b, "    object: %s\n", Plain(c.Object))
			}
			if c.Message != "" {
				fmt.Fprintf(b, "%s\n", style.fold("    reason: ", Plain(c.Message)))
			}
			fmt.Fprintf(b, "    attempts: %d\n", c.Attempts)
			for _, blocker := range c.BlockedBy {
				fmt.Fprintf(b, "%s\n", style.fold("    waits: ", Plain(blocker.Reason)))
			}
		}
	}
	ons := make([]waited, 0, len(waiting))
	for on := range waiting {
		ons = append(ons, on)
	}
	slices.SortFunc(ons, func(x, y waited) int {
		return cmp.Or(cmp.Compare(len(waiting[y]), len(waiting[x])), cmp.Compare(x.component, y.component), cmp.Compare(x.phrase, y.phrase))
	})
	for _, on := range ons {
		fmt.Fprintf(b, "\n%s\n", style.paint(yellow, "… "+waits(len(waiting[on]))+on.String()+":"))
		narrow := style
		if narrow.Width = 100; style.Width > 0 {
			narrow.Width = min(style.Width, 100)
		}
		b.WriteString(narrow.fold("    ", strings.Join(waiting[on], ", ")) + "\n")
	}
}

// standing is the phase of a component; one that is removed may have none.
func standing(c RolloutComponent) string {
	if c.Removal {
		return "removal"
	}
	return c.Phase
}

// waited is what components wait for: a component, or a sentence where it is none.
type waited struct{ component, phrase string }

// String is the end of a sentence about what waits.
func (w waited) String() string {
	if w.component != "" {
		return " on " + Plain(w.component)
	}
	return ", as " + Plain(w.phrase)
}

// causes finds what a blocked component waits for in the end: the first thing
// in its chain that is not blocked itself.
func causes(r Rollout) func(RolloutComponent) waited {
	blocked := map[string]RolloutComponent{}
	for _, c := range r.Components {
		if c.State == string(rollout.Blocked) {
			blocked[c.Name] = c
		}
	}
	return func(c RolloutComponent) waited {
		for range len(blocked) + 1 { // a chain is no longer; cycles end
			if len(c.BlockedBy) == 0 {
				return waited{phrase: "nothing is known of why"}
			}
			first := c.BlockedBy[0]
			next, ok := blocked[first.Component]
			if first.Component == "" {
				return waited{phrase: first.Reason}
			}
			if !ok {
				return waited{component: first.Component}
			}
			c = next
		}
		return waited{component: c.Name}
	}
}

// writeAgainst says at the top which requirements the ladder does not keep.
func writeAgainst(b *strings.Builder, against []PlanEdge) {
	for _, e := range against {
		fmt.Fprintf(b, "! %s comes before %s in the ladder, yet it %s\n", e.From, e.To, e.needs())
		for _, v := range e.Evidence {
			fmt.Fprintf(b, "    %s  %s\n", finding.Position{File: v.File, Line: v.Line}, v.Text)
		}
	}
	if len(against) > 0 {
		b.WriteByte('\n')
	}
}

// verdict is the mark of a rollout: a tick only where everything was judged and the
// order kept what was required of it.
func verdict(r Rollout, s summary) (glyph, colour string) {
	switch {
	case r.Result == ResultInterrupted:
		return "▶", cyan
	case r.Result != string(rollout.Succeeded):
		return "✕", red
	case s.unrendered() > 0 || shortcomings(r) != "":
		return "!", yellow
	default:
		return "✓", green
	}
}

// needs is the reason of an edge as the end of a sentence about who requires.
func (e PlanEdge) needs() string {
	reason := strings.TrimSpace(e.Reason)
	if reason == "requires" || reason == "validates" {
		return reason + " it"
	}
	return reason
}

func (e PlanEdge) hard() bool { return e.Strength == string(plan.Hard) }

func waits(n int) string {
	if n == 1 {
		return "1 component waits"
	}
	return fmt.Sprintf("%d components wait", n)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// RolloutMarkdown writes the report of a rollout as Markdown.
func RolloutMarkdown(w io.Writer, r Rollout) error {
	var b strings.Builder
	s := summarise(r)
	glyph, _ := verdict(r, s)
	fmt.Fprintf(&b, "## %s Rollout of %s %s\n\n", glyph, escape(r.Environment), r.Result)
	fmt.Fprintf(&b, "%d of %d components Healthy%s after %s%s.\n\n", s.healthy, s.planned, removals(s)+notRendered(r, s), Clock(seconds(r.MakespanSeconds)), shortcomings(r))
	fmt.Fprintf(&b, "%s.\n\n", facts(r, s))
	for _, e := range r.Against {
		fmt.Fprintf(&b, "- `%s` comes before `%s` in the ladder, yet it %s\n", escape(e.From), escape(e.To), escape(e.needs()))
	}
	if len(r.Against) > 0 {
		b.WriteByte('\n')
	}
	for _, f := range r.Errors {
		fmt.Fprintf(&b, "- %s (%s)\n", escape(f.Message), escape(f.Position.String()))
	}
	if len(r.Errors) > 0 {
		b.WriteByte('\n')
	}
	for _, f := range r.Untested {
		fmt.Fprintf(&b, "- %s (%s)\n", escape(f.Message), escape(f.Position.String()))
	}
	if len(r.Untested) > 0 {
		fmt.Fprintf(&b, "\n%s.\n\n", escape(wayOutOfUntested))
	}
	if len(r.Unrendered) > 0 {
		fmt.Fprintf(&b, "**%s not rendered:**\n\n", finding.Count(NotWhole(r.Unrendered), "component"))
		for _, u := range r.Unrendered {
			fmt.Fprintf(&b, "- `%s` (%s:%d): %s\n", escape(u.Component), escape(u.File), u.Line, escape(u.Reason))
		}
		b.WriteByte('\n')
	}
	for _, a := range r.Approvals {
		fmt.Fprintf(&b, "- %s\n", escape(a.String()))
	}
	if len(r.Approvals) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("| phase | Healthy | time | slowest |\n| --- | ---: | ---: | --- |\n")
	for _, p := range s.phases {
		slowest := ""
		if p.slowest != "" {
			slowest = fmt.Sprintf("`%s` %s", escape(p.slowest), Clock(p.slowestLength))
		}
		fmt.Fprintf(&b, "| %s | %d/%d | %s | %s |\n", escape(p.label), p.done, p.total, p.took(), slowest)
	}
	if s.failed.all+s.blocked.all+s.inFlight.all > 0 {
		b.WriteString("\n| component | phase | state | why |\n| --- | --- | --- | --- |\n")
		for _, c := range r.Components {
			if state := rollout.Status(c.State); state == rollout.Done || state == rollout.Skipped || state == rollout.Removed || state == StateUnrendered {
				continue
			}
			why := c.Message
			if why == "" && len(c.BlockedBy) > 0 {
				why = c.BlockedBy[0].Reason
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", escape(c.Name), escape(standing(c)), c.State, escape(why))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
