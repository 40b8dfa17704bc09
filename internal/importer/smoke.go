package importer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// validate lets smokes say what they validate: what they require, or else the
// others of their group and domain.
func (p *Platform) validate() {
	for _, c := range p.Components {
		if c.Type != model.Smoke {
			continue
		}
		for _, env := range p.Environments {
			d := c.In[env]
			if d == nil || len(d.Validates) > 0 {
				continue
			}
			for _, name := range d.Requires {
				if !strings.Contains(name, "/") {
					d.Validates = append(d.Validates, name)
				}
			}
			if len(d.Validates) == 0 {
				d.Validates = p.beside(c, env)
			}
			if len(d.Validates) == 0 {
				// A smoke of nothing is a component like any other.
				c.Type = model.Bootstrap
				break
			}
			slices.Sort(d.Validates)
		}
	}
}

// beside are the enabled components of the group and domain of a smoke, or of the
// domain, that do not require it.
func (p *Platform) beside(smoke *Component, env string) []string {
	var both, group, domain []string
	for _, c := range p.Components {
		d := c.In[env]
		if c == smoke || d == nil || !d.Enabled || !d.HasSource() || c.Type == model.Smoke || c.Group > smoke.Group || p.leadsTo(c, smoke, env) {
			continue
		}
		if c.Group == smoke.Group {
			group = append(group, c.Name)
		}
		if c.Group == smoke.Group && c.Domain == smoke.Domain {
			both = append(both, c.Name)
		}
		if c.Domain == smoke.Domain {
			domain = append(domain, c.Name)
		}
	}
	switch {
	case len(both) > 0:
		return both
	case len(group) > 0 && smoke.Group != NoGroup:
		return group
	default:
		return domain
	}
}

// leadsTo reports whether a component requires or validates another, directly or
// not: a smoke that is given it to validate would close a circle.
func (p *Platform) leadsTo(from, to *Component, env string) bool {
	seen := map[string]bool{}
	var visit func(c *Component) bool
	visit = func(c *Component) bool {
		if c == nil || seen[c.Name] {
			return false
		}
		seen[c.Name] = true
		if c == to {
			return true
		}
		d := c.In[env]
		return d != nil && slices.ContainsFunc(slices.Concat(d.Requires, d.Validates), func(name string) bool { return visit(p.component(name)) })
	}
	return visit(from)
}
