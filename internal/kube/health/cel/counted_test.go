package cel

import "testing"

func TestIsCertainOfLengths(t *testing.T) {
	for expression, want := range map[string]bool{
		"objects.size() >= 0":                           true,
		"size(objects) > -1":                            true,
		"0 <= objects.size()":                           true,
		"-1 < size(objects)":                            true,
		"objects.size() >= 0 && 1 == 1":                 true,
		"objects.size() > 0":                            false,
		"objects.size() >= 1":                           false,
		"objects.size() <= 0":                           false,
		"objects[0].spec.size() >= 0":                   false,
		"objects.size() >= 0 && objects[0].ok":          false,
		"[[1]].exists(objects, objects.size() >= 0)":    false,
		"objects.all(o, true) && objects.size() >= 100": false,
	} {
		compiled, err := Compile(expression, "objects")
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if got := compiled.IsCertain(); got != want {
			t.Errorf("%s: %t, want %t", expression, got, want)
		}
		if holds, reason := compiled.Holds([]any{}); reason == "" && want && !holds {
			t.Errorf("%s does not hold of nothing", expression)
		}
	}
}
