package argocd

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// waveSource is what a template of a chart makes a sync wave of.
type waveSource struct {
	// at is the line of the value; that of the template where it is not known which one it is.
	at finding.Position
	// of names the value: "applications[1].wave", as the template does where it is not known
	// which one it is, or empty where the template writes the wave itself.
	of string
	// known is set where the value is known.
	known bool
}

// templateField matches the fields of values that a template takes in one place.
var templateField = lazyregexp.New(`(\$[A-Za-z0-9_]*)?((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// waveSource finds what the wave of an object is made of that the chart in a folder makes
// with some values. Of items of the values it is the one that names the object.
func (r *Repository) waveSource(dir string, values *yamldoc.Value, name, wave string, at finding.Position) *waveSource {
	data, err := r.tree.Read(at.File)
	if err != nil || !strings.HasPrefix(at.File, path.Join(dir, "templates")+"/") {
		return nil
	}
	line, number := "", 0
	for i, l := range bytes.Split(data, []byte("\n")) {
		text := strings.TrimSpace(string(l))
		if i+1 > at.Line && strings.HasPrefix(text, "---") {
			break // the next object
		}
		if i+1 >= at.Line && strings.Contains(text, waveAnnotation) {
			line, number = text, i+1
			break
		}
	}
	_, expression, _ := strings.Cut(line, waveAnnotation)
	_, expression, open := strings.Cut(expression, "{{")
	if number == 0 {
		return nil
	}
	source := waveSource{at: finding.Position{File: at.File, Line: number}}
	fields := templateField.FindAllStringSubmatch(expression, -1)
	if !open || len(fields) == 0 {
		return &source
	}
	source.of = fields[0][0]
	if len(fields) > 1 {
		return &source
	}
	keys := strings.Split(strings.TrimPrefix(fields[0][2], "."), ".")
	if keys[0] == "Values" && len(keys) > 1 {
		if v := values.At(keys[1:]...); isWave(v, wave) {
			return &waveSource{v.Position, strings.Join(keys[1:], "."), true}
		}
		return &source
	}
	var found []waveSource
	itemsOf(values, "", "", func(where, key string, item *yamldoc.Value) {
		if v := item.At(keys...); isWave(v, wave) && (key == name || names(item, name)) {
			found = append(found, waveSource{v.Position, strings.TrimPrefix(where+"."+strings.Join(keys, "."), "."), true})
		}
	})
	if len(found) == 1 {
		return &found[0]
	}
	return &source
}

// isWave reports whether a value is a sync wave as it was rendered.
func isWave(v *yamldoc.Value, wave string) bool {
	return v != nil && v.Kind == yamldoc.Scalar && strings.TrimSpace(v.Text) == wave
}

// names reports whether an entry of an item is a name.
func names(item *yamldoc.Value, name string) bool {
	for _, e := range item.Entries {
		if e.Value.Kind == yamldoc.Scalar && e.Value.Text == name {
			return true
		}
	}
	return false
}

// itemsOf visits the maps in values, with where they are and the key that each has, if any.
func itemsOf(v *yamldoc.Value, where, key string, visit func(where, key string, item *yamldoc.Value)) {
	if v.Kind == yamldoc.Map && where != "" {
		visit(where, key, v)
	}
	for _, e := range v.Entries {
		itemsOf(e.Value, strings.TrimPrefix(where+"."+e.Key, "."), e.Key, visit)
	}
	for i, item := range v.Items {
		itemsOf(item, where+"["+strconv.Itoa(i)+"]", "", visit)
	}
}
