// Package selector chooses components on the command line.
//
// A selector is the name of a component, a pattern of names (data-*), or a list
// of properties that all hold: domain=data,type=smoke (or tier=data), phase=300-399,
// band=platform, project=apps, namespace=ameide, cluster=in-cluster. Several
// selectors choose what any of them does.
package selector

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Properties are the left sides of key=value.
func Properties() []string {
	return []string{"band", "cluster", "domain", "namespace", "phase", "project", "tier", "type"}
}

// Choose returns the components that any of the selectors chooses, in their
// order; all of them for no selector. A selector that means nothing, or chooses
// nothing, is wrong usage.
func Choose(components []model.Component, bands []plan.Band, selectors []string) ([]model.Component, error) {
	if len(selectors) == 0 {
		return components, nil
	}
	chosen := make([]bool, len(components))
	for _, text := range selectors {
		match, err := parse(text, bands)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		found := false
		for i := range components {
			if match(&components[i]) {
				chosen[i], found = true, true
			}
		}
		if !found {
			return nil, exit.With(exit.Usage, nothing(text, components))
		}
	}
	var out []model.Component
	for i, c := range components {
		if chosen[i] {
			out = append(out, c)
		}
	}
	return out, nil
}

// SaysCluster reports whether selectors choose clusters.
func SaysCluster(selectors []string) bool {
	return slices.ContainsFunc(selectors, func(text string) bool {
		return slices.ContainsFunc(strings.Split(text, ","), func(part string) bool { return strings.HasPrefix(strings.TrimSpace(part), "cluster=") })
	})
}

// nothing says that a selector chooses nothing, and what it may have meant.
func nothing(text string, components []model.Component) error {
	if strings.ContainsAny(text, "=*?[") {
		return fmt.Errorf("no component is chosen by %q", text)
	}
	names := make([]string, len(components))
	for i, c := range components {
		names[i] = c.Name
	}
	return fmt.Errorf("there is no component %q; %s", text, cmp.Or(yamldoc.Meant(text, names), "ladder inventory lists them"))
}

type matcher func(*model.Component) bool

func parse(text string, bands []plan.Band) (matcher, error) {
	if !strings.Contains(text, "=") {
		if _, err := path.Match(text, ""); err != nil {
			return nil, fmt.Errorf("selector %q is not a pattern of names", text)
		}
		return func(c *model.Component) bool {
			ok, _ := path.Match(text, c.Name) // checked above
			return ok || c.Name == text
		}, nil
	}
	var all []matcher
	for _, part := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("selector %q: write key=value[,key=value...], with the keys %s", text, strings.Join(Properties(), ", "))
		}
		m, err := property(key, value, bands)
		if err != nil {
			return nil, fmt.Errorf("selector %q: %w", text, err)
		}
		all = append(all, m)
	}
	return func(c *model.Component) bool {
		return !slices.ContainsFunc(all, func(m matcher) bool { return !m(c) })
	}, nil
}

func property(key, value string, bands []plan.Band) (matcher, error) {
	switch key {
	case "cluster":
		if _, err := path.Match(value, ""); err != nil {
			return nil, fmt.Errorf("cluster %q is no pattern", value)
		}
		return func(c *model.Component) bool {
			ok, _ := path.Match(value, c.ClusterName()) // checked above
			return ok
		}, nil
	case "domain", "tier": // tier is what older descriptors call it
		return func(c *model.Component) bool { return c.Domain == value }, nil
	case "namespace":
		return func(c *model.Component) bool { return c.Namespace == value }, nil
	case "project":
		return func(c *model.Component) bool { return c.Project == value }, nil
	case "type":
		if !slices.Contains(model.Types(), model.Type(value)) {
			return nil, fmt.Errorf("%q is no type of component", value)
		}
		return func(c *model.Component) bool { return string(c.Type) == value }, nil
	case "band":
		i := slices.IndexFunc(bands, func(b plan.Band) bool { return b.Name == value })
		if i < 0 {
			return nil, fmt.Errorf("there is no band %q", value)
		}
		return within(bands[i].From, bands[i].To), nil
	case "phase":
		from, to, isRange := strings.Cut(value, "-")
		if !isRange {
			to = from
		}
		first, err := model.ParsePhase(from)
		if err != nil {
			return nil, err
		}
		last, err := model.ParsePhase(to)
		if err != nil {
			return nil, err
		}
		return within(first, last), nil
	default:
		return nil, fmt.Errorf("%q is none of the keys %s", key, strings.Join(Properties(), ", "))
	}
}

func within(from, to model.Phase) matcher {
	return func(c *model.Component) bool {
		return c.Phase != model.NoPhase && from <= c.Phase && c.Phase <= to
	}
}
