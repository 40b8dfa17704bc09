package argocd

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// valueSource is what a template of a chart makes a field of an object of.
type valueSource struct {
	// at is the line of the value; that of the template where it is not known which one it is.
	at finding.Position
	// of names the value: "applications[1].wave", as the template does where it is not known
	// which one it is, or empty where the template writes the field itself.
	of string
	// known is set where the value is known.
	known bool
}

// templateField matches the fields of values that a template takes in one place.
var templateField = lazyregexp.New(`(\$[A-Za-z0-9_]*)?((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// templateScalar matches a scalar after its key that is made in one place, and what is written before
// and behind that.
var templateScalar = lazyregexp.New(`^\s*["']?([^{}"',\s]*)\{\{-?(.*?)-?\}\}([^{}"',\s]*)["']?\s*(?:[,}#].*)?$`)

// templated is an object that a chart made.
type templated struct {
	chart string
	// values are those of the chart, layered.
	values *yamldoc.Value
	name   string
	// at is where its template begins, lines the lines of that from there on.
	at    finding.Position
	lines []string
}

// templatedBy finds the lines of the template of an object; there are none where another chart has it.
func (r *Repository) templatedBy(chart string, values *yamldoc.Value, name string, at finding.Position) templated {
	t := templated{chart: chart, values: values, name: name, at: at}
	data, err := r.tree.Read(at.File)
	if err != nil || !strings.HasPrefix(at.File, path.Join(chart, "templates")+"/") {
		return t
	}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case i+1 < at.Line:
		case i+1 > at.Line && strings.HasPrefix(line, "---"):
			return t // the next object
		default:
			t.lines = append(t.lines, line)
		}
	}
	return t
}

// source finds what a field of the object is made of, by the last key of the field and its text; nil
// where no line has the key, or several have and it is not known which is meant.
func (t templated) source(key, text string) *valueSource {
	var found []valueSource
	for i, line := range t.lines {
		if written, ok := behindKey(line, key); ok && mayBe(written, text) {
			found = append(found, t.sourceOf(written, text, finding.Position{File: t.at.File, Line: t.at.Line + i}))
		}
	}
	if known := slices.DeleteFunc(slices.Clone(found), func(s valueSource) bool { return !s.known }); len(known) > 0 {
		found = known
	}
	if len(found) != 1 {
		return nil
	}
	return &found[0]
}

// behindKey is what a line has behind a key.
func behindKey(line, key string) (written string, ok bool) {
	for rest := line; ; {
		before, behind, found := strings.Cut(rest, key)
		if !found {
			return "", false
		}
		rest = behind
		behind = strings.TrimLeft(behind, `"'`)
		if strings.HasPrefix(behind, ":") && (before == "" || strings.ContainsAny(before[len(before)-1:], " \t{,\"'")) {
			return behind[1:], true
		}
	}
}

// mayBe reports whether what a line has behind a key may become a text: where no template makes it,
// it is the text.
func mayBe(written, text string) bool {
	if strings.Contains(written, "{{") {
		return true
	}
	literal, _, _ := strings.Cut(written, " #")
	if end := strings.IndexAny(literal, ",}"); end >= 0 {
		literal = literal[:end]
	}
	return strings.Trim(literal, " \t\"'") == text
}

// sourceOf finds what the text of a field is made of, by what the template at a position writes for
// it. Of items of the values it is the one that names the object.
func (t templated) sourceOf(written, text string, at finding.Position) valueSource {
	source := valueSource{at: at}
	_, open, ok := strings.Cut(written, "{{")
	fields := templateField.FindAllStringSubmatch(open, -1)
	if !ok || len(fields) == 0 {
		return source
	}
	source.of = fields[0][0]
	parts := templateScalar.FindStringSubmatch(written)
	if parts == nil {
		return source
	}
	if fields = templateField.FindAllStringSubmatch(parts[2], -1); len(fields) != 1 {
		return source
	}
	is := func(v *yamldoc.Value) bool {
		return v != nil && v.Kind == yamldoc.Scalar && parts[1]+strings.TrimSpace(v.Text)+parts[3] == text
	}
	keys := strings.Split(strings.TrimPrefix(fields[0][2], "."), ".")
	if keys[0] == "Values" && len(keys) > 1 {
		if v := t.values.At(keys[1:]...); is(v) {
			return valueSource{v.Position, strings.Join(keys[1:], "."), true}
		}
		return source
	}
	var found []valueSource
	itemsOf(t.values, "", "", func(where, key string, item *yamldoc.Value) {
		if v := item.At(keys...); is(v) && (key == t.name || names(item, t.name)) {
			found = append(found, valueSource{v.Position, strings.TrimPrefix(where+"."+strings.Join(keys, "."), "."), true})
		}
	})
	if len(found) == 1 {
		return found[0]
	}
	return source
}

// place gives the fields of an Application that findings are about the places where they are written:
// that is where they are mended.
func (t templated) place(application *yamldoc.Value) {
	spec := application.At("spec")
	t.placeField(spec.At("destination"), "namespace")
	sources := spec.At("sources").Elements()
	if one := spec.At("source"); one != nil {
		sources = append(slices.Clone(sources), one)
	}
	for _, source := range sources {
		// The first that a source has stands for it.
		first := true
		for _, key := range []string{"path", "chart", "repoURL"} {
			field := source.At(key)
			if t.placeField(source, key) && first {
				source.Position = field.Position
			}
			first = first && field == nil
		}
		t.placeField(source, "targetRevision")
		for _, file := range source.At("helm", "valueFiles").Elements() {
			t.placeFile(file)
		}
	}
	if spec != nil {
		for i, e := range spec.Entries {
			if e.Key == "source" {
				spec.Entries[i].Position = e.Value.Position
			}
		}
	}
}

// placeFile gives a value file the line that writes it, where one line does.
func (t templated) placeFile(file *yamldoc.Value) {
	at := -1
	for i, line := range t.lines {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'[],{}", r) })
		if !slices.Contains(words, file.Text) || words[0] != "-" && !slices.Contains(words, "valueFiles:") {
			continue
		}
		if at >= 0 {
			return
		}
		at = i
	}
	if at >= 0 {
		file.Position = finding.Position{File: t.at.File, Line: t.at.Line + at}
	}
}

// placeField gives a field of a map its place, and reports whether that is known.
func (t templated) placeField(v *yamldoc.Value, key string) bool {
	if v == nil {
		return false
	}
	for i, e := range v.Entries {
		if e.Key != key || e.Value.Kind != yamldoc.Scalar || e.Value.Text == "" {
			continue
		}
		if source := t.source(key, e.Value.Text); source != nil {
			v.Entries[i].Position, e.Value.Position = source.at, source.at
			return true
		}
	}
	return false
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
