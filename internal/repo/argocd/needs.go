package argocd

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// buildNeeds are what the kustomizations of an Application cannot be built without:
// the first need of each option.
func (r *Repository) buildNeeds(d document) []argo.BuildNeed {
	var all []argo.BuildNeed
	add := func(n argo.BuildNeed) {
		if !slices.ContainsFunc(all, func(o argo.BuildNeed) bool { return o.Option == n.Option && o.Version == n.Version }) {
			all = append(all, n)
		}
	}
	for _, s := range d.sources() {
		dir, ok := r.local(s)
		if !ok || s.path() == "" || s.value.At("plugin") != nil {
			continue
		}
		s, _ = r.overridden(d, s, dir) // what is refused is told when it is rendered
		if r.kind(s, dir) != model.Kustomize {
			continue
		}
		if version := s.value.TextAt("kustomize", "version"); version != "" {
			add(argo.BuildNeed{Version: version, Reason: "asks for kustomize " + version, Position: s.at("kustomize", "version")})
		}
		for _, p := range r.closure(dir) {
			for _, n := range r.needsOf(p) {
				add(n)
			}
		}
	}
	return all
}

// needsOf are the needs of one kustomization, without those that it includes.
func (r *Repository) needsOf(dir string) []argo.BuildNeed {
	if known, ok := r.needs[dir]; ok {
		return known
	}
	var all []argo.BuildNeed
	if file := kustomizationFile(r.tree, dir); file != "" {
		if data, err := r.tree.Read(file); err == nil {
			if v, err := yamldoc.ParseKustomization(file, data); err == nil {
				all = r.needsIn(dir, v)
			}
		}
	}
	if r.needs == nil {
		r.needs = map[string][]argo.BuildNeed{}
	}
	r.needs[dir] = all
	return all
}

func (r *Repository) needsIn(dir string, v *yamldoc.Value) []argo.BuildNeed {
	var all []argo.BuildNeed
	if charts := r.inflations(dir, v); len(charts) > 0 {
		all = append(all, argo.BuildNeed{Option: argo.EnableHelm, Reason: "inflates the chart " + charts[0].name, Position: charts[0].item.Position})
	}
	for _, named := range filesOf(v) {
		p := path.Join(dir, named.text)
		if _, inside := below(dir, p); inside || path.IsAbs(named.text) || !r.tree.IsFile(p) {
			continue
		}
		all = append(all, argo.BuildNeed{
			Option: argo.Unrestricted, Position: named.at,
			Reason: fmt.Sprintf("takes the file %s, which is outside of the folder of its kustomization", named.text),
		})
		break
	}
	return all
}

type namedFile struct {
	text string
	at   finding.Position
}

// filesOf lists what a kustomization names, and kustomize loads, as files; among them
// are folders and texts.
func filesOf(v *yamldoc.Value) []namedFile {
	var all []namedFile
	add := func(item *yamldoc.Value) {
		if item != nil && item.Kind == yamldoc.Scalar && item.Text != "" && !strings.Contains(item.Text, "\n") {
			all = append(all, namedFile{item.Text, item.Position})
		}
	}
	for _, key := range []string{"resources", "bases", "crds", "configurations", "patchesStrategicMerge", "generators", "transformers", "validators"} {
		for _, item := range v.At(key).Elements() {
			add(item)
		}
	}
	for _, key := range []string{"patches", "patchesJson6902", "replacements"} {
		for _, item := range v.At(key).Elements() {
			add(item.At("path"))
		}
	}
	for _, item := range v.At("helmCharts").Elements() {
		add(item.At("valuesFile"))
	}
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		for _, item := range v.At(key).Elements() {
			for _, file := range item.At("files").Elements() {
				_, name, ok := strings.Cut(file.Text, "=")
				if !ok {
					name = file.Text
				}
				add(yamldoc.Text(name, file.Position))
			}
			for _, file := range item.At("envs").Elements() {
				add(file)
			}
			add(item.At("env"))
		}
	}
	return all
}
