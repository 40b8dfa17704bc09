package rehearse

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

// TestGeneratedSetup: what cannot be generated beside ApplicationSets that somebody wrote is
// refused with the way to rehearse these.
func TestGeneratedSetup(t *testing.T) {
	t.Parallel()
	way := "--root FILE rehearses the ApplicationSets that are written here"
	dir := fixtures.Script(t, filepath.Join("..", "..", ".."), "seed_001_4.1_sets_by_hand", "platform")
	for _, written := range []bool{true, false} {
		if !written {
			if err := os.RemoveAll(filepath.Join(dir, "environments/dev/argocd")); err != nil {
				t.Fatal(err)
			}
		}
		loaded, err := analysis.Load(t.Context(), dir, analysis.Options{Offline: true, NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		a := &argoTarget{target: &target{}, loaded: loaded}
		_, err = a.generatedSetup(t.Context(), t.TempDir())
		if !errors.As(err, new(*generate.EdgeError)) || strings.HasSuffix(err.Error(), way) != written {
			t.Errorf("ApplicationSets are written: %v: %v; want an edge that is not honoured, and %q only where they are", written, err, way)
		}
	}
}
