package diff

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

var phases = []model.Phase{110, 120, 150, 210, 250, 310}

// draw makes a random platform.
func draw(t *rapid.T, name string) Side {
	s := Side{Name: name, Environment: "dev", Objects: map[string][]manifest.Object{}}
	ladder := plan.Ladder{Layout: plan.Single}
	for i, phase := range phases {
		ladder.Steps = append(ladder.Steps, plan.LadderStep{Phases: []model.Phase{phase}, MaxUpdate: plan.MaxUpdate{Count: 1 + rapid.IntRange(0, 1).Draw(t, fmt.Sprint("max", i)), Set: true}})
	}
	var names []string
	for i := range 7 {
		if !rapid.Bool().Draw(t, "there") {
			continue
		}
		c := model.Component{
			Name: fmt.Sprintf("c%d", i), Enabled: rapid.IntRange(0, 5).Draw(t, "enabled") > 0, Phase: rapid.SampledFrom(phases).Draw(t, "phase"),
			Type: rapid.SampledFrom([]model.Type{model.Runtime, model.Config}).Draw(t, "type"), Namespace: "apps",
			Requires: []model.Requirement{{Text: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "requires")}},
			Position: finding.Position{File: rapid.SampledFrom([]string{"x.yaml", fmt.Sprintf("c%d.yaml", i), fmt.Sprintf("d%d.yaml", i%3)}).Draw(t, "file"), Line: 1},
		}
		s.Components = append(s.Components, c)
		names = append(names, c.Name)
		if rapid.IntRange(0, 9).Draw(t, "unrendered") == 0 {
			s.Unrendered = append(s.Unrendered, report.Unrendered{Component: c.Name, Reason: "no chart"})
			continue
		}
		for range rapid.IntRange(0, 3).Draw(t, "objects") {
			s.Objects[c.Name] = append(s.Objects[c.Name], drawObject(t))
		}
	}
	var edges []plan.Edge
	for range rapid.IntRange(0, 10).Draw(t, "edges") {
		if len(names) < 2 {
			break
		}
		edges = append(edges, plan.Edge{
			From: rapid.SampledFrom(names).Draw(t, "from"), To: rapid.SampledFrom(names).Draw(t, "to"),
			Strength: rapid.SampledFrom([]plan.Strength{plan.Hard, plan.Soft}).Draw(t, "strength"),
			Reason:   rapid.SampledFrom([]string{"reads", "calls"}).Draw(t, "reason"),
		})
	}
	edges = slices.DeleteFunc(edges, func(e plan.Edge) bool { return e.From == e.To })
	var err error
	s.Plan, err = plan.Build(plan.Input{Environment: "dev", Components: s.Components, Ladder: ladder, Edges: edges, Policy: rollout.Phases})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawObject(t *rapid.T) manifest.Object {
	values := map[string]any{}
	for _, key := range []string{"a", "b", "text"} {
		if rapid.Bool().Draw(t, "key") {
			values[key] = rapid.SampledFrom([]any{"1", "2", "x\ny\n", int64(3), []any{"p", "q"}, []any{"q", "p"}, []any{"p"}, map[string]any{"k": "v"}}).Draw(t, "value")
		}
	}
	kind := rapid.SampledFrom([]string{"ConfigMap", "Secret"}).Draw(t, "kind")
	return manifest.Object{
		Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": rapid.SampledFrom([]string{"m", "n"}).Draw(t, "name")}, "data": values,
		}},
		Origin: manifest.Origin{File: "f.yaml", Line: rapid.IntRange(1, 3).Draw(t, "line")}, Target: "apps",
	}
}

