package helm

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/manifest"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

const noValue = "<no value>"

// objects reads the manifests that a template made, each with the line of the
// template it comes from.
func (o *output) objects(c *loadedChart) ([]manifest.Object, error) {
	if strings.TrimSpace(o.text) == "" || !manifestFile(o.template.name) && path.Ext(o.template.name) != ".tpl" && !looksLikeManifest(o.text) {
		return nil, nil
	}
	text := strings.ReplaceAll(o.text, noValue, "")
	parsed, err := manifest.Parse([]byte(text))
	if err != nil {
		return nil, o.syntaxProblem(c, text, err)
	}
	var out []manifest.Object
	for _, p := range parsed {
		out = append(out, manifest.Object{Unstructured: p.Object, Origin: o.origin(c, text, p.Offset)})
	}
	return out, nil
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

// syntaxProblem explains output that is not YAML.
func (o *output) syntaxProblem(c *loadedChart, text string, err error) error {
	at := o.template.origin
	reason := err.Error()
	var syntax *manifest.SyntaxError
	if errors.As(err, &syntax) {
		reason = syntax.Message
		if syntax.Line > 0 {
			offsets := lineOffsets(text)
			if i := syntax.Line - 1; i < len(offsets) {
				origin := o.origin(c, text, offsets[i])
				at.File, at.Line = origin.File, origin.Line
			}
		}
	}
	return &source.Error{Position: at, Err: err,
		Reason: fmt.Sprintf("template %s of chart %s does not make valid manifests: %s; see what it makes with `helm template --debug`", o.template.name, c.chart.Name(), oneLine(reason))}
}
