package descriptor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// ofHelm are the fields of Argo CD's source.helm that say how a chart is rendered, and the
// fields of chart that mean the same. Where the second is empty there is none.
var ofHelm = map[string]string{
	"values": "values", "valuesObject": "values", "valueFiles": "valueFiles", "parameters": "parameters",
	"releaseName": "releaseName", "skipCrds": "skipCrds", "ignoreMissingValueFiles": "ignoreMissingValueFiles", "fileParameters": "",
}

// unread says of a key that is not read why that is, and where to write it, when it means
// the source of the component. Other values of these keys are fields of others.
func (d *decoder) unread(e yamldoc.Entry) (why, fix string) {
	if len(d.fatal) > 0 {
		return "", ""
	}
	switch e.Key {
	case "path":
		return d.unreadPath(e.Value)
	case "values", "valueFiles":
		if e.Value.Kind != yamldoc.List && (e.Value.Kind != yamldoc.Map || e.Key != "values") {
			return "", ""
		}
	case "helm":
		if !slices.ContainsFunc(e.Value.Entries, func(e yamldoc.Entry) bool { _, ok := ofHelm[e.Key]; return ok }) {
			return "", ""
		}
	default:
		return "", ""
	}
	i := slices.IndexFunc(d.c.Sources, func(s model.Source) bool { return s.Kind == model.Chart })
	switch {
	case len(d.c.Sources) == 0:
		return "values are for a chart, and the component has no source", "leave " + e.Key + " out"
	case i < 0:
		return fmt.Sprintf("values are for a chart, and %s is none", d.c.Sources[0].Path), "leave " + e.Key + " out"
	case e.Key != "helm":
		key := e.Key
		if e.Value.Kind == yamldoc.List {
			key = "valueFiles"
		}
		return "only values of chart count", d.underChart(d.c.Sources[i], key)
	}
	var keys []string
	for _, e := range e.Value.Entries {
		if key := ofHelm[e.Key]; key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return "a descriptor has no such field", "write the values themselves: chart.values"
	}
	return "a descriptor has no such field", d.underChart(d.c.Sources[i], keys...)
}

// underChart says where fields of a chart are written. A chart that "path" or the folder
// names has no place for them.
func (d *decoder) underChart(s model.Source, keys ...string) string {
	if _, written := d.c.Fields["chart"]; written {
		return "write chart." + strings.Join(keys, ", chart.")
	}
	if len(keys) == 1 && keys[0] == "valueFiles" && d.c.Fields["values"].Line == 0 {
		return "write values: [<file>, ...]"
	}
	return fmt.Sprintf("write chart: {path: %s, %s: ...}", s.Path, strings.Join(keys, ": ..., "))
}

// unreadPath is unread for a path beside a source. It means a source where something lies
// there that none of the sources is.
func (d *decoder) unreadPath(v *yamldoc.Value) (why, fix string) {
	place, bad := d.expand(v.Text)
	place = path.Clean(place)
	if v.Kind != yamldoc.Scalar || bad != "" || path.IsAbs(place) || len(d.c.Sources) == 0 {
		return "", ""
	}
	s, found := d.lying(place)
	if !found || slices.ContainsFunc(d.c.Sources, func(s model.Source) bool { return s.Path == place }) {
		return "", ""
	}
	if kind := string(s.Kind); s.Kind != d.c.Sources[0].Kind {
		return "it counts only without chart, kustomize and manifests", fmt.Sprintf("write %s: {path: %s}, or leave it out", kind, v.Text)
	}
	return "it counts only without chart, kustomize and manifests", "leave it out"
}
