package argocd

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxSwitches bounds how many switches are turned on, and maxSwitchDepth how deep they lie.
const (
	maxSwitches    = 500
	maxSwitchDepth = 6
)

// switchedOn renders a chart of Applications that somebody installs, and that makes none of its own
// values, with all that these switch off. Who installs it gives other values, which are elsewhere.
func (r *Repository) switchedOn(ctx context.Context, d document, dir string, c model.Component) []manifest.Object {
	if d.chart == nil || c.Sources[0].Position.File != path.Join(dir, "Chart.yaml") {
		return nil // what it is installed with is known
	}
	var off []string
	values := turnOn(r.layered(d, path.Join(dir, "values.yaml"), c), nil, &off)
	if len(off) == 0 {
		return nil
	}
	c.Sources = slices.Clone(c.Sources)
	for i := range c.Sources {
		c.Sources[i].Values = values
	}
	objects, err := r.opts.Renderer.Component(ctx, c)
	if err != nil || !slices.ContainsFunc(objects, isArgoCDs) {
		return nil
	}
	for i := range d.chart.Sources {
		d.chart.Sources[i].Values = values
	}
	r.assumed(d.position(), d.name(), "the chart %s is rendered with what its values switch off: it makes no Application otherwise, and nothing here says with which values it is installed (%s on)", dir, someOf(off))
	return objects
}

// someOf are the first of some names, and how many more there are.
func someOf(names []string) string {
	if shown := 3; len(names) > shown+1 {
		return strings.Join(names[:shown], ", ") + " and " + strconv.Itoa(len(names)-shown) + " more"
	}
	return strings.Join(names, ", ")
}

// turnOn are the switches of values that are off, each turned on, and their paths.
func turnOn(v *yamldoc.Value, at []string, off *[]string) map[string]any {
	if v == nil || v.Kind != yamldoc.Map || len(at) > maxSwitchDepth {
		return nil
	}
	on := map[string]any{}
	for _, e := range v.Entries {
		name := append(slices.Clone(at), e.Key)
		if isSwitch(e.Key) && e.Value.Text == "false" && len(*off) < maxSwitches {
			on[e.Key] = true
			*off = append(*off, strings.Join(name, "."))
		}
		if below := turnOn(e.Value, name, off); len(below) > 0 {
			on[e.Key] = below
		}
	}
	return on
}

// isSwitch reports whether a value of a name says that something is there.
func isSwitch(name string) bool {
	return slices.Contains([]string{"enabled", "enable", "install", "installed", "deploy", "create"}, name)
}
