package repo

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
)

// declare gives the components of Applications what descriptors of their names declare: the
// file that a generator made an Application of, or the one in the folder of its source. What
// the Application says itself stays.
func (r *Repository) declare(ctx context.Context, environment string, components []model.Component) error {
	names := map[string]bool{}
	for i := range components {
		names[components[i].Name] = true
	}
	var others map[string]bool // the names of all descriptors, once they are asked for
	for i := range components {
		c := &components[i]
		from, ok := r.descriptorOf(c, environment)
		if !ok {
			continue
		}
		c.Described = true
		c.Domain = cmp.Or(c.Domain, from.Domain)
		if c.Type == model.Runtime {
			c.Type = from.Type
		}
		fields := []string{"domain", "componentType"}
		for _, edges := range []struct {
			own      *[]model.Requirement
			declared []model.Requirement
			field    string
		}{{&c.Requires, from.Requires, "requires"}, {&c.Validates, from.Validates, "validates"}} {
			if len(*edges.own) > 0 {
				continue
			}
			for _, e := range edges.declared {
				if !strings.Contains(e.Text, "/") && !names[e.Text] {
					if others == nil {
						var err error
						if others, err = r.describedNames(ctx); err != nil {
							return err
						}
					}
					if others[e.Text] {
						continue // something else applies it
					}
				}
				*edges.own = append(*edges.own, e)
			}
			fields = append(fields, edges.field)
		}
		for field, at := range from.Fields {
			base, _, _ := strings.Cut(field, "[")
			if _, taken := c.Fields[field]; !taken && slices.Contains(fields, base) {
				c.Fields[field] = at
			}
		}
	}
	return ctx.Err()
}

// descriptorOf is the descriptor of a component's name that its Application is made of or for.
func (r *Repository) descriptorOf(c *model.Component, environment string) (model.Component, bool) {
	files := []string{c.Position.File}
	for _, s := range c.Sources {
		if s.Path != "" && s.Revision == "" {
			files = append(files, path.Join(s.Path, descriptor.FileName))
		}
	}
	for _, file := range files {
		folder := r.folderOf(file)
		if folder == "" || path.Base(file) != descriptor.FileName || !r.tree.IsFile(file) {
			continue
		}
		if d := descriptor.ReadFile(file, folder, r.context(environment)); d.Name == c.Name {
			return d, true
		}
	}
	return model.Component{}, false
}

// folderOf is the folder of descriptors that a file lies in; empty for none.
func (r *Repository) folderOf(file string) string {
	for _, folders := range r.file.Folders {
		for _, p := range folders.Components {
			if folder := path.Clean(p.Path); strings.HasPrefix(file, folder+"/") {
				return folder
			}
		}
	}
	if parts := strings.Split(file, "/"); len(parts) > 3 && parts[0] == environmentsFolder && parts[2] == componentsFolder {
		return path.Join(parts[:3]...)
	}
	return ""
}

// describedNames are the names of all descriptors of the repository.
func (r *Repository) describedNames(ctx context.Context) (map[string]bool, error) {
	files, err := r.tree.Find(ctx, ".", func(name string) bool {
		return name == descriptor.FileName || name == descriptor.DisabledFileName
	})
	if err != nil && len(InputErrors(err)) == 0 {
		return nil, err
	}
	names := map[string]bool{}
	for _, file := range files {
		names[descriptor.ReadFile(file, path.Dir(file), r.context("")).Name] = true
	}
	return names, nil
}
