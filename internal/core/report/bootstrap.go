package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// The results of a bootstrap.
const (
	BootstrapSucceeded   = "succeeded"
	BootstrapPlanned     = "planned" // a dry run
	BootstrapFailed      = "failed"
	BootstrapTimedOut    = "timed-out"
	BootstrapUnreachable = "unreachable"
	BootstrapInterrupted = "interrupted"
)

// The states of a stage of a bootstrap.
const (
	StageDone        = "done"
	StageUnchanged   = "unchanged" // everything was there already
	StageSkipped     = "skipped"   // the configuration asks for nothing
	StagePlanned     = "planned"   // a dry run: it would change something
	StageFailed      = "failed"
	StageTimedOut    = "timed-out"
	StageInterrupted = "interrupted"
	StageNotReached  = "not-reached"
)

// What becomes of an object.
const (
	ObjectCreated   = "created"
	ObjectChanged   = "changed"
	ObjectUnchanged = "unchanged"
	// ObjectAdopted is left alone: Argo CD, or its owner, looks after it.
	ObjectAdopted = "adopted"
	// ObjectDeleted is a hook that had failed, or that asks for it.
	ObjectDeleted = "deleted"
)

// Bootstrap is the JSON document of ladder bootstrap; JSON writes it.
type Bootstrap struct {
	FormatVersion string `json:"formatVersion"`
	// Result is succeeded, planned, failed, timed-out, unreachable or interrupted.
	Result      string `json:"result"`
	Environment string `json:"environment"`
	Cluster     string `json:"cluster"`
	DryRun      bool   `json:"dryRun"`
	Started     Time   `json:"started"`
	Finished    Time   `json:"finished"`
	// Stages are in the order in which they run.
	Stages []BootstrapStage `json:"stages"`
	// Warnings are what people should know although nothing failed.
	Warnings []string `json:"warnings"`
	// AdminPassword is set only where it was asked for.
	AdminPassword string `json:"adminPassword,omitempty"`
}

// BootstrapStage is what became of one stage.
type BootstrapStage struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Started  Time    `json:"started"`
	Finished Time    `json:"finished"`
	Seconds  float64 `json:"seconds"`
	Message  string  `json:"message"`
	// Objects are those that the stage looked after, in the order of application.
	Objects []BootstrapObject `json:"objects"`
	// Waiting is what was not as it should be when the stage ended.
	Waiting []BootstrapWait `json:"waiting"`
}

// BootstrapObject is what became of one object; in a dry run, what would.
type BootstrapObject struct {
	Object string `json:"object"`
	Action string `json:"action"`
	// By says who has adopted it.
	By string `json:"by,omitempty"`
}

// BootstrapWait is one thing that is not green, and why.
type BootstrapWait struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	// Declared is where it is declared, "file:line"; empty where that is not known.
	Declared string `json:"declared,omitempty"`
}

// NewBootstrapStage is a stage that has not begun.
func NewBootstrapStage(name string) BootstrapStage {
	return BootstrapStage{Name: name, State: StageNotReached, Objects: []BootstrapObject{}, Waiting: []BootstrapWait{}}
}

// BootstrapText writes the document for people.
func BootstrapText(w io.Writer, b Bootstrap, style Style) error {
	var out strings.Builder
	var rows [][]string
	for _, s := range b.Stages {
		seconds := ""
		if s.State != StageNotReached && s.State != StageSkipped && s.State != StagePlanned {
			seconds = Clock(time.Duration(s.Seconds * float64(time.Second)))
		}
		text := Plain(s.Message)
		if tally := s.tally(); tally != "" {
			text = strings.TrimSuffix(tally+"; "+text, "; ")
		}
		rows = append(rows, []string{s.Name, s.State, seconds, text})
	}
	Table(&out, rows)
	for _, s := range b.Stages {
		s.details(&out, b.DryRun, style)
	}
	for _, warning := range b.Warnings {
		out.WriteString("\n" + style.paint(yellow, "! "+Plain(warning)) + "\n")
	}
	out.WriteString("\n" + b.verdict() + "\n")
	if b.AdminPassword != "" {
		fmt.Fprintf(&out, "password of admin: %s\n", b.AdminPassword)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// details are the objects of a dry run, and what is not green.
func (s BootstrapStage) details(out *strings.Builder, dryRun bool, style Style) {
	var lines []string
	for _, o := range s.Objects {
		if dryRun && o.Action != ObjectUnchanged {
			line := fmt.Sprintf("  %-9s %s", o.Action, Plain(o.Object))
			if o.By != "" {
				line += " by " + Plain(o.By)
			}
			lines = append(lines, line)
		}
	}
	for _, w := range s.Waiting {
		lines = append(lines, "  "+style.paint(red, Plain(w.What))+": "+Plain(w.Reason))
		if w.Declared != "" {
			lines = append(lines, "    declared at "+w.Declared)
		}
	}
	if len(lines) > 0 {
		out.WriteString("\n" + s.Name + ":\n" + strings.Join(lines, "\n") + "\n")
	}
}

// tally counts what became of the objects.
func (s BootstrapStage) tally() string {
	var parts []string
	for _, action := range []string{ObjectCreated, ObjectChanged, ObjectDeleted, ObjectAdopted, ObjectUnchanged} {
		n := 0
		for _, o := range s.Objects {
			if o.Action == action {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return strings.Join(parts, ", ")
}

func (b Bootstrap) verdict() string {
	where := b.Cluster
	if b.Environment != "" {
		where = b.Environment + " on " + b.Cluster
	}
	took := Clock(time.Time(b.Finished).Sub(time.Time(b.Started)))
	switch b.Result {
	case BootstrapSucceeded:
		return fmt.Sprintf("%s is up after %s", where, took)
	case BootstrapPlanned:
		return fmt.Sprintf("%s: nothing was changed (dry run)", where)
	case BootstrapTimedOut:
		return fmt.Sprintf("%s is not up: the time was over after %s; run it again to go on", where, took)
	case BootstrapInterrupted:
		return fmt.Sprintf("%s is not up: interrupted after %s; run it again to go on", where, took)
	case BootstrapUnreachable:
		return fmt.Sprintf("%s does not answer", where)
	default:
		return fmt.Sprintf("%s is not up: failed after %s", where, took)
	}
}
