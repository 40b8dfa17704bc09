package argocd

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// readTerraformed reads the Applications, sets and projects that Terraform applies: those of
// manifests that are written out in it, and those that it installs a chart of Applications with.
func (r *Repository) readTerraformed(ctx context.Context) {
	first := ""
	folders := map[string]bool{}
	for _, file := range r.all {
		data, ok := r.terraform(file)
		if ok && (bytes.Contains(data, []byte("argoproj.io")) || bytes.Contains(data, []byte("argocd-apps")) || bytes.Contains(data, []byte(`"argocd_application`))) {
			first, folders[path.Dir(file)] = cmp.Or(first, file), true
		}
	}
	if first == "" {
		return
	}
	told := r.told(ctx)
	if told.Unread != nil && ctx.Err() == nil {
		at := finding.Position{File: first, Line: 1}
		r.terraformUnread = &repofs.InputError{Position: at, Message: told.Unread.Error()}
		r.partNotRead(at, "", "what Terraform applies for Argo CD is not read, whole or in part: %v", told.Unread)
	}
	for _, one := range told.Broken {
		if folders[path.Dir(one.Position.File)] {
			r.partNotRead(one.Position, "", "what the Terraform of this folder applies for Argo CD is not read: %s", one.Summary)
		}
	}
	found := map[string][]document{}
	add := func(file string, documents []document) {
		for _, d := range documents {
			if !strings.HasPrefix(d.value.TextAt("apiVersion"), "argoproj.io/") || repofs.IsUnused(file) {
				continue
			}
			same := func(o document) bool { return o.key() == d.key() }
			if slices.ContainsFunc(found[file], same) {
				r.partNotRead(d.position(), d.key(), "Terraform makes this again with other values, which are not read")
				continue
			}
			found[file] = append(found[file], d)
		}
	}
	for _, one := range told.Manifests {
		values, err := yamldoc.Parse(one.Position.File, []byte(one.Text))
		if err != nil {
			continue // it says nothing of Argo CD's that can be told
		}
		for i := range values {
			values[i] = values[i].Located(one.Position)
		}
		add(one.Position.File, split(values))
	}
	for _, one := range told.Charts {
		if name := path.Base(one.Chart); isBundle(name) {
			add(one.Position.File, makesOf(name, r.valuesOf(one), one.Namespace))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(found)) {
		r.terraformed[file] = path.Dir(file)
		r.add(file, found[file])
	}
}

// TerraformUnread is why Terraform that applies something for Argo CD is not read, whole or in part; nil
// where it is.
func (r *Repository) TerraformUnread() *repofs.InputError { return r.terraformUnread }

// valuesOf are the values that Terraform gives a release. What it fills in is as Terraform has
// it: ${name}.
func (r *Repository) valuesOf(one terraform.Release) *yamldoc.Value {
	merged := &yamldoc.Value{Kind: yamldoc.Map, Position: one.Position}
	for _, v := range one.Values {
		file, text := v.Position.File, []byte(appset.Fill(v.Text, func(name string) (string, bool) { return "${" + name + "}", true }))
		if v.File != "" {
			var err error
			if file = path.Clean(v.File); !r.present[file] {
				r.valuesNotRead(one, v.Position, file+" is not there")
				continue
			}
			if text, err = r.tree.Read(file); err != nil {
				r.valuesNotRead(one, v.Position, file+" cannot be read")
				continue
			}
		}
		values, err := yamldoc.ParseOne(file, text)
		if err != nil || values.Kind != yamldoc.Map {
			r.valuesNotRead(one, v.Position, "they are no YAML")
			continue
		}
		if v.File == "" {
			values = values.Located(v.Position)
		}
		merged = mergeValues(merged, values)
	}
	if one.Open {
		r.valuesNotRead(one, one.Position, "Terraform computes them")
	}
	return merged
}

func (r *Repository) valuesNotRead(one terraform.Release, at finding.Position, why string) {
	r.partNotRead(at, "", "values of the chart %s, which makes Applications, are not read: %s", path.Base(one.Chart), why)
}
