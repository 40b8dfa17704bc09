package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/helm"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// rewrite prepares a kustomization for kustomize: charts become a resource,
// remote files are fetched, and the top one is asked to say where resources
// come from. A file that does not parse is left to kustomize.
func (b *build) rewrite(file string, data []byte) ([]byte, error) {
	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil || doc == nil {
		return data, nil //nolint:nilerr // left to kustomize, as said above
	}
	locate := manifest.NewLocator(data)
	at := func(field string) finding.Position {
		line := 1
		if docs := manifest.Split(data); len(docs) > 0 {
			line = max(1, locate.Line(docs[0].Line, field))
		}
		if !b.files.own(file) {
			return b.position() // what was fetched is named there
		}
		return finding.Position{File: b.files.rel(file), Line: line}
	}
	spelled := canonical(doc)
	if filepath.Dir(file) == b.root {
		b.src.Kustomize.Apply(doc)
	}
	if isEmpty(doc) {
		return data, nil // kustomize refuses it
	}
	changed, err := b.remoteReferences(file, doc, at)
	if err != nil {
		return nil, err
	}
	if without, err := b.remoteFiles(file, doc, at); err != nil {
		return nil, err
	} else if without {
		changed = true
	}
	if renew(doc) || spelled {
		changed = true
	}
	if b.withoutPatches {
		changed = dropNamedPatches(doc) || changed
		changed = dropMergingGenerators(doc) || changed
	}
	if inflated, err := b.inflators(file, doc, at); err != nil {
		return nil, err
	} else if inflated {
		changed = true
	}
	if without, err := b.programs(file, doc, at); err != nil {
		return nil, err
	} else if without {
		changed = true
	}
	if doc["helmCharts"] != nil {
		changed = true
		if err := b.helmCharts(file, doc, at); err != nil {
			return nil, err
		}
	}
	if filepath.Dir(file) == b.root {
		changed = true
		metadata, _ := doc["buildMetadata"].([]any)
		b.keepOrigins = slices.Contains(metadata, any(types.OriginAnnotations))
		if !b.keepOrigins {
			doc["buildMetadata"] = append(metadata, types.OriginAnnotations)
		}
	}
	if !changed {
		return data, nil
	}
	if isEmpty(doc) {
		doc["buildMetadata"] = []any{} // or kustomize refuses the file, and with it what takes it
	}
	out, err := yaml.Marshal(doc)
	if err != nil {
		return nil, source.Errorf(at(""), "%w", err)
	}
	return out, nil
}

// isEmpty reports whether a kustomization says nothing any more, since all that it had is
// lacking. Source: kustomize, Kustomization.CheckEmpty.
func isEmpty(doc map[string]any) bool {
	for key, value := range doc {
		if key != "apiVersion" && key != "kind" && value != nil {
			return false
		}
	}
	return true
}

// fields are the names of a kustomization's fields by their lower-case form.
var fields = func() map[string]string {
	all := map[string]string{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			all[strings.ToLower(name)] = name
		}
	}
	return all
}()

// canonical spells the fields as kustomize names them: it takes them in any case, as
// Go's JSON does.
func canonical(doc map[string]any) bool {
	changed := false
	for _, key := range slices.Sorted(maps.Keys(doc)) {
		name, known := fields[strings.ToLower(key)]
		if _, there := doc[name]; !known || key == name || there {
			continue
		}
		doc[name] = doc[key]
		delete(doc, key)
		changed = true
	}
	return changed
}

