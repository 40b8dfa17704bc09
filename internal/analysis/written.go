package analysis

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// namesWritten returns what finds where a file of values has a name that a template of the
// repository writes to a field, for several rules at once. It reads the values of a source once.
func (r *Result) namesWritten() func(component, name string, e finding.Evidence) finding.Position {
	var mu sync.Mutex
	known := map[[2]string]map[string]finding.Evidence{}
	return func(component, name string, e finding.Evidence) finding.Position {
		return r.nameWritten(component, name, e, func(src model.Source) map[string]finding.Evidence {
			mu.Lock()
			defer mu.Unlock()
			key := [2]string{component, src.Path}
			if known[key] == nil {
				known[key] = r.effective(src)
			}
			return known[key]
		})
	}
}

// nameWritten finds it among the values of a source: the one value which the line of the template
// takes that the name is, or ends in, else the one of all values that is the name. It is the zero
// value where that is not certain.
func (r *Result) nameWritten(component, name string, e finding.Evidence, effective func(model.Source) map[string]finding.Evidence) finding.Position {
	at := r.fieldAt(finding.Position{File: e.File, Line: e.Line}, e.Field)
	chart, _, ok := strings.Cut(at.File, "/templates/")
	c := slices.IndexFunc(r.Platform.Components, func(c model.Component) bool { return c.Name == component })
	if !ok || e.Field == "" || name == "" || c < 0 {
		return finding.Position{}
	}
	sources := r.Platform.Components[c].Sources
	s := slices.IndexFunc(sources, func(s model.Source) bool { return s.Path == chart && s.Kind == model.Chart })
	if s < 0 {
		return finding.Position{} // of another repository, or a dependency of a chart
	}
	values := effective(sources[s])
	var found []finding.Evidence
	for _, match := range valueOf.FindAllStringSubmatch(r.line(at), -1) {
		if v := values[strings.TrimPrefix(match[1], ".")]; v.Text != "" && strings.HasSuffix(name, v.Text) && !slices.Contains(found, v) {
			found = append(found, v)
		}
	}
	if template, err := r.tree.Read(at.File); len(found) == 0 && err == nil && !strings.Contains(string(template), name) {
		for _, v := range values {
			if v.Text == name {
				found = append(found, v)
			}
		}
	}
	if len(found) != 1 || found[0].File == "" || found[0].File == sources[s].Position.File {
		return finding.Position{}
	}
	return r.fieldAt(finding.Position{File: found[0].File, Line: 1}, found[0].Field)
}

// effective are the texts that a chart of the repository is given, by their fields, and where they
// are written: nowhere for those of parameters.
func (r *Result) effective(src model.Source) map[string]finding.Evidence {
	all := map[string]finding.Evidence{}
	for _, parameters := range []map[string]string{src.Parameters, src.StringParameters, src.FileParameters} {
		for field, text := range parameters {
			all[field] = finding.Evidence{Text: text, Field: field}
		}
	}
	var add func(v any, field string, at finding.Position)
	add = func(v any, field string, at finding.Position) {
		switch v := v.(type) {
		case map[string]any:
			for key, one := range v {
				if !strings.ContainsAny(key, ".[]") { // which fields are told by
					add(one, strings.TrimPrefix(field+"."+key, "."), at)
				}
			}
		case []any:
			for i, one := range v {
				add(one, field+"["+strconv.Itoa(i)+"]", at)
			}
		case string:
			if _, later := all[field]; !later {
				all[field] = finding.Evidence{Text: v, File: at.File, Line: at.Line, Field: field}
			}
		}
	}
	add(src.Values, "", src.Position)
	files := []string{path.Join(src.Path, "values.yaml")}
	for _, f := range src.ValueFiles {
		files = append(files, f.Path)
	}
	for _, file := range slices.Backward(files) {
		var values map[string]any
		if data, err := r.tree.Read(file); err == nil && manifest.Unmarshal(data, &values) == nil {
			add(values, "", finding.Position{File: file, Line: 1})
		}
	}
	return all
}
