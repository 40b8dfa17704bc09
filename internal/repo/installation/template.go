package installation

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// placeholder begins what Helm fills in.
const placeholder = "{{"

// Template takes a template of a chart that is YAML as it stands, and reports whether its
// settings are understood: it has nothing but the ConfigMaps of Argo CD, whatever the values of
// the chart are, and none of the settings that are read here is filled in.
func (r *Reader) Template(values []*yamldoc.Value) bool {
	var plain []*yamldoc.Value
	for _, v := range values {
		data := v.At("data")
		if v.TextAt("kind") != "ConfigMap" || homeOf(v.TextAt("metadata", "name")) == anywhere || data == nil || data.Kind != yamldoc.Map {
			return false
		}
		without := *data
		without.Entries = nil
		for _, e := range data.Entries {
			_, known := belongs(e.Key)
			switch filled := strings.Contains(e.Value.Text, placeholder); {
			case strings.Contains(e.Key, placeholder), filled && known, e.Value.Kind != yamldoc.Scalar:
				return false
			case !filled:
				without.Entries = append(without.Entries, e)
			}
		}
		if slices.ContainsFunc(v.Entries, func(e yamldoc.Entry) bool { return e.Key == "binaryData" || strings.Contains(e.Key, placeholder) }) {
			return false
		}
		plain = append(plain, v.With("data", &without))
	}
	r.Read(plain)
	return true
}