// renew puts two old fields into their new form, which means the same; kustomize
// would complain about them on standard error. Source: kustomize edit fix.
func renew(doc map[string]any) bool {
	renewed := false
	if bases, ok := doc["bases"].([]any); ok {
		resources, _ := doc["resources"].([]any)
		doc["resources"] = append(resources, bases...)
		delete(doc, "bases")
		renewed = true
	}
	if common, ok := doc["commonLabels"].(map[string]any); ok {
		labels, _ := doc["labels"].([]any)
		doc["labels"] = append(labels, map[string]any{"pairs": common, "includeSelectors": true})
		delete(doc, "commonLabels")
		renewed = true
	}
	return renewCharts(doc) || renewed
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

// dropNamedPatches takes out what fails where the object that it names is left
// out: patches that say their target themselves, and replacements.
func dropNamedPatches(doc map[string]any) bool {
	_, strategic := doc["patchesStrategicMerge"]
	_, replacements := doc["replacements"]
	delete(doc, "patchesStrategicMerge")
	delete(doc, "replacements")
	patches, _ := doc["patches"].([]any)
	kept := slices.DeleteFunc(slices.Clone(patches), func(p any) bool {
		m, _ := p.(map[string]any)
		return m["target"] == nil
	})
	if len(kept) == len(patches) {
		return strategic || replacements
	}
	doc["patches"] = kept
	return true
}

// dropMergingGenerators takes out the generators that change a ConfigMap or Secret
// of somewhere else, which may be what is left out. Source: kustomize, "behavior"
// of configMapGenerator.
func dropMergingGenerators(doc map[string]any) bool {
	changed := false
	for _, list := range []string{"configMapGenerator", "secretGenerator"} {
		entries, _ := doc[list].([]any)
		kept := slices.DeleteFunc(slices.Clone(entries), func(entry any) bool {
			m, _ := entry.(map[string]any)
			return m["behavior"] == "merge" || m["behavior"] == "replace"
		})
		if len(kept) < len(entries) {
			doc[list] = kept
			changed = true
		}
	}
	return changed
}

// named are the fields of a kustomization whose entries are files or folders.
var named = []string{"resources", "bases", "components", "crds", "configurations", "generators", "transformers", "validators", "patchesStrategicMerge"}

// remoteReferences fetches the entries that are not in the repository, and puts what
// was fetched in their place. Files that other fields name by an address are asked
// for when kustomize reads them.
func (b *build) remoteReferences(file string, doc map[string]any, at func(string) finding.Position) (bool, error) {
	changed := false
	for _, field := range named {
		entries, _ := doc[field].([]any)
		var kept []any
		for i, entry := range entries {
			kept = append(kept, entry)
			text, _ := entry.(string)
			if !remoteReference.MatchString(text) || strings.Contains(text, "\n") || b.files.Exists(path.Join(path.Dir(file), text)) {
				continue
			}
			where := at(fmt.Sprintf("%s[%d]", field, i))
			place, problem := b.remote(file, text, fmt.Sprintf("ladder-remote-%s-%d.yaml", field, i), where)
			changed = true
			switch {
			case problem == nil:
				kept[len(kept)-1] = place
			case b.opts.Charts.Partial && b.ctx.Err() == nil:
				b.lack(source.Lacking{Namespace: b.opts.Namespace, Err: problem, Source: model.Source{
					Kind: model.Git, RepoURL: text, Position: problem.Position,
				}})
				kept = kept[:len(kept)-1]
			default:
				return false, problem
			}
		}
		if changed && entries != nil {
			doc[field] = kept
		}
	}
	return changed, nil
}

// remoteFiles puts empty files in the place of those that generators name by an address,
// where nothing is fetched: the keys are known, what is under them is not.
func (b *build) remoteFiles(file string, doc map[string]any, at func(string) finding.Position) (bool, error) {
	if b.opts.Remote != nil {
		return false, nil // kustomize asks for them
	}
	changed := false
	for _, generators := range []string{"configMapGenerator", "secretGenerator"} {
		entries, _ := doc[generators].([]any)
		for i, entry := range entries {
			m, _ := entry.(map[string]any)
			for _, list := range []string{"files", "envs"} {
				names, _ := m[list].([]any)
				for j, written := range names {
					text, _ := written.(string)
					key, address, named := strings.Cut(text, "=")
					if list == "envs" || !named || !remoteFile.MatchString(address) {
						key, address = path.Base(text), text
					}
					if !remoteFile.MatchString(address) {
						continue
					}
					where := at(fmt.Sprintf("%s[%d]", generators, i))
					problem := source.Errorf(where, "remote file %s is not fetched offline; vendor it or run without --offline", address)
					if !b.opts.Charts.Partial || b.ctx.Err() != nil {
						return false, problem
					}
					b.lack(source.Lacking{Namespace: b.opts.Namespace, Err: problem, Source: model.Source{
						Kind: model.Git, RepoURL: address, Position: where,
					}})
					place := fmt.Sprintf("ladder-remote-%s-%d-%d", generators, i, j)
					b.files.replace[filepath.Join(filepath.Dir(file), place)] = []byte{}
					if list == "files" {
						place = key + "=" + place
					}
					names[j], changed = place, true
				}
			}
		}
	}
	return changed, nil
}

// remoteFile matches the address of a file that kustomize loads. Source: kustomize,
// api/loader/fileloader.go, Load.
var remoteFile = lazyregexp.New(`^https?://`)

// remote fetches an address and returns the relative path that stands for it.
func (b *build) remote(file, address, name string, at finding.Position) (string, *source.Error) {
	if b.opts.Remote == nil {
		return "", &source.Error{Position: at, Reason: fmt.Sprintf("remote base %s is not rendered offline; vendor it or run without --offline", address)}
	}
	b.files.view.MarkRemote()
	fetched, err := b.opts.Remote(address)
	if err != nil {
		return "", &source.Error{Position: at, Err: err, Reason: fmt.Sprintf("remote base %s cannot be fetched: %v; vendor it", address, err)}
	}
	if fetched.Checkout == nil {
		b.files.replace[filepath.Join(filepath.Dir(file), name)] = fetched.Content
		return name, nil
	}
	place, err := filepath.Rel(filepath.Dir(file), path.Join(b.files.add(fetched.Checkout), fetched.Path))
	if err != nil {
		return "", source.Errorf(at, "remote base %s: %w", address, err)
	}
	return place, nil
}

// lack records a remote source that is left out.
func (b *build) lack(l source.Lacking) {
	if b.opts.Charts.Fetch != nil {
		b.files.view.MarkRemote() // the next time it may be there
	}
	b.note(l)
}

// note records what is left out, once: a kustomization may be built twice.
func (b *build) note(l source.Lacking) {
	for _, have := range b.lacking {
		if have.Err.Position == l.Err.Position && have.Source.RepoURL == l.Source.RepoURL && have.Source.Name == l.Source.Name {
			return
		}
	}
	b.lacking = append(b.lacking, l)
}

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
	src := model.Source{Kind: model.Chart, SkipCRDs: !chart.IncludeCRDs, Position: at}
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
		hook, isHook := o.GetAnnotations()["helm.sh/hook"]
		return isHook && (chart.SkipHooks || chart.SkipTests && strings.HasPrefix(hook, "test"))
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
