package argocd

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// owners are the sets to which the controller gives the Applications that they make of files,
// by name. applied, which is asked only where several make one, says by file which set the
// parents apply first.
func (r *Repository) owners(ctx context.Context, files map[string]int, applied func(context.Context) (map[string]string, error)) (map[string]document, error) {
	owners := map[string]document{}
	var first map[string]string
	for _, set := range r.sets {
		for _, app := range r.expand(ctx, set) {
			file := app.generated.element.File
			if _, ok := files[file]; !ok {
				continue
			}
			owner, taken := owners[app.name()]
			if taken && owner.position() != set.position() {
				if first == nil {
					var err error
					if first, err = applied(ctx); err != nil {
						return nil, err
					}
				}
				if first[file] != set.name() || owner.name() == set.name() {
					continue
				}
			}
			owners[app.name()] = set
		}
	}
	return owners, nil
}

// overlap is what two sets make alike, of which the controller gives the first what it makes.
type overlap struct {
	first, second document
	names         []string
}

// overlaps are those of several pairs of sets.
type overlaps []overlap

func (o *overlaps) add(first, second document, name string) {
	i := slices.IndexFunc(*o, func(p overlap) bool {
		return p.first.position() == first.position() && p.second.position() == second.position()
	})
	if i < 0 {
		i, *o = len(*o), append(*o, overlap{first: first, second: second})
	}
	(*o)[i].names = append((*o)[i].names, name)
}

// sameBySets reports whether two sets make one Application of the same folders, or of charts
// with the same values.
func sameBySets(a, b document) bool {
	if a.generated == nil || b.generated == nil || a.generated.set.position() == b.generated.set.position() || destination(a) != destination(b) {
		return false
	}
	for _, keys := range [][]string{{"metadata", "namespace"}, {"spec", "destination", "namespace"}} {
		if a.value.TextAt(keys...) != b.value.TextAt(keys...) {
			return false
		}
	}
	return slices.EqualFunc(a.sources(), b.sources(), func(s, o source) bool {
		if s.value.At("helm") != nil || o.value.At("helm") != nil || s.path() == "" {
			return reflect.DeepEqual(s.value.Any(), o.value.Any())
		}
		return s.repoURL() == o.repoURL() && s.path() == o.path()
	})
}

// leave takes from the second set of each pair what the controller gives to the first: left
// are the places of these Applications in the setup.
func (w *walk) leave(o overlaps, left map[int]bool) {
	var kept []argo.Application
	for i, app := range w.setup.Applications {
		if !left[i] {
			kept = append(kept, app)
		}
	}
	w.setup.Applications = kept
	for _, p := range o {
		for i := range w.setup.ApplicationSets {
			if set := &w.setup.ApplicationSets[i]; set.Position == p.second.position() {
				set.Applications = slices.DeleteFunc(set.Applications, func(name string) bool { return slices.Contains(p.names, name) })
			}
		}
	}
}

// findings tell of each pair.
func (o overlaps) findings() []finding.Finding {
	var found []finding.Finding
	for _, p := range o {
		found = append(found, madeTwice(p.first, p.second, p.names))
	}
	return found
}

// madeTwice tells of two ApplicationSets that make the same Applications.
func madeTwice(first, second document, applications []string) finding.Finding {
	what := applications[0]
	if more := len(applications) - 1; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	f := newFinding(RuleShared, finding.Warning, second.position(), "", "ApplicationSets %s and %s both make the Application %s: the controller gives it to the one that comes first, and fails for the other",
		first.name(), second.name(), what)
	at := first.position()
	f.Evidence = []finding.Evidence{{Text: "ApplicationSet " + first.name(), File: at.File, Line: at.Line}}
	f.Fix.Summary = "leave each descriptor to the generators of one set"
	return f
}
