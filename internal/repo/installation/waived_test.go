package installation

import "testing"

func TestIsAlwaysHealthy(t *testing.T) {
	for script, want := range map[string]bool{
		`hs = {} hs.status = "Healthy" return hs`:                        true,
		"hs = {status = 'Healthy'} -- whatever the status is\nreturn hs": true,
		``: false,
		`hs = {} hs.status = "Progressing" return hs`:                                                                          false,
		`hs = {status = "Healthy"} hs["status"] = "Degraded" return hs`:                                                        false,
		`hs = {status = "Healthy"} if obj.status == nil then hs.status = "Progressing" end return hs`:                          false,
		`local map = {True="Healthy"}; hs = {status = "Healthy"}; hs.status = map[obj.status.conditions[1].status]; return hs`: false,
		`hs = {status = "Healthy"} hs.status = judge(1) return hs`:                                                             false,
		`--[[ hs.status = "Healthy" ]] return hs`:                                                                              false,
	} {
		if got := isAlwaysHealthy(script); got != want {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}
