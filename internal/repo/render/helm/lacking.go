package helm

import (
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// without marks the failure of a template while dependencies are lacking.
func without(err error, lacking []source.Lacking) error {
	var failed *source.Error
	if len(lacking) == 0 || !errors.As(err, &failed) {
		return err
	}
	marked := *failed
	marked.Err = errors.Join(source.ErrWithout, failed.Err)
	marked.Reason += fmt.Sprintf(" (the dependency %s is not rendered, and may be what it needs)", lacking[0].Source.Name)
	return &marked
}

// absent is a dependency that is neither vendored nor could be fetched.
type absent struct {
	dependency *chart.Dependency
	err        *source.Error
}

// leaveOut takes the dependencies that are lacking out of the chart and returns
// those that its values enable.
func (l *loadedChart) leaveOut(values map[string]any, req Request) []source.Lacking {
	var out []source.Lacking
	for _, a := range l.absent {
		dep := a.dependency
		var kept []*chart.Dependency
		for _, d := range l.chart.Metadata.Dependencies {
			if d != dep {
				kept = append(kept, d)
			}
		}
		l.chart.Metadata.Dependencies = kept
		if !enabled(dep, values, l.chart.Values) {
			continue
		}
		key := dep.Name
		if dep.Alias != "" {
			key = dep.Alias
		}
		given := section(l.chart.Values, key)
		given = loader.MergeMaps(given, section(values, key))
		shareGlobals(values, key, loader.MergeMaps(section(l.chart.Values, common.GlobalKey), section(values, common.GlobalKey)), given)
		if _, set := given["nameOverride"]; dep.Alias != "" && !set {
			given["nameOverride"] = dep.Alias // Helm names the chart by its alias
		}
		out = append(out, source.Lacking{Namespace: req.Namespace, Err: a.err, Source: model.Source{
			Kind: model.Chart, RepoURL: dep.Repository, Name: dep.Name, Version: dep.Version, ReleaseName: req.Release,
			Values: given, SkipCRDs: req.Source.SkipCRDs, Position: a.err.Position,
		}})
	}
	return out
}

// shareGlobals writes the global values of a chart into those of a dependency, where templates
// of the chart itself may read them. Source: Helm, pkg/chart/common/util, coalesceGlobals.
func shareGlobals(values map[string]any, key string, globals, given map[string]any) {
	if len(globals) == 0 {
		return
	}
	if own, is := given[common.GlobalKey].(map[string]any); is {
		globals = loader.MergeMaps(own, globals)
	}
	given[common.GlobalKey] = globals
	values[key] = loader.MergeMaps(section(values, key), map[string]any{common.GlobalKey: globals})
}

func section(values map[string]any, key string) map[string]any {
	m, _ := values[key].(map[string]any)
	return loader.MergeMaps(map[string]any{}, m)
}

// enabled decides on a dependency by its condition, else by its tags. Source:
// Helm, "Tags and Condition fields in dependencies".
func enabled(dep *chart.Dependency, given, defaults map[string]any) bool {
	for _, condition := range strings.Split(dep.Condition, ",") {
		for _, values := range []map[string]any{given, defaults} {
			v, err := common.Values(values).PathValue(strings.TrimSpace(condition))
			if on, ok := v.(bool); err == nil && ok {
				return on
			}
		}
	}
	on, off := false, false
	for _, tag := range dep.Tags {
		for _, values := range []map[string]any{given, defaults} {
			if set, ok := section(values, "tags")[tag].(bool); ok {
				on, off = on || set, off || !set
				break
			}
		}
	}
	return on || !off
}

// withoutFetch explains a dependency that is not fetched offline.
func withoutFetch(dep *chart.Dependency, at finding.Position) *source.Error {
	return &source.Error{Position: at, Reason: "dependency " + dep.Name + " is remote and " + finding.Offline + "; vendor it with `helm dependency build`, or run without --offline"}
}
