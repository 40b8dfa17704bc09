package helm

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// layer merges the values of a source in Helm's order: files as listed, inline
// values, parameters. last is the last file that was there.
func layer(view source.View, src model.Source) (layered, string, error) {
	out := layered{merged: map[string]any{}}
	last := ""
	for _, file := range src.ValueFiles {
		at := file.Position
		if at.File == "" {
			at = src.Position
		}
		data, err := view.Read(file.Path)
		if missingFile(err) && file.Optional {
			continue
		}
		if missingFile(err) {
			return layered{}, "", &source.Error{Position: at, Err: err,
				Reason: "value file " + file.Path + " does not exist; add it, or mark it optional (ignoreMissingValueFiles)"}
		}
		if err != nil {
			return layered{}, "", source.Errorf(at, "value file: %w", err)
		}
		values, err := readValues(file.Path, data)
		if err != nil {
			return layered{}, "", err
		}
		out.merged = loader.MergeMaps(out.merged, values)
		out.text = append(append(out.text, data...), '\n')
		last = file.Path
	}
	if len(src.Values) > 0 {
		inline, err := copyValues(src.Values)
		if err != nil {
			return layered{}, "", source.Errorf(src.Position, "the inline values cannot be read: %w", err)
		}
		out.merged = loader.MergeMaps(out.merged, inline)
		text, _ := json.Marshal(inline)
		out.text = append(append(out.text, text...), '\n')
	}
	for _, name := range slices.Sorted(maps.Keys(src.StringParameters)) {
		value := src.StringParameters[name]
		if err := strvals.ParseIntoString(name+"="+escapeParameter(value), out.merged); err != nil {
			return layered{}, "", source.Errorf(src.Position, "parameter %s cannot be set: %w", name, err)
		}
		out.text = append(append(out.text, value...), '\n')
	}
	if err := fileParameters(view, src, out.merged); err != nil {
		return layered{}, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(src.Parameters)) {
		value := src.Parameters[name]
		if err := strvals.ParseInto(name+"="+escapeParameter(value), out.merged); err != nil {
			return layered{}, "", source.Errorf(src.Position, "parameter %s cannot be set: %w", name, err)
		}
		out.text = append(append(out.text, value...), '\n')
	}
	return out, last, nil
}

// fileParameters sets values to the content of files, as --set-file.
func fileParameters(view source.View, src model.Source, into map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(src.FileParameters)) {
		file := src.FileParameters[name]
		data, err := view.Read(file)
		if err != nil {
			return source.Errorf(src.Position, "file parameter %s: %s cannot be read: %w", name, file, err)
		}
		read := func([]rune) (any, error) { return string(data), nil }
		if err := strvals.ParseIntoFile(name+"="+file, into, read); err != nil {
			return source.Errorf(src.Position, "file parameter %s cannot be set: %w", name, err)
		}
	}
	return nil
}

// escapeParameter keeps commas that are part of the value of --set, except in
// list notation. Source: Argo CD's helm parameters do the same.
func escapeParameter(value string) string {
	if strings.HasPrefix(value, "{") {
		return value
	}
	var b strings.Builder
	for i := range len(value) {
		if value[i] == ',' && (i == 0 || value[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// pointer is how a file begins that Git LFS keeps elsewhere. Source: Git LFS
// specification, "The Pointer".
const pointer = "version https://git-lfs.github.com/spec/"

func readValues(file string, data []byte) (map[string]any, error) {
	if bytes.HasPrefix(data, []byte(pointer)) {
		return nil, source.Errorf(finding.Position{File: file, Line: 1}, "%s is a pointer of Git LFS, not the file; run git lfs pull", file)
	}
	if tool := manifest.EncryptedBy(data); tool != "" {
		return nil, source.Encrypted(file, tool)
	}
	if err := manifest.CheckAliases(data); err != nil {
		return nil, checkYAML(file, data)
	}
	values, err := loader.LoadValues(bytes.NewReader(data))
	if err != nil {
		if err := checkYAML(file, data); err != nil {
			return nil, err
		}
		return nil, source.Errorf(finding.Position{File: file, Line: 1}, "values must be a YAML mapping: %w", err)
	}
	return values, nil
}

// checkYAML refuses YAML that is too large or does not parse, with its line.
func checkYAML(file string, data []byte) error {
	for _, doc := range manifest.Split(data) {
		_, err := doc.Decode()
		var syntax *manifest.SyntaxError
		if errors.As(err, &syntax) {
			return &source.Error{Position: finding.Position{File: file, Line: syntax.Line}, Reason: "not valid YAML: " + syntax.Message, Err: err}
		}
		if err != nil {
			return source.Errorf(finding.Position{File: file, Line: doc.Line}, "%w", err)
		}
	}
	return nil
}

// copyValues makes inline values look as if they had been read from a file.
func copyValues(values map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(values)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err
	}
	return out, nil
}
