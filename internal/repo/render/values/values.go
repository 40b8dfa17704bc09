// Package values reads the values that charts are rendered with, as Helm does. It is
// apart from the renderer of charts for those who read values and render nothing.
package values

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/strvals"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// Layered are the values of a component, later layers winning.
type Layered struct {
	Merged map[string]any
	Text   []byte // of all layers, to look for what they mention
	// Last is the last file that was there.
	Last string
}

// Layer merges the values of a source in Helm's order: files as listed, inline
// values, parameters.
func Layer(view source.View, src model.Source) (Layered, error) {
	out := Layered{Merged: map[string]any{}}
	for _, file := range src.ValueFiles {
		at := file.Position
		if at.File == "" {
			at = src.Position
		}
		data, err := view.Read(file.Path)
		if errors.Is(err, fs.ErrNotExist) && file.Optional {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return Layered{}, &source.Error{Position: at, Err: err, Reason: source.NoValueFile(file.Path)}
		}
		if err != nil {
			return Layered{}, source.Errorf(at, "value file: %w", err)
		}
		values, err := readValues(file.Path, data)
		if err != nil {
			return Layered{}, err
		}
		out.Merged = merge(out.Merged, values)
		out.Text = append(append(out.Text, data...), '\n')
		out.Last = file.Path
	}
	if len(src.Values) > 0 {
		inline, err := Copy(src.Values)
		if err != nil {
			return Layered{}, source.Errorf(src.Position, "the inline values cannot be read: %w", err)
		}
		out.Merged = merge(out.Merged, inline)
		text, _ := json.Marshal(inline)
		out.Text = append(append(out.Text, text...), '\n')
	}
	for _, name := range slices.Sorted(maps.Keys(src.StringParameters)) {
		value := src.StringParameters[name]
		if err := strvals.ParseIntoString(name+"="+escapeParameter(value), out.Merged); err != nil {
			return Layered{}, source.Errorf(src.Position, "parameter %s cannot be set: %w", name, err)
		}
		out.Text = append(append(out.Text, value...), '\n')
	}
	if err := fileParameters(view, src, out.Merged); err != nil {
		return Layered{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(src.Parameters)) {
		value := src.Parameters[name]
		if err := strvals.ParseInto(name+"="+escapeParameter(value), out.Merged); err != nil {
			return Layered{}, source.Errorf(src.Position, "parameter %s cannot be set: %w", name, err)
		}
		out.Text = append(append(out.Text, value...), '\n')
	}
	return out, nil
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

func readValues(file string, data []byte) (map[string]any, error) {
	if manifest.IsPointer(data) {
		return nil, source.Errorf(finding.Position{File: file, Line: 1}, "%s is a pointer of Git LFS, not the file; run git lfs pull", file)
	}
	if tool := manifest.EncryptedBy(data); tool != "" {
		return nil, source.Encrypted(file, tool)
	}
	if err := manifest.CheckAliases(data); err != nil {
		return nil, CheckYAML(file, data)
	}
	values, err := decode(data)
	if err != nil {
		if err := CheckYAML(file, data); err != nil {
			return nil, err
		}
		return nil, source.Errorf(finding.Position{File: file, Line: 1}, "values must be a YAML mapping: %w", err)
	}
	return values, nil
}

// decode reads values, those of later documents winning. Source: Helm, LoadValues.
func decode(data []byte) (map[string]any, error) {
	values := map[string]any{}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, fmt.Errorf("error reading yaml document: %w", err)
		}
		document := map[string]any{}
		if err := manifest.Unmarshal(text, &document); err != nil {
			return nil, fmt.Errorf("cannot unmarshal yaml document: %w", err)
		}
		values = merge(values, document)
	}
}

// merge lays a mapping over another, both of which stay as they are.
func merge(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range over {
		below, isMap := out[name].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			value = merge(below, above)
		}
		out[name] = value
	}
	return out
}

// CheckYAML refuses YAML that is too large or does not parse, with its line.
func CheckYAML(file string, data []byte) error {
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

// Copy makes inline values look as if they had been read from a file.
func Copy(values map[string]any) (map[string]any, error) {
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

// Of merges the values of a source as a render does. complete is false where some
// cannot be read.
func Of(view source.View, src model.Source) (values map[string]any, complete bool) {
	all, err := Layer(view, src)
	if err == nil {
		return all.Merged, true
	}
	// What the source itself says is known at least, and wins over every file.
	src.ValueFiles = nil
	all, err = Layer(view, src)
	if err != nil {
		return nil, false
	}
	return all.Merged, false
}
