package kustomize

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// pluginFields are the fields of a kustomization that may name programs.
var pluginFields = []string{"generators", "transformers", "validators"}

// programs takes out the plugins that are programs, where a part is asked for: they
// are not run. What a program that decrypts would make is known but for the values.
func (b *build) programs(file string, doc map[string]any, at func(string) finding.Position) (bool, error) {
	if !b.opts.Charts.Partial {
		return false, nil
	}
	changed := false
	folder := path.Dir(file)
	for _, field := range pluginFields {
		entries, _ := doc[field].([]any)
		var kept []any
		for i, entry := range entries {
			text, _ := entry.(string)
			where := at(fmt.Sprintf("%s[%d]", field, i))
			plugins, err := b.pluginsIn(folder, text)
			if err != nil {
				return false, source.Errorf(where, "%s %s: %w", strings.TrimSuffix(field, "s"), firstLine(text), err)
			}
			program := foreign(plugins)
			if program == "" {
				kept = append(kept, entry)
				continue
			}
			changed = true
			b.note(source.Lacking{Namespace: b.opts.Namespace, Source: model.Source{Kind: model.Kustomize, Path: b.files.rel(folder), Name: program, Position: where},
				Err: &source.Error{Position: where, Reason: fmt.Sprintf("%s %s needs the plugin %s, which is not run", strings.TrimSuffix(field, "s"), firstLine(text), program)}})
			if secrets := b.encrypted(folder, plugins); len(secrets) > 0 {
				name := fmt.Sprintf("ladder-%s-%d.yaml", field, i)
				if err := b.put(filepath.Join(filepath.Dir(file), name), secrets); err != nil {
					return false, source.Errorf(where, "%w", err)
				}
				resources, _ := doc["resources"].([]any)
				doc["resources"] = append(resources, name)
			}
		}
		if len(kept) == len(entries) {
			continue
		}
		if doc[field] = kept; len(kept) == 0 {
			delete(doc, field)
		}
	}
	return changed, nil
}

// foreign is the kind of the first plugin that is no part of kustomize; "" where
// there is none.
func foreign(plugins []map[string]any) string {
	for _, p := range plugins {
		kind, _ := p["kind"].(string)
		if version, _ := p["apiVersion"].(string); version != "builtin" && version != "" && kind != "" && kind != "Kustomization" {
			return kind
		}
	}
	return ""
}

// put writes objects as a file that is a resource of the kustomization.
func (b *build) put(file string, objects []manifest.Object) error {
	var text bytes.Buffer
	for _, o := range objects {
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("write %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		text.WriteString("---\n")
		text.Write(data)
	}
	b.files.replace[file] = text.Bytes()
	b.charts[file] = chartOrigins{objects}
	return nil
}

// decrypts reports whether a generator is KSOPS, which decrypts the files that it names:
// objects of which only the values are encrypted. A generator that is a program may have
// any kind. Source: github.com/viaduct-ai/kustomize-sops, README.
func decrypts(plugin map[string]any) bool {
	kind, _ := plugin["kind"].(string)
	version, _ := plugin["apiVersion"].(string)
	return strings.EqualFold(kind, "ksops") || strings.HasPrefix(version, "viaduct.ai/")
}

// encrypted are the objects of the files that a plugin decrypts, without what is
// encrypted. What is not readable as it is, is left out.
func (b *build) encrypted(folder string, plugins []map[string]any) []manifest.Object {
	var all []manifest.Object
	for _, p := range plugins {
		names, _ := p["files"].([]any)
		if !decrypts(p) {
			continue
		}
		for _, n := range names {
			name, _ := n.(string)
			file := path.Join(folder, name)
			data, err := b.files.read(file)
			if err != nil {
				continue
			}
			documents, err := manifest.Parse(data)
			if err != nil {
				continue
			}
			for _, d := range documents {
				if o := withoutValues(d.Object); o != nil {
					all = append(all, manifest.Object{Unstructured: o, Origin: manifest.Origin{File: b.files.rel(file), Line: d.Line}})
				}
			}
		}
	}
	return all
}

// behaviour is the annotation of an object that a plugin merges into another, or
// puts in its place. Source: kustomize, "Generator plugins".
const behaviour = "kustomize.config.k8s.io/behavior"

// withoutValues is a Secret or ConfigMap with all its keys and no value, and anything
// else without what is encrypted of it; nil for what has no readable name, and for what
// changes an object that is there.
func withoutValues(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, text := range []string{o.GetAPIVersion(), o.GetKind(), o.GetName()} {
		if text == "" || isEncrypted(text) {
			return nil
		}
	}
	if o.GetAnnotations()[behaviour] != "" || isEncrypted(o.GetNamespace()) {
		return nil
	}
	out := o.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "sops")
	if o.GetAPIVersion() == "v1" && (o.GetKind() == "Secret" || o.GetKind() == "ConfigMap") {
		for _, field := range []string{"data", "stringData", "binaryData"} {
			values, _ := out.Object[field].(map[string]any)
			for key := range values {
				values[key] = ""
			}
		}
	}
	out.Object, _ = readable(out.Object).(map[string]any)
	return out
}

// isEncrypted reports whether SOPS encrypted a value. Source: SOPS, "Encryption protocol".
func isEncrypted(text string) bool { return strings.HasPrefix(text, "ENC[") }

// readable is a value without what is encrypted in it; nil where all of it is.
func readable(value any) any {
	switch v := value.(type) {
	case string:
		if isEncrypted(v) {
			return nil
		}
	case map[string]any:
		for key, of := range v {
			if v[key] = readable(of); v[key] == nil && of != nil {
				delete(v, key)
			}
		}
	case []any:
		var kept []any
		for _, of := range v {
			if left := readable(of); left != nil || of == nil {
				kept = append(kept, left)
			}
		}
		return kept
	}
	return value
}

func firstLine(text string) string { return strings.SplitN(text, "\n", 2)[0] }
