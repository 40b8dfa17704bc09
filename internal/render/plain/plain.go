package plain

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

// Filter chooses files by glob patterns on their path relative to the folder,
// as the include and exclude fields of Argo CD's directory sources: "*.yaml",
// "{a,b}/**", "config.yaml". Empty patterns choose everything.
type Filter struct{ Include, Exclude string }

func (f Filter) takes(rel string) bool {
	match := func(pattern string) bool {
		ok, err := doublestar.Match(pattern, rel)
		return err == nil && ok
	}
	if f.Include != "" && !match(f.Include) {
		return false
	}
	return f.Exclude == "" || !match(f.Exclude)
}

// skipMarker in a file keeps Argo CD, and so us, from reading it.
const skipMarker = "+argocd:skip-file-rendering"

// Render reads the objects of a file or folder, files in sorted order. In a
// folder, documents that are no Kubernetes objects (no apiVersion and kind) are
// passed over when their file holds none at all: values files, kustomizations
// and the like; in a file that mixes both they are a *source.Problem, as for
// Argo CD. A file that is named itself must hold objects only.
func Render(ctx context.Context, view *source.View, src component.Source, filter Filter) ([]manifest.Object, error) {
	kind, err := view.Stat(src.Path)
	if err != nil {
		return nil, source.Problemf(src.Position, "manifests: %w", err)
	}
	switch kind {
	case source.Missing:
		return nil, source.Problemf(src.Position, "manifests %s do not exist; correct the path or add them", src.Path)
	case source.File:
		return readFile(view, src.Path, true)
	}
	var out []manifest.Object
	skip := func(rel string) bool { return !src.Recurse || strings.HasPrefix(path.Base(rel), ".git") }
	err = view.Walk(src.Path, skip, func(rel string) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !isManifest(rel) || !filter.takes(rel) {
			return nil
		}
		objects, err := readFile(view, path.Join(src.Path, rel), false)
		out = append(out, objects...)
		return err
	})
	var problem *source.Problem
	if err != nil && !errors.As(err, &problem) {
		return nil, source.Problemf(src.Position, "manifests %s: %w", src.Path, err)
	}
	return out, err
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}

// readFile reads the objects of a file.
func readFile(view *source.View, name string, strict bool) ([]manifest.Object, error) {
	data, err := view.Read(name)
	if err != nil {
		return nil, source.Problemf(finding.Position{File: name}, "%w", err)
	}
	if strings.Contains(string(data), skipMarker) {
		return nil, nil
	}
	var out []manifest.Object
	var stray *source.Problem
	for _, doc := range manifest.Split(data) {
		at := finding.Position{File: name, Line: doc.Line}
		value, err := doc.Decode()
		var syntax *manifest.SyntaxError
		if errors.As(err, &syntax) {
			return nil, &source.Problem{Position: finding.Position{File: name, Line: syntax.Line}, Reason: "YAML: " + syntax.Message, Err: err}
		}
		if err != nil {
			return nil, source.Problemf(at, "%w", err)
		}
		if value == nil {
			continue
		}
		object, ok := value.(map[string]any)
		if ok && len(object) == 0 {
			continue
		}
		if !ok || isForeign(object) {
			if stray == nil {
				stray = source.Problemf(at, "the document is not a Kubernetes object: it has no apiVersion and kind")
			}
			continue
		}
		flat, err := manifest.Flatten(object)
		if err != nil {
			return nil, source.Problemf(at, "%w", err)
		}
		for _, u := range flat {
			out = append(out, manifest.Object{Unstructured: u, Origin: manifest.Origin{File: name, Line: doc.Line}})
		}
	}
	if stray != nil && (strict || len(out) > 0) {
		return nil, stray
	}
	return out, nil
}

// isForeign says that a mapping does not even look like an object, or is one
// that only tools read: a kustomization.
func isForeign(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/") {
		return true
	}
	return apiVersion == "" && kind == ""
}
