package flux

import (
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
)

// searchByHand finds the files with Kustomizations that scripts apply: who bootstraps a
// cluster applies them beside what it starts with. What lies in the folder of a cluster
// or takes one is of that cluster alone.
func (l *loader) searchByHand(s *searched) {
	l.joinSources(s)
	taken := func(dir string) bool {
		return slices.ContainsFunc(s.found, func(r rootFolder) bool { return within(dir, r.path) || within(r.path, dir) })
	}
	lists := map[string][]string{}
	for _, r := range s.found {
		l.folders = append(l.folders, r.path)
		if l.kustomizationFile(r.path) != "" {
			before := len(l.result.Problems)
			lists[r.path], _ = l.listed(r.path, map[string]bool{}, 0)
			l.result.Problems = l.result.Problems[:before] // whoever reads the folder tells of them
		}
	}
	// The kustomization of a cluster may leave out what lies in its folder.
	unlisted := func(file string) bool {
		return slices.ContainsFunc(s.found, func(r rootFolder) bool {
			list, ok := lists[r.path]
			return ok && within(file, r.path) && !slices.Contains(list, file)
		})
	}
	var files []string
	for _, d := range s.declared {
		if !slices.Contains(files, d.file) && (!taken(d.file) || unlisted(d.file)) {
			files = append(files, d.file)
		}
	}
	if len(files) == 0 {
		return
	}
	for _, one := range byhand.Find(l.ctx, l.tree).Files {
		file := one.Address
		if slices.Contains(l.applied, file) {
			continue
		}
		if unlisted(file) {
			l.applied = append(l.applied, file)
			continue
		}
		if slices.Contains(files, file) && !taken(one.Through) && !slices.ContainsFunc(s.declared, func(d declared) bool { return d.file == file && taken(d.path) }) {
			l.applied = append(l.applied, file)
		}
	}
}

// joinSources takes folders with sources alone, which somebody has Flux sync beside the one cluster
// that there is: they are no clusters, and the files that say so are applied to that one.
func (l *loader) joinSources(s *searched) {
	releases := func(r rootFolder) bool {
		return slices.ContainsFunc(s.others, func(dir string) bool { return within(dir, r.path) })
	}
	clusters := slices.Clone(s.found)
	clusters = slices.DeleteFunc(clusters, func(r rootFolder) bool { return r.guessed && !releases(r) && path.Dir(r.position.File) == r.path })
	if len(clusters) != 1 {
		return
	}
	for _, r := range s.found {
		if r.path != clusters[0].path {
			l.applied = append(l.applied, r.position.File)
		}
	}
	s.found = clusters
}

// byHand takes what scripts apply to the cluster, but for what has the name of something
// that is there.
func (l *loader) byHand() ([]pending, error) {
	var next []pending
	for _, file := range l.applied {
		inside := func(dir string) bool { return within(file, dir) }
		if slices.ContainsFunc(l.folders, inside) && !inside(l.root.path) {
			continue // it is of another cluster
		}
		for _, o := range l.file(file, "") {
			if group := o.GroupVersionKind().Group; !isKustomization(o) {
				if isFlux(group) && group != groupHelm || o.GetKind() == "ConfigMap" && group == "" {
					l.sources[key(o.GetKind(), o.GetNamespace(), o.GetName())] = o
				}
				continue
			}
			if l.at(".", clean(textAt(o.Object, "spec", "path"))) == l.root.path {
				continue // it is what the cluster begins with
			}
			l.read[written{o.GetKind(), o.Origin.File}] = true
			child, ok, err := l.kustomization(o, -1)
			if err != nil {
				return nil, err
			}
			if ok {
				next = append(next, child)
			}
		}
	}
	return next, nil
}

var (
	// ofFlux is the kind of a Kustomization of Flux in a template.
	ofFlux = lazyregexp.New(`(?m)^apiVersion: *kustomize\.toolkit\.fluxcd\.io/\S+\s+kind: *Kustomization\s*$`)
	// called is the name of an object in a template.
	called = lazyregexp.New(`(?m)^metadata:\s*\n(?:  .*\n)*?  name: *([a-z0-9][a-z0-9.-]*) *$`)
)

// isTemplate reports whether a file is one that another tool fills in, by its name:
// sync.yaml.templ.
func isTemplate(name string) bool {
	base := path.Base(name)
	return (strings.Contains(base, ".yaml.") || strings.Contains(base, ".yml.")) && !strings.HasSuffix(base, ".yaml") && !strings.HasSuffix(base, ".yml")
}

// searchTemplates finds the Kustomizations that a template of another tool makes: they
// are known by their names alone.
func (l *loader) searchTemplates() error {
	found, err := l.tree.Find(l.ctx, l.options.Path, isTemplate)
	if err != nil {
		return err
	}
	for _, file := range found {
		data, err := l.tree.Read(file)
		if err != nil {
			continue // what is too large is no template
		}
		for _, document := range strings.Split(string(data), "\n---") {
			if m := called.FindStringSubmatch(document); m != nil && ofFlux.MatchString(document) {
				l.result.Templates = append(l.result.Templates, Left{Kind: "Kustomization", Name: m[1], Position: finding.Position{File: file, Line: 1}})
			}
		}
	}
	return nil
}
