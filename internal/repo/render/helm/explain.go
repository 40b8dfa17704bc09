package helm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/template"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// demand is a template that refuses to be rendered: required or fail.
type demand struct{ message string }

// Error implements error.
func (d *demand) Error() string { return d.message }

// template returns the position of the file with one of Helm's names.
func (l *loadedChart) template(name string, o *output) (finding.Position, bool) {
	if name == o.template.name {
		return o.template.origin, true
	}
	return l.locateName(name)
}

// locateName finds a file by Helm's name of it, "chart/templates/x.yaml".
func (l *loadedChart) locateName(name string) (finding.Position, bool) {
	for f, at := range l.origins {
		if strings.HasSuffix(name, "/"+f.Name) && at.Line > 0 && sameChart(l, name, f.Name, at.File) {
			return at, true
		}
	}
	return finding.Position{}, false
}

// sameChart reports whether a position is the one of the file with a name:
// dependencies may hold files of the same name.
func sameChart(l *loadedChart, name, file, position string) bool {
	owner := strings.TrimSuffix(name, "/"+file)
	if _, dep, ok := strings.Cut(owner, "/charts/"); ok {
		return strings.HasSuffix(position, "/"+dep[strings.LastIndex(dep, "/")+1:]+"/"+file)
	}
	return position == l.folder+"/"+file
}

// location is "template: name:line:column: " in an error of a template.
var location = lazyregexp.New(`template: ([^\s:]+):(\d+)(?::\d+)?: `)

// explain turns an error of a template into one sentence at the line of the
// innermost template.
func (x *execution) explain(name string, err error) error {
	text := err.Error()
	at := x.chart.at
	if t := x.templates[name]; t != nil {
		at = t.origin
	}
	outer, inner := "", ""
	for _, m := range location.FindAllStringSubmatch(text, -1) {
		t := x.templates[m[1]]
		if t == nil {
			continue
		}
		inner = m[1] + ":" + m[2]
		if outer == "" {
			outer = inner
		}
		if t.origin.Line > 0 && x.chart.folder != "" {
			if line, err := strconv.Atoi(m[2]); err == nil {
				at = finding.Position{File: t.origin.File, Line: line}
			}
		}
	}
	where := name
	if inner != "" && inner != outer {
		where = fmt.Sprintf("%s (from %s)", inner, outer)
	} else if inner != "" {
		where = inner
	}
	var refused *demand
	if errors.As(err, &refused) {
		return &source.Error{Position: at, Err: err,
			Reason: fmt.Sprintf("chart %s refuses its values: %s", x.chart.chart.Name(), oneLine(refused.message))}
	}
	message := text
	var exec template.ExecError
	if errors.As(err, &exec) {
		message = innermost(exec)
	} else if i := location.FindAllStringIndex(text, -1); len(i) > 0 {
		message = text[i[len(i)-1][1]:]
	}
	return &source.Error{Position: at, Err: err,
		Reason: fmt.Sprintf("template %s of chart %s fails: %s", where, x.chart.chart.Name(), oneLine(message))}
}

var atClause = lazyregexp.New(`^executing "[^"]*" at `)

// innermost is what the last template in a chain of includes says.
func innermost(err error) string {
	text := err.Error()
	if i := location.FindAllStringIndex(text, -1); len(i) > 0 {
		text = text[i[len(i)-1][1]:]
	}
	return atClause.ReplaceAllString(text, "at ")
}
