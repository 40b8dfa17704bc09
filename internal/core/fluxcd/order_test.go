package fluxcd_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
)

// unit is a Kustomization below a parent that depends on others.
func unit(name string, parent int, dependsOn ...int) fluxcd.Unit {
	u := fluxcd.Unit{Kind: fluxcd.Kustomization, Name: name, Component: name, Parent: parent}
	for _, d := range dependsOn {
		u.DependsOn = append(u.DependsOn, fluxcd.Reference{Unit: d})
	}
	return u
}

func waiting(u fluxcd.Unit) fluxcd.Unit {
	u.Wait = true
	return u
}

func TestOrder(t *testing.T) {
	// root applies infra, which applies chart, and apps, which depends on infra and
	// applies shop.
	setup := func(infra fluxcd.Unit) *fluxcd.Order {
		s := fluxcd.Setup{Units: []fluxcd.Unit{unit("root", -1), infra, unit("chart", 1), unit("apps", 0, 1), unit("shop", 3)}}
		return s.Ordered()
	}
	const root, infra, chart, apps, shop = 0, 1, 2, 3, 4
	for name, test := range map[string]struct {
		order      *fluxcd.Order
		a, b       int
		ready, use bool
	}{
		"what a dependency applies, which waits for it": {setup(waiting(unit("infra", 0))), chart, shop, true, true},
		"what a dependency applies and does not await":  {setup(unit("infra", 0)), chart, shop, false, false},
		"the dependency of what applies it":             {setup(unit("infra", 0)), infra, shop, true, true},
		"what applies it":                               {setup(unit("infra", 0)), apps, shop, false, true},
		"the root, which does not wait":                 {setup(unit("infra", 0)), root, shop, false, true},
		"the other way round":                           {setup(waiting(unit("infra", 0))), shop, chart, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.order.ReadyBefore(test.a, test.b); got != test.ready {
				t.Errorf("Ready before: %v", got)
			}
			if got := test.order.StartsBefore(test.a, test.b); got != test.use {
				t.Errorf("starts before: %v", got)
			}
		})
	}
	o := setup(unit("infra", 0))
	if !o.Applies(root, shop) || !o.Applies(apps, shop) || o.Applies(infra, shop) || o.Applies(shop, shop) {
		t.Error("what applies what is not told from the parents")
	}
}

func TestChecks(t *testing.T) {
	checked := unit("infra", -1)
	checked.Checked, checked.Checks = true, []int{1}
	s := fluxcd.Setup{Units: []fluxcd.Unit{checked, unit("chart", 0), unit("other", 0), unit("apps", -1, 0)}}
	o := s.Ordered()
	if !o.ReadyBefore(1, 3) || o.ReadyBefore(2, 3) {
		t.Error("a health check waits for what it names, and only for that")
	}
}

func TestCycles(t *testing.T) {
	for name, test := range map[string]struct {
		units []fluxcd.Unit
		want  [][]int
	}{
		"none":                                  {[]fluxcd.Unit{unit("a", -1), unit("b", -1, 0)}, nil},
		"two":                                   {[]fluxcd.Unit{unit("a", -1, 1), unit("b", -1, 0)}, [][]int{{0, 1, 0}}},
		"itself":                                {[]fluxcd.Unit{unit("a", -1, 0)}, [][]int{{0, 0}}},
		"a child of what waits for its child":   {[]fluxcd.Unit{waiting(unit("a", -1)), unit("b", 0, 0)}, [][]int{{0, 1, 0}}},
		"a child of what does not wait for it":  {[]fluxcd.Unit{unit("a", -1), unit("b", 0, 0)}, nil},
		"what waits for it depends on its heir": {[]fluxcd.Unit{unit("a", -1, 1), unit("b", 0)}, [][]int{{0, 1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := fluxcd.Setup{Units: test.units}
			if diff := cmp.Diff(test.want, s.Ordered().Cycles()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChain(t *testing.T) {
	s := fluxcd.Setup{Units: []fluxcd.Unit{unit("a", -1), unit("b", -1, 0), unit("c", 1, 4), unit("d", -1, 0), unit("e", -1, 3)}}
	if diff := cmp.Diff([]int{0, 3, 4, 2}, s.Ordered().Chain()); diff != "" {
		t.Error(diff)
	}
	if s := (&fluxcd.Setup{Units: []fluxcd.Unit{unit("a", -1)}}); s.Ordered().Chain() != nil {
		t.Error("a chain where nothing waits")
	}
}

// What two units apply is Ready before what depends on either of them.
func TestOrderOfTwoParents(t *testing.T) {
	chart := unit("chart", 1)
	chart.Also = []int{2}
	s := fluxcd.Setup{Units: []fluxcd.Unit{unit("root", -1), unit("first", 0), waiting(unit("second", 0)), chart, unit("shop", 0, 2)}}
	if !s.Ordered().ReadyBefore(3, 4) {
		t.Error("what waits for the second parent does not wait for what both of them apply")
	}
	// A parent that comes after what it applies as well makes no circle.
	s.Units[2] = waiting(unit("second", 0, 1))
	s.Units[1] = waiting(unit("first", 0))
	if cycles := s.Ordered().Cycles(); len(cycles) > 0 || !s.Ordered().ReadyBefore(3, 2) {
		t.Errorf("cycles: %v", cycles)
	}
}
