package kustomize

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
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
		b.namespace, _ = doc["namespace"].(string)
	}
	if isEmpty(doc) {
		return data, nil // kustomize refuses it
	}
	b.patching = append(b.patching, patchingOf(file, doc))
	before := len(b.lacking)
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
	b.moved(before, doc)
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

// moved notes that what a kustomization lacks goes into its namespace, or into that of the one
// that is built.
func (b *build) moved(first int, doc map[string]any) {
	own, _ := doc["namespace"].(string)
	namespace := cmp.Or(b.namespace, own)
	if namespace == "" {
		return
	}
	for i := range b.lacking[first:] {
		b.lacking[first+i].Namespace, b.lacking[first+i].Moved = namespace, true
	}
}

// dropNamedPatches takes out what fails where the object that it names is left
// out: patches that say their target themselves, replacements, and numbers of replicas.
func dropNamedPatches(doc map[string]any) bool {
	_, strategic := doc["patchesStrategicMerge"]
	_, replacements := doc["replacements"]
	_, replicas := doc["replicas"]
	for _, field := range []string{"patchesStrategicMerge", "replacements", "replicas"} {
		delete(doc, field)
	}
	patches, _ := doc["patches"].([]any)
	kept := slices.DeleteFunc(slices.Clone(patches), func(p any) bool {
		m, _ := p.(map[string]any)
		return m["target"] == nil
	})
	if len(kept) == len(patches) {
		return strategic || replacements || replicas
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
		if field == "bases" && entries != nil && len(kept) == 0 {
			delete(doc, field) // kustomize moves them into resources, and finds that empty
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
		return "", &source.Error{Position: at, Reason: fmt.Sprintf("remote base %s is %s; vendor it or run without --offline", address, finding.Offline)}
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
