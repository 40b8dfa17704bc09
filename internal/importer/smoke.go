package importer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/lint"
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

// untested notes the smokes of which nothing can fail, as lint judges what is written. Charts
// that are not here are not judged: nothing is fetched for it.
func (p *Platform) untested(ctx context.Context, dir string, load analysis.Options) error {
	for _, env := range p.Environments {
		if !slices.ContainsFunc(p.Components, func(c *Component) bool {
			return c.Type == model.Smoke && c.In[env] != nil && c.In[env].Enabled && c.In[env].HasSource()
		}) {
			continue
		}
		load.Environment, load.SecretKeysOnly, load.Offline = env, true, true
		loaded, err := analysis.Load(ctx, dir, load)
		if err != nil {
			return fmt.Errorf("render what would be written: %w", err)
		}
		p.unrendered(env, loaded, func(c *Component) bool {
			return c.Type == model.Smoke && (c.In[env].Chart == nil || c.In[env].Chart.Path != "")
		}, "whether it tests anything is not known")
		for _, f := range lint.Run(loaded.Lint(), lint.Options{Only: []string{lint.RuleSmokeTestsNothing}}) {
			if c := p.component(f.Component); c != nil && c.In[env] != nil {
				p.note(Note{Level: Lost, What: "smoke", Environment: env, Component: c.Name, Position: c.In[env].Position, Message: strings.TrimPrefix(f.Message, c.Name+" is "), Hint: f.Fix.Summary})
			}
		}
	}
	return nil
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
