package render

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Helm asks for the names of dependencies only: where all are in the charts folder, those are
// rendered, whatever their versions. Where one is not, all are built anew.
func TestDependencyOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	text := `
-- web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
dependencies:
- {name: base, version: 2.0.0, repository: "file://../lib/base2"}
-- both/Chart.yaml --
apiVersion: v2
name: both
version: 1.0.0
dependencies:
- {name: base, version: 2.0.0, repository: "file://../lib/base2"}
- {name: other, version: 1.0.0, repository: "file://../lib/other"}
-- aliases/Chart.yaml --
apiVersion: v2
name: aliases
version: 1.0.0
dependencies:
- {name: base, version: 1.0.0, repository: "file://../lib/base1", alias: first}
- {name: base, version: 2.0.0, repository: "file://../lib/base2", alias: second}
`
	for folder, base := range map[string]string{"web/charts/base": "base 1.0.0", "both/charts/base": "base 1.0.0", "lib/base1": "base 1.0.0", "lib/base2": "base 2.0.0", "lib/other": "other 1.0.0"} {
		name, version, _ := strings.Cut(base, " ")
		text += "-- " + folder + "/Chart.yaml --\napiVersion: v2\nname: " + name + "\nversion: " + version +
			"\n-- " + folder + "/templates/config.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"" + name + "-{{ .Chart.Version }}\"}\n"
	}
	extract(t, dir, text)
	want := map[string][]string{"web": {"base-1.0.0"}, "both": {"base-2.0.0", "other-1.0.0"}, "aliases": {"base-1.0.0", "base-2.0.0"}}
	r := New(dir, dir, Options{Offline: true, NoCache: true, Partial: true})
	for _, result := range r.All(context.Background(), []model.Component{chart("web", "web"), chart("both", "both"), chart("aliases", "aliases")}, nil) {
		var names []string
		for _, o := range result.Objects {
			names = append(names, o.GetName())
		}
		slices.Sort(names)
		if result.Err != nil || !slices.Equal(names, want[result.Component]) {
			t.Errorf("%s: %v, error %v", result.Component, names, result.Err)
		}
	}
}
