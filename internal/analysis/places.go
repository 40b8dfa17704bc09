package analysis

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// fieldAt is the position of a field of what is at a position, as near as it is written.
func (r *Result) fieldAt(at finding.Position, field string) finding.Position {
	if r.lines == nil {
		return at
	}
	return r.lines.Field(at, field)
}

// placeValues puts what charts are told by values at the lines that tell it: a file of values
// is no object, whose head would say what it is about.
func (r *Result) placeValues() {
	for i := range r.Dependencies {
		d := &r.Dependencies[i]
		r.placeValue(&d.Consumer, d.Evidence)
	}
	for i := range r.Lacks {
		l := &r.Lacks[i]
		r.placeValue(&l.Consumer, l.Evidence)
	}
}

// placeValue does so for one that consumes, where its first evidence is about a field there.
func (r *Result) placeValue(end *dependency.End, evidence []finding.Evidence) {
	if end.Object != (finding.Resource{}) || len(evidence) == 0 || evidence[0].Field == "" {
		return
	}
	if e := evidence[0]; (finding.Position{File: e.File, Line: e.Line}) == end.Position {
		end.Position = r.fieldAt(end.Position, e.Field)
	}
}

// valueOf matches what a template takes of the values.
var valueOf = lazyregexp.New(`\.Values((?:\.[A-Za-z_][A-Za-z0-9_]*)+)`)

// imageValues are the values that the template of an image takes at its line, where each is
// written.
func (r *Result) imageValues(c model.Component, image string, at finding.Position) []finding.Evidence {
	chart, _, ok := strings.Cut(at.File, "/templates/")
	line := r.line(at)
	if !ok || !strings.Contains(strings.ToLower(line), "image") {
		return nil
	}
	var out []finding.Evidence
	for _, match := range valueOf.FindAllStringSubmatch(line, -1) {
		field := strings.TrimPrefix(match[1], ".")
		if e, ok := r.valueEvidence(c, chart, field); ok && strings.Contains(image, e.Text) {
			e.Text = field + " is " + e.Text
			out = append(out, e)
		}
	}
	return out
}

// line is the text of a line of a file; empty where it is not known.
func (r *Result) line(at finding.Position) string {
	if r.tree == nil || at.Line <= 0 {
		return ""
	}
	data, err := r.tree.Read(at.File)
	if lines := strings.Split(string(data), "\n"); err == nil && at.Line <= len(lines) {
		return lines[at.Line-1]
	}
	return ""
}

// valueEvidence finds where a field of the values of a chart of the repository is written: the
// text is the value. Values that the component writes itself, and parameters, come after all
// files.
func (r *Result) valueEvidence(c model.Component, chart, field string) (finding.Evidence, bool) {
	i := slices.IndexFunc(c.Sources, func(s model.Source) bool { return s.Path == chart })
	if i < 0 {
		return finding.Evidence{}, false // a dependency of a chart, whose values are written below its name
	}
	e := r.effective(c.Sources[i])[field]
	return e, e.File != "" && e.Text != ""
}
