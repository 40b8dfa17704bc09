package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// helmCharts renders the charts of a kustomization and puts a resource in
// their place. Source: kustomize, "helmCharts".
func (b *build) helmCharts(file string, doc map[string]any, at func(string) finding.Position) error {
	var parsed struct {
		HelmCharts  []types.HelmChart  `json:"helmCharts"`
		HelmGlobals *types.HelmGlobals `json:"helmGlobals"`
	}
	raw, err := yaml.Marshal(map[string]any{"helmCharts": doc["helmCharts"], "helmGlobals": doc["helmGlobals"]})
	if err == nil {
		err = yaml.Unmarshal(raw, &parsed)
	}
	if err != nil {
		return source.Errorf(at("helmCharts"), "helmCharts: %w", err)
	}
	resources, _ := doc["resources"].([]any)
	for i, chart := range parsed.HelmCharts {
		home := types.HelmDefaultHome
		if parsed.HelmGlobals != nil && parsed.HelmGlobals.ChartHome != "" {
			home = parsed.HelmGlobals.ChartHome
		}
		objects, err := b.chart(path.Dir(file), home, chart, at(fmt.Sprintf("helmCharts[%d]", i)))
		var unavailable *source.UnavailableError
		switch {
		case errors.As(err, &unavailable) && b.opts.Charts.Partial && b.ctx.Err() == nil:
			b.lack(unavailable.Lacking)
			continue
		case err != nil:
			return err
		}
		if len(objects) == 0 {
			continue
		}
		name := fmt.Sprintf("ladder-chart-%d.yaml", i)
		if err := b.put(filepath.Join(filepath.Dir(file), name), objects); err != nil {
			return source.Errorf(at("helmCharts"), "chart %s: %w", chart.Name, err)
		}
		resources = append(resources, name)
	}
	if len(resources) > 0 {
		doc["resources"] = resources
	}
	delete(doc, "helmCharts")
	delete(doc, "helmGlobals")
	return nil
}

// chart renders one entry of helmCharts.
func (b *build) chart(folder, home string, chart types.HelmChart, at finding.Position) ([]manifest.Object, error) {
	src := model.Source{Kind: model.Chart, SkipCRDs: !chart.IncludeCRDs, SkipTests: chart.SkipTests, Position: at}
	view := b.files.view
	for _, candidate := range []string{
		path.Join(folder, home, chart.Name+"-"+chart.Version, chart.Name),
		path.Join(folder, home, chart.Name),
	} {
		if kind, err := b.files.stat(candidate); err != nil {
			return nil, source.Errorf(at, "chart %s: %w", chart.Name, err)
		} else if kind == source.Folder && src.Path == "" {
			view, src.Path, _ = b.files.locate(candidate)
		}
	}
	if src.Path == "" {
		if chart.Repo == "" {
			return nil, source.Errorf(at, "chart %s is not in %s and has no repo; vendor it or name its repository", chart.Name, b.files.rel(path.Join(folder, home)))
		}
		src.RepoURL, src.Name, src.Version = chart.Repo, chart.Name, chart.Version
	} else if chart.ValuesFile == "" && (chart.ValuesMerge != "replace" || len(chart.ValuesInline) == 0) {
		// kustomize reads the values of the chart itself. Source: kustomize,
		// HelmChartInflationGenerator, validateArgs and copyValuesFile.
		if kind, err := view.Stat(path.Join(src.Path, "values.yaml")); err != nil || kind != source.File {
			return nil, source.Errorf(at, "chart %s has no values.yaml, without which kustomize does not inflate it; add an empty one, or name a valuesFile", chart.Name)
		}
	}
	values, err := b.chartValues(folder, chart, at)
	if err != nil {
		return nil, err
	}
	src.Values = values
	opts := b.opts.Charts
	if len(chart.ApiVersions) > 0 {
		opts.APIVersions = chart.ApiVersions
	}
	if chart.KubeVersion != "" {
		opts.KubeVersion = chart.KubeVersion
	}
	release := chart.ReleaseName
	if release == "" {
		release = b.opts.Release
	}
	namespace := chart.Namespace
	if namespace == "" {
		namespace = "default"
	}
	result, err := helm.Render(b.ctx, view, helm.Request{Source: src, Release: release, Namespace: namespace}, opts)
	b.readsCapabilities = b.readsCapabilities || result.ReadsCapabilities
	for _, l := range result.Lacking {
		b.lack(l)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(result.Objects, func(o manifest.Object) bool {
		_, isHook := o.GetAnnotations()["helm.sh/hook"]
		return isHook && chart.SkipHooks
	}), nil
}

// chartValues merges the values of a chart as kustomize does: valuesInline
// overrides valuesFile, or the other way round, and additional files win.
func (b *build) chartValues(folder string, chart types.HelmChart, at finding.Position) (map[string]any, error) {
	read := func(name string) (map[string]any, error) {
		if remoteReference.MatchString(name) {
			return nil, source.Errorf(at, "remote values file %s is not fetched; vendor it", name)
		}
		data, err := b.files.read(path.Join(folder, name))
		if err != nil {
			return nil, source.Errorf(at, "values of chart %s: %w", chart.Name, err)
		}
		values, err := loader.LoadValues(bytes.NewReader(data))
		if err != nil {
			return nil, source.Errorf(at, "values file %s of chart %s: %w", name, chart.Name, err)
		}
		return values, nil
	}
	base := map[string]any{}
	if chart.ValuesFile != "" {
		values, err := read(chart.ValuesFile)
		if err != nil {
			return nil, err
		}
		base = values
	}
	merged := base
	if len(chart.ValuesInline) > 0 {
		switch chart.ValuesMerge {
		case "", "override":
			merged = loader.MergeMaps(base, chart.ValuesInline)
		case "merge":
			merged = loader.MergeMaps(chart.ValuesInline, base)
		case "replace":
			merged = chart.ValuesInline
		default:
			return nil, source.Errorf(at, "valuesMerge of chart %s must be merge, override or replace", chart.Name)
		}
	}
	for _, name := range chart.AdditionalValuesFiles {
		values, err := read(name)
		if err != nil {
			return nil, err
		}
		merged = loader.MergeMaps(merged, values)
	}
	return merged, nil
}

// legacyCharts is what helmCharts were called before.
const legacyCharts = "helmChartInflationGenerator"

// renewCharts writes the charts of the older field as those of the newer one. Source: kustomize,
// FixKustomizationPostUnmarshalling.
func renewCharts(doc map[string]any) bool {
	if doc[legacyCharts] == nil {
		return false
	}
	var old []types.HelmChartArgs
	if !recode(doc[legacyCharts], &old) {
		return false // kustomize refuses it
	}
	charts, globals := types.SplitHelmParameters(old)
	var renewed []any
	if !recode(charts, &renewed) {
		return false
	}
	own, _ := doc["helmCharts"].([]any)
	doc["helmCharts"] = append(own, renewed...)
	if globals.ChartHome != "" && doc["helmGlobals"] == nil {
		doc["helmGlobals"] = map[string]any{"chartHome": globals.ChartHome}
	}
	delete(doc, legacyCharts)
	return true
}

// recode writes a value as YAML and reads that as another one.
func recode(from, to any) bool {
	data, err := yaml.Marshal(from)
	return err == nil && yaml.Unmarshal(data, to) == nil
}
