package rollout

import (
	"reflect"
	"testing"
	"time"
)

// The first approval of a step stays, with who, when and why, which who gave it may say later; one
// of a step that does not exist is none.
func TestApprovalsAreKept(t *testing.T) {
	spec := Spec{Policy: Phases, Steps: []StepSpec{{Label: "110", Approval: true}, {Label: "120", Limit: -1}}, Components: []ComponentSpec{{Name: "a"}, {Name: "b", Step: 1}}}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m, err := NewMachine(spec, now)
	if err != nil {
		t.Fatal(err)
	}
	m.Step(Started{}, now)
	for i, e := range []Approve{{Step: 1, By: "ann", Reason: "signed off"}, {Step: 0, By: "bob"}, {Step: 1, By: "eve", Reason: "later"}, {Step: 2}, {Step: -1}, {Step: 0, By: "eve", Reason: "hers"}, {Step: 0, By: "bob", Reason: "OPS-1"}, {Step: 0, By: "bob", Reason: "OPS-2"}} {
		m.Step(e, now.Add(time.Duration(i)*time.Minute))
	}
	want := []Approval{{Step: 0, At: now.Add(time.Minute), By: "bob", Reason: "OPS-1"}, {Step: 1, At: now, By: "ann", Reason: "signed off"}}
	if got := m.State().Approvals; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}

	state := m.State()
	for _, wrong := range [][]Approval{{{Step: 2}}, {{Step: -1}}, {{Step: 1}, {Step: 0}}, {{Step: 1}, {Step: 1}}} {
		state.Approvals = wrong
		if _, err := Restore(state); err == nil {
			t.Errorf("a state with the approvals %+v is taken up", wrong)
		}
	}
}
