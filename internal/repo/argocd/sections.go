package argocd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// maxSections bounds how many sections of values are taken to be there.
const maxSections = 20

// nilValue matches how a template of Helm fails that asks for a field of a section which the
// values do not have.
var nilValue = lazyregexp.New(`at <\$?\.Values\.([\w.]+)>: nil pointer evaluating interface \{\}\.(\w+)`)

// withSections renders a chart that somebody installs, and that fails since its own values
// lack whole sections: with empty ones, as who installs it gives them.
func (r *Repository) withSections(ctx context.Context, d document, dir string, c model.Component, err error) ([]manifest.Object, error) {
	var objects []manifest.Object
	var added []string
	for range maxSections {
		section := absentSection(err.Error())
		if section == nil || slices.Contains(added, strings.Join(section, ".")) {
			return nil, err
		}
		for i := range c.Sources {
			c.Sources[i].Values = withSection(c.Sources[i].Values, section)
		}
		added = append(added, strings.Join(section, "."))
		if objects, err = r.opts.Renderer.Component(ctx, c); err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range d.chart.Sources {
		d.chart.Sources[i].Values = c.Sources[i].Values
	}
	r.assumed(d.position(), d.name(), "the chart %s is rendered with nothing in its values %s: it does not say what they are, and nothing here installs it", dir, strings.Join(added, ", "))
	return objects, nil
}

// absentSection is the path of the section that a template wants a field of; nil where it
// fails for another reason.
func absentSection(text string) []string {
	m := nilValue.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	all := strings.Split(m[1], ".")
	at := slices.Index(all, m[2])
	if at <= 0 {
		return nil
	}
	return all[:at]
}

// withSection adds an empty section to a copy of values that have none at a path.
func withSection(values map[string]any, section []string) map[string]any {
	if values = maps.Clone(values); values == nil {
		values = map[string]any{}
	}
	below, _ := values[section[0]].(map[string]any)
	if len(section) > 1 {
		below = withSection(below, section[1:])
	} else if below == nil {
		below = map[string]any{}
	}
	values[section[0]] = below
	return values
}
