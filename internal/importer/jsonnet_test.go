package importer

import "testing"

// What Jsonnet imports from outside of its folder is not copied with it.
func TestOutward(t *testing.T) {
	for text, want := range map[string]bool{
		`local a = import '../lib/a.libsonnet'; a`:   true,
		`{ a: importstr "../../a.txt" }`:             true,
		`local a = importbin 'below/../../a.bin'; a`: true,
		`local a = import 'a.libsonnet'; a`:          false,
		`{ important: '../a' }`:                      false,
	} {
		if got := outward.MatchString(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
