package rolloutcmd

import "testing"

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		s                map[string]int
		same, components int
		want             string
	}{
		{map[string]int{"create": 1, "run": 1, "keep": 1}, 0, 1, "1 object is created, 0 changed, 0 deleted, 1 hook runs, 1 stays; 0 of 1 component stay as they are; nothing was changed"},
		{map[string]int{"create": 10, "change": 2, "run": 2, "keep": 3}, 23, 24, "10 objects are created, 2 changed, 0 deleted, 2 hooks run, 3 stay; 23 of 24 components stay as they are; nothing was changed"},
	} {
		if got := summary(test.s, test.same, test.components); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}
