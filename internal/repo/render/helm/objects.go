package helm

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

const noValue = "<no value>"

// objects reads the manifests that a template made, each with the line of the
// template it comes from.
func (o *output) objects(c *loadedChart) ([]manifest.Object, error) {
	if strings.TrimSpace(o.text) == "" || !manifestFile(o.template.name) && path.Ext(o.template.name) != ".tpl" && !looksLikeManifest(o.text) {
		return nil, nil
	}
	text := strings.ReplaceAll(o.text, noValue, "")
	var out []manifest.Object
	for _, start := range glued(text) {
		// Helm leaves out the blanks at the end of a manifest, also of a block of text there,
		// and ends what it prints with one line break.
		parsed, err := manifest.Parse([]byte(strings.TrimRightFunc(text[start.from:start.to], unicode.IsSpace) + "\n"))
		if err != nil {
			return nil, o.syntaxProblem(c, text, start.from, err)
		}
		for _, p := range parsed {
			out = append(out, manifest.Object{Unstructured: p.Object, Origin: o.origin(c, text, start.from+p.Offset)})
		}
	}
	return out, nil
}

// piece is a part of a text, from one offset to another.
type piece struct{ from, to int }

// gluedMarker is a separator that something follows without a space, as templates
// write that trim the line break. Source: Helm splits at every line that begins
// with three dashes (pkg/release/v1/util, SplitManifests).
var gluedMarker = lazyregexp.New(`(?m)^---[^\s-]`)

// glued cuts a text at such separators; YAML's own are left to its reader.
func glued(text string) []piece {
	var pieces []piece
	from := 0
	for _, at := range gluedMarker.FindAllStringIndex(text, -1) {
		pieces = append(pieces, piece{from, at[0]})
		from = at[0] + len("---")
	}
	return append(pieces, piece{from, len(text)})
}

// looksLikeManifest says whether the output of a file with another ending is
// meant for the cluster; Helm takes every file below templates for a manifest.
func looksLikeManifest(text string) bool {
	return strings.Contains(text, "apiVersion:") && strings.Contains(text, "kind:")
}

// origin finds the template line of the text at an offset.
func (o *output) origin(c *loadedChart, text string, offset int) manifest.Origin {
	// The text was cut: find the same place in what the template wrote.
	written := offset
	if len(text) != len(o.text) {
		written = uncut(o.text, offset)
	}
	at := o.template.origin
	if at.Line == 0 || c.folder == "" {
		return manifest.Origin{File: at.File, Line: at.Line}
	}
	if p, ok := o.place(written); ok {
		if t, ok := c.template(p.template, o); ok {
			return manifest.Origin{File: t.File, Line: p.line}
		}
	}
	return manifest.Origin{File: at.File, Line: 1}
}

// uncut maps an offset in a text without "<no value>" to one in the text with.
func uncut(text string, offset int) int {
	written := 0
	for {
		next := strings.Index(text[written:], noValue)
		if next < 0 || next > offset {
			return written + offset
		}
		offset -= next
		written += next + len(noValue)
	}
}

// syntaxProblem explains output that is not YAML; from is where the piece with the
// problem starts.
func (o *output) syntaxProblem(c *loadedChart, text string, from int, err error) error {
	at := o.template.origin
	reason := err.Error()
	var syntax *manifest.SyntaxError
	if errors.As(err, &syntax) {
		reason = syntax.Message
		if syntax.Line > 0 {
			offsets := lineOffsets(text)
			if i := strings.Count(text[:from], "\n") + syntax.Line - 1; i < len(offsets) {
				origin := o.origin(c, text, offsets[i])
				at.File, at.Line = origin.File, origin.Line
			}
		}
	}
	return &source.Error{Position: at, Err: err,
		Reason: fmt.Sprintf("template %s of chart %s does not make valid manifests: %s; see what it makes with `helm template --debug`", o.template.name, c.chart.Name(), oneLine(reason))}
}
