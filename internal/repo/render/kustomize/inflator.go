package kustomize

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// inflatorKind is the generator behind helmCharts, which a kustomization may also
// name itself among its generators. Source: kustomize, HelmChartInflationGenerator.
const inflatorKind = "HelmChartInflationGenerator"

// inflators turns the generators of a kustomization that inflate charts into
// entries of helmCharts, which mean the same.
func (b *build) inflators(file string, doc map[string]any, at func(string) finding.Position) (bool, error) {
	generators, _ := doc["generators"].([]any)
	var kept, charts []any
	for _, entry := range generators {
		text, _ := entry.(string)
		found, err := b.inflatorsIn(path.Dir(file), text)
		if err != nil {
			return false, source.Errorf(at("generators"), "generator %s: %w", strings.SplitN(text, "\n", 2)[0], err)
		}
		if len(found) == 0 {
			kept = append(kept, entry)
			continue
		}
		globals, _ := doc["helmGlobals"].(map[string]any)
		for _, one := range found {
			if home, _ := one["chartHome"].(string); home != "" {
				if globals == nil {
					globals = map[string]any{}
				}
				globals["chartHome"] = home
				doc["helmGlobals"] = globals
			}
			for _, field := range []string{"apiVersion", "kind", "metadata", "chartHome", "configHome"} {
				delete(one, field)
			}
			charts = append(charts, one)
		}
	}
	if len(charts) == 0 {
		return false, nil
	}
	own, _ := doc["helmCharts"].([]any)
	doc["helmCharts"] = append(own, charts...)
	if doc["generators"] = kept; len(kept) == 0 {
		delete(doc, "generators")
	}
	return true, nil
}

// inflatorsIn reads a generator. It finds nothing where it is, or also holds,
// anything but builtin inflators.
func (b *build) inflatorsIn(folder, entry string) ([]map[string]any, error) {
	plugins, err := b.pluginsIn(folder, entry)
	for _, one := range plugins {
		if one["apiVersion"] != "builtin" || one["kind"] != inflatorKind {
			return nil, err
		}
	}
	return plugins, err
}

// pluginsIn reads a plugin, named by its file or written in place. It finds nothing
// where the entry is a folder, or where kustomize will say what is wrong with it.
func (b *build) pluginsIn(folder, entry string) ([]map[string]any, error) {
	data := []byte(entry)
	if !strings.Contains(entry, "\n") {
		kind, err := b.files.stat(path.Join(folder, entry))
		if err != nil || kind != source.File {
			return nil, err //nolint:wrapcheck // the caller says which generator
		}
		data, err = b.files.read(path.Join(folder, entry))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err //nolint:wrapcheck // as above
		}
	}
	var found []map[string]any
	for _, d := range manifest.Split(data) {
		var one map[string]any
		if err := yaml.Unmarshal(d.Text, &one); err != nil {
			return nil, nil //nolint:nilerr // kustomize says what is wrong with it
		}
		if one != nil {
			found = append(found, one)
		}
	}
	return found, nil
}
