package importer

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"

	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
)

// layers writes the layers of values: files as they are, once for all that use
// them, and what was evaluated per environment, or once where all environments
// have the same.
func (h *helmfiles) layers(env, name string, r *helmfile.Release, chart *Chart) error {
	n := 0
	var pending map[string]any
	flush := func() error {
		if len(pending) == 0 {
			return nil
		}
		n++
		file, err := h.layer(env, name, n, pending)
		pending = nil
		chart.ValueFiles = append(chart.ValueFiles, ValueFile{Path: file})
		return err
	}
	for _, l := range r.Values {
		if l.File == "" {
			pending = overlay(pending, l.Data)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		file, err := h.sources.copyFile(l.File)
		if err != nil {
			h.p.note(Note{Level: Lost, What: "file-missing", Environment: env, Component: name, Position: l.From, Message: oneLine(err.Error())})
			continue
		}
		chart.ValueFiles = append(chart.ValueFiles, ValueFile{Path: file})
	}
	return flush()
}

// overlay puts values over others, as Helm does.
func overlay(base, over map[string]any) map[string]any {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range over {
		a, aOK := out[k].(map[string]any)
		b, bOK := v.(map[string]any)
		if aOK && bOK {
			v = overlay(a, b)
		}
		out[k] = v
	}
	return out
}

// layer writes one evaluated layer and returns its path.
func (h *helmfiles) layer(env, name string, n int, values map[string]any) (string, error) {
	folder := env
	if h.everywhere(name, n, values) {
		folder = "shared"
	}
	return h.p.layer(folder, name, n, values)
}

// layer writes the n-th layer of values of a component, from 1, into the folder of
// an environment, or shared, and returns its path.
func (p *Platform) layer(folder, name string, n int, values map[string]any) (string, error) {
	suffix := ""
	if n > 1 {
		suffix = "-" + strconv.Itoa(n)
	}
	file := path.Join("sources/values", folder, name+suffix+".yaml")
	text, err := yamlText(values)
	if err != nil {
		return "", fmt.Errorf("write the values of %s: %w", name, err)
	}
	for i := range p.Files {
		if p.Files[i].Path == file {
			if !bytes.Equal(p.Files[i].Content, text) {
				return "", fmt.Errorf("write the values of %s: two layers are %s", name, file)
			}
			return file, nil
		}
	}
	p.Files = append(p.Files, File{Path: file, Content: text})
	return file, nil
}

// everywhere reports whether the n-th evaluated layer of a release is the same in
// all environments, and there are several that have it.
func (h *helmfiles) everywhere(name string, n int, values map[string]any) bool {
	if len(h.result.Environments) < 2 {
		return false
	}
	for _, env := range h.result.Environments {
		i := slices.Index(h.names[env.Name], name)
		if i < 0 {
			return false
		}
		if !reflect.DeepEqual(evaluatedLayer(&env.Releases[i], n), values) {
			return false
		}
	}
	return true
}

// evaluatedLayer is the n-th run of evaluated layers between files, from 1.
func evaluatedLayer(r *helmfile.Release, n int) map[string]any {
	var pending map[string]any
	for _, l := range r.Values {
		if l.File == "" {
			pending = overlay(pending, l.Data)
			continue
		}
		if len(pending) > 0 {
			if n--; n == 0 {
				return pending
			}
		}
		pending = nil
	}
	if n == 1 {
		return pending
	}
	return nil
}
