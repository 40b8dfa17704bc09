package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Coverage says how much of a platform was judged, over all environments of a run.
type Coverage struct {
	Applications ApplicationCount `json:"applications"`
	// Unread is everything that was not read or not rendered, once.
	Unread []UnreadPart `json:"unread"`
	// Templates are what another tool has to fill in before anybody can apply it. They are
	// not unread: there is nothing to read yet.
	Templates []UnreadPart `json:"templates"`
	// Assumptions are what is taken to be so that the repository does not say.
	Assumptions []Assumption `json:"assumptions"`
	// Noun is what is counted, for people; empty for Applications.
	Noun string `json:"-"`
	// Parents counts those among the Applications that apply nothing but others, for people: no
	// component stands for them.
	Parents int `json:"-"`
	// Besides counts what is unread of Flux beside Applications, for people.
	Besides int `json:"-"`
}

// ApplicationCount counts Applications, in a platform of descriptors its
// components. Of what was not read each part that may hold some counts as one,
// since nobody knows how many it holds.
type ApplicationCount struct {
	Found    int `json:"found"`
	Read     int `json:"read"`
	Rendered int `json:"rendered"`
}

// UnreadPart is something that was not read or not rendered. File is relative to
// the root of the platform; Line is 0 where it is not known.
type UnreadPart struct {
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Assumption is one thing that is assumed, and where it matters.
type Assumption struct {
	Text string `json:"text"`
	File string `json:"file"`
	Line int    `json:"line"`
}

// Whole reports whether there is something, and all of it was read and rendered.
func (c Coverage) Whole() bool {
	return c.Applications.Found > 0 && len(c.Unread) == 0 && c.Applications.Rendered == c.Applications.Found
}

// Sorted is the coverage with its lists in order, each entry once, and empty
// instead of nil.
func (c Coverage) Sorted() Coverage {
	c.Unread, c.Templates = sortedParts(c.Unread), sortedParts(c.Templates)
	c.Assumptions = append([]Assumption{}, c.Assumptions...)
	slices.SortFunc(c.Assumptions, func(a, b Assumption) int {
		return cmp.Or(position(a.File, a.Line).Compare(position(b.File, b.Line)), strings.Compare(a.Text, b.Text))
	})
	c.Assumptions = slices.Compact(c.Assumptions)
	return c
}

// sortedParts are parts in order, each once.
func sortedParts(all []UnreadPart) []UnreadPart {
	all = append([]UnreadPart{}, all...)
	slices.SortFunc(all, func(a, b UnreadPart) int {
		return cmp.Or(position(a.File, a.Line).Compare(position(b.File, b.Line)), strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason))
	})
	return slices.Compact(all)
}

func position(file string, line int) finding.Position {
	return finding.Position{File: file, Line: line}
}

// String says how much was judged in a few words.
func (c Coverage) String() string {
	text := c.judged()
	if n := len(c.Templates); n > 0 {
		text += fmt.Sprintf(", and %s of other tools left out", finding.Count(n, "template"))
	}
	switch c.Besides {
	case 0:
		return text
	case 1:
		return text + ", and 1 Kustomization or HelmRelease of Flux not read"
	default:
		return fmt.Sprintf("%s, and %d Kustomizations and HelmReleases of Flux not read", text, c.Besides)
	}
}

func (c Coverage) judged() string {
	a := c.Applications
	parts := a.Found - a.Read
	var why []string
	if parts > 0 {
		why = append(why, fmt.Sprintf("%d not read", parts))
	}
	if n := a.Read - a.Rendered; n > 0 {
		why = append(why, fmt.Sprintf("%d not rendered", n))
	}
	switch {
	case a.Found == 0:
		return "nothing judged"
	case a.Rendered == 0:
		return fmt.Sprintf("nothing judged of %s: %s", finding.Count(a.Found, cmp.Or(c.Noun, "Application")), strings.Join(why, ", "))
	case len(why) > 0:
		return fmt.Sprintf("%d of %d %ss judged: %s", a.Rendered, a.Found, cmp.Or(c.Noun, "Application"), strings.Join(why, ", "))
	}
	if parts := len(c.Sorted().Unread) - c.Besides; parts > 0 {
		return "all judged but for " + finding.Count(parts, "part")
	}
	return "all judged"
}