// reversed is a comparison with both sides exchanged.
func reversed(c Comparison) Comparison {
	flip := func(fields []Field) []Field {
		out := slices.Clone(fields)
		for i, f := range out {
			out[i].From, out[i].To = f.To, f.From
			out[i].Op = map[string]string{Added: Removed, Removed: Added, Changed: Changed}[f.Op]
		}
		// Of one place what is removed is told before what is added.
		slices.SortStableFunc(out, func(a, b Field) int {
			if a.Path != b.Path {
				return 0
			}
			return -cmpOp(a.Op, b.Op)
		})
		return out
	}
	out := c
	out.From, out.To = c.To, c.From
	n := c.Components
	out.Components = ComponentChange{Added: n.Removed, Removed: n.Added, Renamed: []Renamed{}, Moved: []Moved{}, Changed: []Reworked{}}
	for _, r := range n.Renamed {
		out.Components.Renamed = append(out.Components.Renamed, Renamed{From: r.To, To: r.From, By: r.By})
	}
	slices.SortFunc(out.Components.Renamed, func(a, b Renamed) int { return compareText(a.From, b.From) })
	for _, m := range n.Moved {
		out.Components.Moved = append(out.Components.Moved, Moved{Name: m.Name, From: m.To, To: m.From})
	}
	for _, r := range n.Changed {
		out.Components.Changed = append(out.Components.Changed, Reworked{Name: r.Name, File: "", Fields: flip(r.Fields)})
	}
	out.Steps = StepChange{Added: c.Steps.Removed, Removed: c.Steps.Added, Changed: []Step{}}
	for _, s := range c.Steps.Changed {
		out.Steps.Changed = append(out.Steps.Changed, Step{s.Label, flip(s.Fields)})
	}
	out.Order = []Reordered{}
	for _, r := range c.Order {
		turned := Reordered{Component: r.Component}
		for _, rel := range r.Relations {
			turned.Relations = append(turned.Relations, Relation{rel.Other, rel.To, rel.From})
		}
		out.Order = append(out.Order, turned)
	}
	out.Edges = EdgeChange{Added: c.Edges.Removed, Removed: c.Edges.Added, Changed: []EdgeReworked{}}
	for _, e := range c.Edges.Changed {
		out.Edges.Changed = append(out.Edges.Changed, EdgeReworked{e.From, e.To, e.After, e.Before})
	}
	out.Objects = ObjectChange{Added: c.Objects.Removed, Removed: c.Objects.Added, Changed: []ObjectReworked{}}
	for _, o := range c.Objects.Changed {
		out.Objects.Changed = append(out.Objects.Changed, ObjectReworked{o.Resource, o.To, o.From, flip(o.Fields)})
	}
	slices.SortFunc(out.Objects.Changed, compareReworked)
	out.Cycles = ListChange[[]string]{Added: c.Cycles.Removed, Removed: c.Cycles.Added}
	out.Unplaced = ListChange[string]{Added: c.Unplaced.Removed, Removed: c.Unplaced.Added}
	turn := func(s Seconds) Seconds { return Seconds{s.To, s.From, minus(s.Delta)} }
	out.Time = TimeChange{
		Makespan: turn(c.Time.Makespan), Bound: turn(c.Time.Bound),
		CriticalPath: CriticalPaths{From: c.Time.CriticalPath.To, To: c.Time.CriticalPath.From, Delta: minus(c.Time.CriticalPath.Delta)},
	}
	out.BlastRadius = []RadiusChange{}
	for _, r := range c.BlastRadius {
		out.BlastRadius = append(out.BlastRadius, RadiusChange{r.Component, r.To, r.From, r.Removed, r.Added})
	}
	return out
}

func cmpOp(a, b string) int {
	rank := map[string]int{Added: 0, Changed: 1, Removed: 2}
	return rank[a] - rank[b]
}

func minus(s float64) float64 {
	if s == 0 {
		return 0
	}
	return -s
}

// TestComparisonsAreSymmetric: the other way round a comparison is the same with
// both sides exchanged; with itself a platform does not differ; and the same
// platforms give the same bytes.
func TestComparisonsAreSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		there, back := Compare(a, b), Compare(b, a)
		for i := range back.Components.Changed {
			back.Components.Changed[i].File = "" // that of the second side
		}
		if diff := cmp.Diff(reversed(there), back); diff != "" {
			t.Fatalf("the other way round (-reversed +compared):\n%s", diff)
		}
		if same := Compare(a, a); same.Differs || len(same.Order) > 0 {
			t.Fatalf("differs from itself: %+v", same)
		}
		var one, two bytes.Buffer
		for _, w := range []*bytes.Buffer{&one, &two} {
			if err := report.JSON(w, NewDocument([]Comparison{Compare(a, b)})); err != nil {
				t.Fatal(err)
			}
			if err := Text(w, NewDocument([]Comparison{there})); err != nil {
				t.Fatal(err)
			}
		}
		if one.String() != two.String() {
			t.Fatal("two comparisons of the same differ")
		}
	})
}
