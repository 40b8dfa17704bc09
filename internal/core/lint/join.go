package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// named bounds how many further objects the evidence of a joined finding names.
const named = 3

// cause is what findings of one root cause have in common: one component that
// needs one thing of one provider, however many of its objects need it.
type cause struct {
	rule                             string
	scope                            finding.Scope
	environment, component, provider string
	resource                         finding.Resource
	// message and position tell findings about one object or file apart.
	message  string
	position finding.Position
}

func causeOf(f finding.Finding) cause {
	c := cause{
		rule: f.Rule, scope: f.Scope, environment: f.Environment,
		component: f.Component, provider: f.Provider, resource: f.Resource,
	}
	if f.Scope == finding.Rule || f.Resource == (finding.Resource{}) {
		c.message, c.position = f.Message, f.Position
	}
	return c
}

// join makes one finding of those with one root cause: the one that stands first
// in its file speaks, at the gravest severity, and its evidence says how many
// more there are.
func join(found []finding.Finding) []finding.Finding {
	slices.SortStableFunc(found, func(a, b finding.Finding) int {
		return cmp.Or(a.Position.Compare(b.Position), strings.Compare(a.Message, b.Message), finding.CompareSubject(a, b))
	})
	first := make(map[cause]int, len(found))
	more := map[int][]finding.Finding{}
	joined := make([]finding.Finding, 0, len(found))
	for _, f := range found {
		c := causeOf(f)
		i, seen := first[c]
		if !seen {
			first[c] = len(joined)
			joined = append(joined, f)
			continue
		}
		if f.Severity.Rank() < joined[i].Severity.Rank() {
			joined[i].Severity = f.Severity
		}
		if f.Message != joined[i].Message || f.Position != joined[i].Position {
			more[i] = append(more[i], f)
		}
	}
	for i, others := range more {
		joined[i].Evidence = append(slices.Clone(joined[i].Evidence), furtherObjects(others))
	}
	return joined
}

// furtherObjects says how many more objects have the same problem.
func furtherObjects(others []finding.Finding) finding.Evidence {
	places := make([]finding.Position, len(others))
	for i, f := range others {
		places[i] = f.Position
	}
	return furtherPlaces(places)
}

// furtherEnds does so for ends of dependencies.
func furtherEnds(others []dependency.End) finding.Evidence {
	places := make([]finding.Position, len(others))
	for i, e := range others {
		places[i] = e.Position
	}
	return furtherPlaces(places)
}

// furtherPlaces does so for the places of the objects. The evidence has the first of them.
func furtherPlaces(places []finding.Position) finding.Evidence {
	e := finding.Evidence{Text: "and 1 more object", File: places[0].File, Line: places[0].Line}
	if len(places) == 1 {
		return e
	}
	e.Text = fmt.Sprintf("and %d more objects", len(places))
	var more []string
	for _, at := range places[1:] { // a list has several at one place
		if text := at.String(); at != places[0] && !slices.Contains(more, text) {
			more = append(more, text)
		}
	}
	if len(more) > 0 {
		e.Text += ", here and at " + strings.Join(more[:min(len(more), named-1)], ", ")
	}
	if len(more) > named-1 {
		e.Text += ", ..."
	}
	return e
}
