package model

import (
	"testing"

	"pgregory.net/rapid"
)

func TestCompare(t *testing.T) {
	phase := func(p Phase) Component { return Component{Phase: p} }
	waves := func(w ...int) Component { return Component{Phase: NoPhase, Waves: w} }
	set := func(name string, step int, p Phase, w ...int) Component {
		return Component{Phase: p, Set: name, Step: step, Waves: w}
	}
	under := func(parents []string, w ...int) Component {
		return Component{Phase: NoPhase, Waves: w, Parents: parents}
	}
	pre := Component{Phase: NoPhase, PreArgo: true}
	for name, test := range map[string]struct {
		a, b Component
		want int
	}{
		"phases":                                {phase(110), phase(120), -1},
		"equal phases":                          {phase(120), phase(120), 0},
		"phase zero is a phase":                 {phase(0), phase(10), -1},
		"a phase and none":                      {phase(110), phase(NoPhase), 0},
		"before Argo CD":                        {pre, phase(0), -1},
		"before Argo CD against waves":          {pre, waves(-100), -1},
		"both before Argo CD":                   {pre, pre, 0},
		"waves":                                 {waves(-3), waves(2), -1},
		"equal waves":                           {waves(2), waves(2), 0},
		"the first element decides":             {waves(30, 10), waves(60, 1), -1},
		"the second element decides":            {waves(30, 10), waves(30, 2), 1},
		"a parent and its child":                {waves(30), waves(30, 10), 0},
		"a path and a deeper one beside it":     {waves(20), waves(30, 10), -1},
		"waves of one parent":                   {under([]string{"r", "a"}, 30, 10), under([]string{"r", "a"}, 30, 5), 1},
		"waves below two parents of one wave":   {under([]string{"r", "a"}, 30, 10), under([]string{"r", "b"}, 30, 5), 0},
		"two parents of different waves":        {under([]string{"r", "a"}, 30, 10), under([]string{"r", "b"}, 20, 50), 1},
		"waves below two roots":                 {under([]string{"r"}, 1), under([]string{"s"}, 2), 0},
		"a root that is not told":               {under(nil, 1), under([]string{"s"}, 2), -1},
		"waves and a phase":                     {waves(5), phase(10), 0},
		"steps of one set":                      {set("s", 1, NoPhase), set("s", 2, NoPhase), -1},
		"steps win over phases":                 {set("s", 2, 10), set("s", 1, 20), 1},
		"same step":                             {set("s", 2, 10), set("s", 2, 20), 0},
		"one matches no step":                   {set("s", 0, NoPhase), set("s", 2, NoPhase), 0},
		"one has a phase and no step":           {set("s", 0, 999), set("s", 2, 120), 0},
		"steps of two sets":                     {set("s", 1, NoPhase), set("t", 2, NoPhase), 0},
		"phases of two sets":                    {set("s", 1, 10), set("t", 2, 20), 0},
		"phases where only one says its set":    {set("s", 0, 10), set("", 0, 20), -1},
		"waves of two sets":                     {set("s", 2, NoPhase, 1), set("t", 1, NoPhase, 2), -1},
		"below parents of two steps":            {under([]string{"r", AtSteps("s"), "a"}, 0, 1, 9), under([]string{"r", AtSteps("s"), "b"}, 0, 2, 1), -1},
		"below parents of one step":             {under([]string{"r", AtSteps("s"), "a"}, 0, 1, 9), under([]string{"r", AtSteps("s"), "b"}, 0, 1, 1), 0},
		"below a parent of a step, and a step":  {under([]string{AtSteps("s"), "a"}, 1, 9), set("s", 2, NoPhase), -1},
		"a step, and below a parent of it":      {set("s", 2, NoPhase), under([]string{AtSteps("s"), "a"}, 2, 9), 0},
		"below a parent, and a step elsewhere":  {under([]string{AtSteps("s"), "a"}, 1, 9), set("t", 2, NoPhase), 0},
		"below a parent, and in no step":        {under([]string{AtSteps("s"), "a"}, 1, 9), set("s", 0, NoPhase), 0},
		"steps of sets with one name elsewhere": {set("s", 1, NoPhase, 1), set("s", 2, NoPhase, 1, 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Compare(&test.a, &test.b); got != test.want {
				t.Errorf("Compare = %d, want %d", got, test.want)
			}
			if got := Compare(&test.b, &test.a); got != -test.want {
				t.Errorf("the other way round: %d, want %d", got, -test.want)
			}
		})
	}
}

// TestCompareIsAntisymmetric holds for every pair, and no component is before
// itself.
func TestCompareIsAntisymmetric(t *testing.T) {
	components := rapid.Custom(func(t *rapid.T) Component {
		return Component{
			Phase:   Phase(rapid.IntRange(-1, 3).Draw(t, "phase")),
			Waves:   rapid.SliceOfN(rapid.IntRange(-1, 1), 0, 3).Draw(t, "waves"),
			Set:     rapid.SampledFrom([]string{"", "s", "t"}).Draw(t, "set"),
			Step:    rapid.IntRange(0, 2).Draw(t, "step"),
			PreArgo: rapid.Bool().Draw(t, "pre"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := components.Draw(t, "a"), components.Draw(t, "b")
		if Compare(&a, &b) != -Compare(&b, &a) || Compare(&a, &a) != 0 {
			t.Fatalf("not antisymmetric: %v %v", a, b)
		}
	})
}

// TestOrderOfWavesAndSteps: the default wave of Argo CD says nothing beside a step.
func TestOrderOfWavesAndSteps(t *testing.T) {
	for want, c := range map[string]Component{
		"step 2": {Phase: NoPhase, Waves: []int{0}, Set: "s", Step: 2},
		"0":      {Phase: NoPhase, Waves: []int{0}},
		"3":      {Phase: NoPhase, Waves: []int{3}, Set: "s", Step: 2},
		"250":    {Phase: 250, Waves: []int{0}, Set: "s", Step: 2},
	} {
		if got := c.Order(); got != want {
			t.Errorf("%+v stands at %q, want %q", c, got, want)
		}
	}
}
