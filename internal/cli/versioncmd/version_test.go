package versioncmd

import (
	"runtime/debug"
	"testing"
)

func TestBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		stamped string
		build   *debug.BuildInfo
		want    string
	}{
		"stamped":          {"v1.2.3", &debug.BuildInfo{Main: debug.Module{Version: "v1.0.0"}}, "v1.2.3"},
		"installed":        {"", &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"of a revision":    {"", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab+dirty"}}, "v0.0.0-20260102030405-0123456789ab+dirty"},
		"of a folder":      {"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "dev"},
		"without a module": {"", &debug.BuildInfo{}, "dev"},
		"nothing is known": {"", nil, "dev"},
	} {
		if got := built(test.stamped, test.build); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
