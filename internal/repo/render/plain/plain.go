package plain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// skipMarker in a file keeps Argo CD, and so us, from reading it.
const skipMarker = "+argocd:skip-file-rendering"

// Note is told what is worked on, which is named where it does not end.
type Note func(at finding.Position, what string)

// Render reads the objects of a file or folder, files in sorted order. In a
// folder, YAML files that hold no objects and do not look as if they should are
// passed over: values files, charts, kustomizations. A file that is named itself
// must hold objects only. encrypted are files of a folder that may hold objects as
// well. Errors about the repository are *source.Error.
func Render(ctx context.Context, view source.View, src model.Source, filter source.Filter, note Note) (out []manifest.Object, encrypted []*source.Error, err error) {
	note(src.Position, "the folder of manifests "+src.Path)
	kind, err := view.Stat(src.Path)
	if err != nil {
		return nil, nil, source.Errorf(src.Position, "manifests: %w", err)
	}
	switch kind {
	case source.Missing:
		return nil, nil, source.Absent(src.Position, "folder", src.Path)
	case source.File:
		out, err = readFile(view, src.Path, true)
		return out, nil, err
	case source.Folder:
	}
	skip := func(rel string) bool { return !src.Recurse || strings.HasPrefix(path.Base(rel), ".git") }
	err = source.Walk(view, src.Path, skip, func(rel string) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !filter.Takes(rel) {
			return nil
		}
		var objects []manifest.Object
		var err error
		if name := path.Join(src.Path, rel); path.Ext(rel) == source.Jsonnet {
			objects, err = readJsonnet(view, name, src, note)
		} else {
			objects, err = readFile(view, name, false)
		}
		out = append(out, objects...)
		var unreadable *source.Error
		if errors.Is(err, source.ErrEncrypted) && errors.As(err, &unreadable) {
			encrypted = append(encrypted, unreadable)
			return nil
		}
		return err
	})
	var problem *source.Error
	if err != nil && !errors.As(err, &problem) {
		return nil, nil, source.Errorf(src.Position, "manifests %s: %w", src.Path, err)
	}
	return out, encrypted, err
}

// readFile reads the objects of a file. What is no object is a problem in a file
// that was named, in one that also holds objects, and in one that looks as if it
// should; else the file is something other and is passed over. Source: Argo CD's
// directory sources.
func readFile(view source.View, name string, strict bool) ([]manifest.Object, error) {
	data, err := view.Read(name)
	if err != nil {
		return nil, source.Errorf(finding.Position{File: name}, "%w", err)
	}
	if bytes.Contains(data, []byte(skipMarker)) {
		return nil, nil
	}
	if manifest.IsPointer(data) {
		return nil, source.Errorf(finding.Position{File: name, Line: 1}, "%s is a pointer of Git LFS, not the file; run git lfs pull", name)
	}
	if tool := manifest.EncryptedBy(data); tool != "" {
		return nil, source.Encrypted(name, tool)
	}
	if !strict && path.Ext(name) == ".json" {
		if problem := noObject(data); problem != "" {
			return nil, source.Errorf(finding.Position{File: name, Line: 1}, "%s %s, and Argo CD takes every .json file of the folder for one object: the Application is not rendered; exclude it (directory.exclude), or move it away", name, problem)
		}
	}
	var out []manifest.Object
	var stray error
	for _, doc := range manifest.Split(data) {
		objects, err := readDocument(name, doc)
		out = append(out, objects...)
		if err != nil && stray == nil {
			stray = err
		}
	}
	if stray != nil && (strict || len(out) > 0 || isMeant(data, stray) || errors.Is(stray, source.ErrEncrypted)) {
		return nil, stray
	}
	return out, nil
}

// noObject says why a JSON file is not one object; empty where it is. Source: Argo CD,
// reposerver/repository, getObjsFromYAMLOrJSON.
func noObject(data []byte) string {
	documents := json.NewDecoder(bytes.NewReader(data))
	var object map[string]any
	if err := documents.Decode(&object); err != nil {
		return "is no JSON object"
	}
	switch kind, _ := object["kind"].(string); {
	case kind == "":
		return "has no kind"
	case documents.More():
		return "holds several objects"
	}
	return ""
}

// isMeant reports whether a file with a problem is meant to hold objects. One that is YAML,
// and has no metadata, is not: values of charts name kinds as well. Argo CD applies one
// without an apiVersion, which the API server does not know. Source: Argo CD,
// reposerver/repository, getObjsFromYAMLOrJson.
func isMeant(data []byte, problem error) bool {
	if errors.Is(problem, manifest.ErrNoVersion) {
		return true
	}
	if errors.Is(problem, manifest.ErrNoObject) && !bytes.Contains(data, []byte("metadata:")) {
		return false
	}
	return manifest.LooksLike(data)
}

// readDocument reads the objects of one document.
func readDocument(name string, doc manifest.Document) ([]manifest.Object, error) {
	at := finding.Position{File: name, Line: doc.Line}
	value, err := doc.Decode()
	var syntax *manifest.SyntaxError
	if errors.As(err, &syntax) {
		at.Line = syntax.Line
		return nil, &source.Error{Position: at, Reason: "not valid YAML: " + syntax.Message, Err: err}
	}
	if err != nil {
		return nil, source.Errorf(at, "%w", err)
	}
	object, ok := value.(map[string]any)
	if value == nil || ok && len(object) == 0 {
		return nil, nil
	}
	if isKustomization(object) {
		return nil, nil
	}
	if isWhole(object) {
		return nil, source.Encrypted(name, "SOPS")
	}
	if !ok {
		return nil, source.Errorf(at, "the document is not a Kubernetes object: it has no apiVersion and kind")
	}
	flat, err := manifest.Flatten(object)
	if err != nil {
		return nil, source.Errorf(at, "%w", err)
	}
	var out []manifest.Object
	for _, u := range flat {
		out = append(out, manifest.Object{Unstructured: u, Origin: manifest.Origin{File: name, Line: doc.Line}})
	}
	return out, nil
}

// isKustomization recognises what only kustomize reads.
func isKustomization(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	return strings.HasPrefix(apiVersion, "kustomize.config.k8s.io/")
}

// isWhole recognises a file that SOPS encrypted whole, with the names of its
// fields. Source: SOPS, the binary format.
func isWhole(object map[string]any) bool {
	data, _ := object["data"].(string)
	_, sops := object["sops"].(map[string]any)
	return sops && len(object) == 2 && strings.HasPrefix(data, "ENC[")
}
