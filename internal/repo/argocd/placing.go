package argocd

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/clusters"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// placing is the repository as the places that templates name are looked for in it.
type placing struct {
	repository *Repository
	folders    []string
	charts     map[string]string // the text of a chart, by its folder
}

// Folders implements clusters.Tree.
func (p *placing) Folders() []string {
	if p.folders == nil {
		p.folders = appset.Folders(p.repository.paths)
	}
	return p.folders
}

// Files implements clusters.Tree.
func (p *placing) Files() []string { return p.repository.paths }

// Own implements clusters.Tree.
func (p *placing) Own(address string) bool { return p.repository.own[normaliseURL(address)] }

// May implements clusters.Tree: while no address is known to be this repository's, one
// that nothing else speaks of may be.
func (p *placing) May(address string) bool {
	r := p.repository
	for _, own := range r.own {
		if own {
			return r.own[normaliseURL(address)]
		}
	}
	return !r.tallied[normaliseURL(address)]
}

// Fits implements clusters.Tree: a source that sets something of a chart takes one that
// reads the values it sets.
func (p *placing) Fits(folder string, s clusters.Source) bool {
	r := p.repository
	dir := strings.TrimPrefix(folder, r.prefix)
	if !s.Helm {
		return r.charts[dir] || !r.inTemplates(dir+"/x.yaml") && slices.ContainsFunc(r.manifests, func(file string) bool { return strings.HasPrefix(file, dir+"/") })
	}
	if !r.charts[dir] {
		return false
	}
	text := p.chart(dir)
	return !slices.ContainsFunc(s.Keys, func(key string) bool {
		reads, err := regexp.Compile(`(?m)^` + regexp.QuoteMeta(key) + `:|\.Values\.` + regexp.QuoteMeta(key) + `\b`)
		return err != nil || !reads.MatchString(text)
	})
}

// chart is the text of the values and the templates of a chart.
func (p *placing) chart(dir string) string {
	if text, ok := p.charts[dir]; ok {
		return text
	}
	r := p.repository
	var b strings.Builder
	for _, file := range r.under(dir) {
		rel, _ := below(dir, file)
		if rel != "values.yaml" && !strings.HasPrefix(rel, "templates/") {
			continue
		}
		if data, err := r.tree.Read(file); err == nil {
			b.Write(data)
			b.WriteByte('\n')
		}
	}
	if p.charts == nil {
		p.charts = map[string]string{}
	}
	p.charts[dir] = b.String()
	return b.String()
}

// hinted matches the folders before the first parameter of a path.
var hinted = lazyregexp.New(`^([\w.-]+(?:/[\w.-]+)*)/[^/]*\{\{`)

// Hints implements clusters.Tree: the values of a chart name folders from a base.
func (p *placing) Hints(folder string) []string {
	r := p.repository
	file := path.Join(strings.TrimPrefix(folder, r.prefix), "values.yaml")
	data, err := r.tree.Read(file)
	if err != nil {
		return nil
	}
	values, err := yamldoc.Parse(file, data)
	if err != nil {
		return nil
	}
	var all []string
	var walk func(v *yamldoc.Value)
	walk = func(v *yamldoc.Value) {
		if m := hinted.FindStringSubmatch(v.Text); v.Kind == yamldoc.Scalar && m != nil {
			all = append(all, m[1])
		}
		for _, item := range v.Items {
			walk(item)
		}
		for _, e := range v.Entries {
			walk(e.Value)
		}
	}
	for _, v := range values {
		walk(v)
	}
	return all
}

// solvable is the template of a set as places are looked for that it names.
func solvable(set document, generator *yamldoc.Value) clusters.Set {
	one := clusters.Set{Name: set.name(), Values: texts(generator.At("values"))}
	template := set.value.At("spec", "template")
	if template == nil {
		return one
	}
	sources := document{value: template, written: template}.sources()
	refs := map[string]string{}
	for _, s := range sources {
		refs["$"+s.value.TextAt("ref")] = s.repoURL()
	}
	for _, s := range sources {
		helm := s.value.At("helm")
		made := clusters.Source{Address: s.repoURL(), Path: s.path(), Helm: helm != nil}
		if s.value.TextAt("chart") != "" {
			made.Path = ""
		}
		if helm != nil {
			made.Keys = valueKeys(helm)
		}
		for _, file := range strs(helm.At("valueFiles")) {
			ref, rest, _ := strings.Cut(file, "/")
			switch address, ok := refs[ref]; {
			case ok && strings.HasPrefix(ref, "$") && ref != "$":
				made.Files = append(made.Files, clusters.ValueFile{Address: address, Path: rest})
			case made.Path != "" && !strings.Contains(file, "://"):
				made.Files = append(made.Files, clusters.ValueFile{Address: s.repoURL(), Path: path.Join(made.Path, file)})
			}
		}
		one.Sources = append(one.Sources, made)
	}
	return one
}

// valueKeys are the names of the values that a source sets.
func valueKeys(helm *yamldoc.Value) []string {
	var keys []string
	if v := helm.At("valuesObject"); v != nil {
		for _, e := range v.Entries {
			keys = append(keys, e.Key)
		}
	}
	var values map[string]any
	if text := helm.TextAt("values"); text != "" && manifest.Unmarshal([]byte(text), &values) == nil {
		for key := range values {
			keys = append(keys, key)
		}
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return strings.Contains(k, "{{") || k == "global" })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// setsOf are the sets that select a cluster, or may.
func (r *Repository) setsOf(c clusters.Cluster) []clusters.Set {
	var all []clusters.Set
	for _, set := range r.sets {
		if !r.sees(set, c.Folder) {
			continue
		}
		for _, g := range clusterGenerators(set.value.At("spec", "generators")) {
			if _, ok := c.Settled().Meet(appset.ParseSelector(g), nil); ok {
				all = append(all, solvable(set, g))
			}
		}
	}
	return all
}

// selected is a cluster of which only selectors tell, with the sets that have them.
type selected struct {
	cluster clusters.Cluster
	sets    []clusters.Set
}

// unmet are the clusters that sets select and that none of the found ones is. Those that
// one may be are one.
func (r *Repository) unmet() []selected {
	var all []selected
	for _, set := range r.sets {
		for _, g := range clusterGenerators(set.value.At("spec", "generators")) {
			selector := appset.ParseSelector(g)
			met := slices.ContainsFunc(r.clusters.all, func(c foundCluster) bool {
				_, ok := c.Meet(selector, nil)
				return ok && r.sees(set, c.Folder)
			})
			if met || hasPlaceholder(fmt.Sprint(selector)) {
				continue
			}
			one := solvable(set, g)
			if i := slices.IndexFunc(all, func(s selected) bool { _, ok := s.cluster.Meet(selector, nil); return ok }); i >= 0 {
				needs, _ := all[i].cluster.Meet(selector, nil)
				for _, n := range needs {
					all[i].cluster.Labels[n.Key] = n.Value
				}
				all[i].sets = append(all[i].sets, one)
				continue
			}
			if c, ok := clusters.Selected(selector, set.at("spec", "generators")); ok {
				all = append(all, selected{c, []clusters.Set{one}})
			}
		}
	}
	return all
}
