package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemovals(t *testing.T) {
	applied := func(name string, sequence int, requires ...string) Applied {
		return Applied{Component: name, Sequence: sequence, Requires: requires}
	}
	tests := map[string]struct {
		applied []Applied
		stays   string
		want    []RemovalSpec
	}{
		"nothing was applied": {},
		"everything stays":    {[]Applied{applied("a", 1)}, "a", nil},
		"the order of the sequences": {
			[]Applied{applied("late", 3), applied("first", 1), applied("middle", 2)}, "",
			[]RemovalSpec{{Name: "first"}, {Name: "middle"}, {Name: "late"}},
		},
		"requirements among what vanished": {
			[]Applied{applied("db", 1), applied("app", 2, "db")}, "",
			[]RemovalSpec{{Name: "db"}, {Name: "app", Requires: []string{"db"}, EdgesKnown: true}},
		},
		"through what stays": {
			[]Applied{applied("crds", 1), applied("operator", 2, "crds"), applied("app", 3, "operator")}, "operator",
			[]RemovalSpec{{Name: "crds"}, {Name: "app", Requires: []string{"crds"}, EdgesKnown: true}},
		},
		"only what stays is required": {
			[]Applied{applied("db", 1), applied("app", 2, "db")}, "db",
			[]RemovalSpec{{Name: "app", EdgesKnown: true}},
		},
		"a requirement that is younger": {
			[]Applied{applied("app", 1, "cache"), applied("other", 2), applied("cache", 3)}, "",
			[]RemovalSpec{{Name: "other"}, {Name: "cache"}, {Name: "app", Requires: []string{"cache"}, EdgesKnown: true}},
		},
		"they required each other, at different times": {
			[]Applied{applied("a", 1, "b"), applied("b", 2, "a"), applied("c", 3)}, "",
			[]RemovalSpec{{Name: "c"}, {Name: "a", EdgesKnown: true}, {Name: "b", Requires: []string{"a"}, EdgesKnown: true}},
		},
		"objects in the namespace of another": {
			[]Applied{applied("namespaces", 1), {Component: "app", Sequence: 2, Within: []string{"namespaces"}}}, "",
			[]RemovalSpec{{Name: "namespaces"}, {Name: "app", Requires: []string{"namespaces"}}},
		},
		"a requirement that was never applied": {
			[]Applied{applied("a", 1, "ghost", "a")}, "",
			[]RemovalSpec{{Name: "a", EdgesKnown: true}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Removals(tt.applied, func(name string) bool { return name == tt.stays })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			spec := Spec{Policy: Edges, Steps: []StepSpec{{}}, Components: []ComponentSpec{{Name: "stays"}}, Remove: got}
			if _, err := NewMachine(spec, epoch); err != nil {
				t.Errorf("the machine refuses it: %v", err)
			}
		})
	}
}
