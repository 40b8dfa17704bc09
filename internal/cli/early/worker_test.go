package early

import (
	"os"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cachedir"
)

// A worker is started where something will be rendered for sure.
func TestRendersAll(t *testing.T) {
	cold, warm := t.TempDir(), t.TempDir()
	t.Setenv("HOME", warm) // where caches are elsewhere
	t.Setenv("XDG_CACHE_HOME", warm)
	if err := os.MkdirAll(cachedir.Join("", cachedir.Render), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		cache string
		args  []string
		want  bool
	}{
		{cold, []string{"ladder", "lint", "."}, true},
		{cold, []string{"ladder", "plan"}, true},
		{cold, []string{"ladder", "version"}, false},
		{cold, []string{"ladder", "lint", "--help"}, false},
		{cold, []string{"ladder"}, false},
		{cold, nil, false},
		{warm, []string{"ladder", "lint", "."}, false},
		{warm, []string{"ladder", "lint", ".", "--no-cache"}, true},
	} {
		t.Setenv("HOME", tc.cache)
		t.Setenv("XDG_CACHE_HOME", tc.cache)
		if got := rendersAll(tc.args); got != tc.want {
			t.Errorf("%v: %v", tc.args, got)
		}
	}
}
