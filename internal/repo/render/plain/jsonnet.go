package plain

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/google/go-jsonnet"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// readJsonnet evaluates a file that yields an object or a list of objects. Source: Argo
// CD, reposerver/repository, findManifests and makeJsonnetVM.
func readJsonnet(view source.View, name string, src model.Source, note Note) ([]manifest.Object, error) {
	vm := jsonnet.MakeVM()
	libs := []string{src.Path}
	if src.Jsonnet != nil {
		for _, v := range src.Jsonnet.ExtVars {
			set(v, vm.ExtVar, vm.ExtCode)
		}
		for _, v := range src.Jsonnet.TLAs {
			set(v, vm.TLAVar, vm.TLACode)
		}
		libs = append(libs, src.Jsonnet.Libs...)
	}
	vm.Importer(&imports{view: view, libs: libs, read: map[string]jsonnet.Contents{}})
	at := finding.Position{File: name, Line: 1}
	note(at, "the Jsonnet "+name)
	text, err := vm.EvaluateFile(name)
	if err != nil {
		return nil, jsonnetError(at, err)
	}
	value, err := manifest.Document{Text: []byte(text), Line: 1}.Decode()
	if err != nil {
		return nil, source.Errorf(at, "what the Jsonnet yields cannot be read: %w", err)
	}
	values, ok := value.([]any)
	if !ok {
		values = []any{value}
	}
	var out []manifest.Object
	for _, value := range values {
		if value == nil {
			continue
		}
		object, ok := value.(map[string]any)
		if !ok || object["kind"] == nil {
			return nil, source.Errorf(at, "the Jsonnet yields something that is no Kubernetes object: it has no kind")
		}
		flat, err := manifest.Flatten(object)
		if err != nil {
			return nil, source.Errorf(at, "%w", err)
		}
		for _, u := range flat {
			out = append(out, manifest.Object{Unstructured: u, Origin: manifest.Origin{File: name, Line: 1}})
		}
	}
	return out, nil
}

func set(v model.JsonnetVariable, text, code func(name, value string)) {
	if v.Code {
		code(v.Name, v.Value)
		return
	}
	text(v.Name, v.Value)
}

var (
	// place is where Jsonnet says that an error is: before its message, or in the first
	// line of the trace after it.
	place = lazyregexp.New(`(?m)^\s*([^\s:]+sonnet:\d+[\d:()-]*)\s`)
	// telling are the messages that quote nothing but names and paths of imports.
	telling = lazyregexp.New(`^(?:\S+:\d\S* )?(Unknown variable: \w+|max stack frames exceeded\.|Computed imports are not allowed|Unterminated String|there is no \S+ to import|the import \S+ leaves the repository)$`)
)

// jsonnetError says where an error is. Its message may quote any value, a secret too, so
// that only those that cannot are repeated.
func jsonnetError(at finding.Position, err error) error {
	text := strings.TrimPrefix(err.Error(), "RUNTIME ERROR: ")
	where, why := "", "run jsonnet on it to see why"
	if found := place.FindStringSubmatch(text); found != nil {
		where = " at " + found[1]
	}
	message, _, _ := strings.Cut(text, "\n")
	if found := telling.FindStringSubmatch(message); found != nil {
		why = found[1]
	}
	return source.Errorf(at, "the Jsonnet cannot be evaluated%s: %s", where, why)
}

// imports finds what a file imports, in the repository only: beside the file, then in
// the libraries, the last one first. It implements jsonnet.Importer.
type imports struct {
	view source.View
	libs []string
	// read keeps the files: of one file there is one content.
	read map[string]jsonnet.Contents
}

// Import implements jsonnet.Importer.
func (i *imports) Import(from, wanted string) (jsonnet.Contents, string, error) {
	if path.IsAbs(wanted) {
		return jsonnet.Contents{}, "", fmt.Errorf("the import %s leaves the repository", wanted)
	}
	folders := []string{path.Dir(from)}
	if from == "" { // the file that is evaluated
		folders = []string{"."}
	}
	for _, lib := range slices.Backward(i.libs) {
		folders = append(folders, lib)
	}
	for _, folder := range folders {
		name := path.Join(folder, wanted)
		if content, ok := i.read[name]; ok {
			return content, name, nil
		}
		if kind, err := i.view.Stat(name); err != nil || kind != source.File {
			var escape *source.EscapeError
			if err != nil && !errors.As(err, &escape) {
				return jsonnet.Contents{}, "", err
			}
			continue // the next one may have it
		}
		data, err := i.view.Read(name)
		if err != nil {
			return jsonnet.Contents{}, "", err
		}
		i.read[name] = jsonnet.MakeContentsRaw(data)
		return i.read[name], name, nil
	}
	return jsonnet.Contents{}, "", fmt.Errorf("there is no %s to import", wanted)
}
