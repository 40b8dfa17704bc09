package helm

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	chartapi "helm.sh/helm/v4/pkg/chart"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// execution is one run of all templates of a chart and its dependencies. It is
// for one goroutine.
type execution struct {
	chart  *loadedChart
	limit  int // of the output, in bytes
	note   func(at finding.Position, what string)
	stable *stable

	templates map[string]*chartTemplate // by Helm's name of the file
	lines     map[string][]int          // template name -> offsets of its lines
	parsed    bool                      // all of them are templates
	places    []place                   // what marks point to

	current  *sink // where the running file writes to
	depth    int   // of include and tpl
	includes map[string]int
}

// chartTemplate is one file below templates/.
type chartTemplate struct {
	name     string // "chart/charts/dep/templates/x.yaml"
	text     string
	values   map[string]any // shared by the files of one chart
	basePath string
	origin   finding.Position
}

func newExecution(c *loadedChart, req Request, opts Options) *execution {
	return &execution{
		chart: c, limit: opts.MaxOutput, note: opts.Note,
		stable:    newStable(c.chart.Name(), req.Release, req.Namespace),
		templates: map[string]*chartTemplate{},
		lines:     map[string][]int{},
		includes:  map[string]int{},
	}
}

// execute parses every template, then runs those that are manifests, in the
// order of Helm's engine: deeper files first, so that a chart's definitions win
// over those of its dependencies.
func (x *execution) execute(top common.Values) (outputs []output, err error) {
	var running string
	defer func() {
		if r := recover(); r != nil {
			err = x.problem(running, fmt.Errorf("the template panics: %v", r))
		}
	}()
	if err := x.collect(x.chart.chart, top); err != nil {
		return nil, err
	}
	root := template.New("gotpl").Option("missingkey=zero")
	root.Funcs(functions()).Funcs(x.functions(root))

	names := slices.Collect(maps.Keys(x.templates))
	slices.SortFunc(names, func(a, b string) int {
		if c := strings.Count(b, "/") - strings.Count(a, "/"); c != 0 {
			return c
		}
		return strings.Compare(b, a)
	})
	for _, name := range names {
		running = name
		x.lines[name] = lineOffsets(x.templates[name].text)
		if _, err := root.New(name).Parse(x.templates[name].text); err != nil {
			return nil, x.problem(name, err)
		}
	}
	x.parsed = true
	x.instrument(root)

	left := x.limit
	for _, name := range names {
		if strings.HasPrefix(path.Base(name), "_") {
			continue
		}
		running = name
		t := x.templates[name]
		x.note(t.origin, "template "+name+" of chart "+x.chart.chart.Name())
		t.values["Template"] = common.Values{"Name": name, "BasePath": t.basePath}
		out := &sink{limit: left}
		x.current = out
		if err := root.ExecuteTemplate(out, name, t.values); err != nil {
			return nil, x.problem(name, err)
		}
		left -= out.buf.Len()
		if strings.HasSuffix(name, "NOTES.txt") {
			continue
		}
		outputs = append(outputs, output{template: t, text: out.buf.String(), marks: out.marks, places: x.places})
	}
	slices.SortFunc(outputs, func(a, b output) int { return strings.Compare(a.template.name, b.template.name) })
	return outputs, nil
}

// collect gathers the templates of a chart and of its dependencies, each with
// the part of the values that it sees, and returns what templates see of the
// chart.
func (x *execution) collect(c *chart.Chart, parent common.Values) error {
	_, err := x.collectChart(c, parent)
	return err
}

func (x *execution) collectChart(c *chart.Chart, parent common.Values) (map[string]any, error) {
	access, err := chartapi.NewAccessor(c)
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", c.Name(), err)
	}
	meta := access.MetadataAsMap()
	meta["IsRoot"] = c.IsRoot()
	subcharts := map[string]any{}
	scope := map[string]any{
		"Chart": meta, "Files": newFiles(c.Files), "Release": parent["Release"], "Capabilities": parent["Capabilities"],
		"Values": common.Values{}, "Subcharts": subcharts,
	}
	if c.IsRoot() {
		scope["Values"] = parent["Values"]
	} else if own, err := parent.Table("Values." + c.Name()); err == nil {
		scope["Values"] = own
	}
	for _, dep := range c.Dependencies() {
		sub, err := x.collectChart(dep, scope)
		if err != nil {
			return nil, err
		}
		subcharts[dep.Name()] = sub
	}
	full := c.ChartFullPath()
	for _, f := range c.Templates {
		if f == nil || (access.IsLibraryChart() && !strings.HasPrefix(path.Base(f.Name), "_")) {
			continue
		}
		name := path.Join(full, f.Name)
		x.templates[name] = &chartTemplate{name: name, text: string(f.Data), values: scope,
			basePath: path.Join(full, "templates"), origin: x.chart.origins[f]}
	}
	return scope, nil
}

// errOutput stops a rendering that makes too much.
var errOutput = errors.New("output limit")

// sink is where one file's output goes.
type sink struct {
	buf   strings.Builder
	limit int
	marks []mark
}

// mark says that what follows at an offset of the output comes from a place.
type mark struct{ offset, place int }

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	if s.buf.Len()+len(p) > s.limit {
		return 0, errOutput
	}
	return s.buf.Write(p)
}

// functions returns the functions that belong to one set of templates.
func (x *execution) functions(t *template.Template) template.FuncMap {
	own := template.FuncMap{
		markName: x.mark,
		"include": func(name string, data any) (string, error) {
			return x.include(t, name, data)
		},
		"tpl": func(text string, data any) (string, error) {
			return x.tpl(t, text, data)
		},
	}
	maps.Copy(own, x.stable.functions())
	return own
}

// maxIncludes is how deep one template may include itself. Source: Helm's
// engine.
const maxIncludes = 1000

func (x *execution) include(t *template.Template, name string, data any) (string, error) {
	if x.includes[name] > maxIncludes {
		return "", fmt.Errorf("template %q includes itself more than %d deep", name, maxIncludes)
	}
	x.includes[name]++
	x.depth++
	defer func() {
		x.includes[name]--
		x.depth--
	}()
	out := &sink{limit: x.limit}
	err := t.ExecuteTemplate(out, name, data)
	return out.buf.String(), err
}

func (x *execution) tpl(parent *template.Template, text string, data any) (string, error) {
	x.depth++
	defer func() { x.depth-- }()
	if x.depth > maxIncludes {
		return "", fmt.Errorf("tpl and include are nested more than %d deep", maxIncludes)
	}
	t, err := parent.Clone()
	if err != nil {
		return "", fmt.Errorf("clone templates for tpl: %w", err)
	}
	// A clone forgets its options: https://github.com/golang/go/issues/43022.
	t.Option("missingkey=zero")
	t.Funcs(x.functions(t))
	t, err = t.New(parent.Name()).Parse(text)
	if err != nil {
		return "", fmt.Errorf("tpl: %w", err)
	}
	out := &sink{limit: x.limit}
	if err := t.Execute(out, data); err != nil {
		return "", fmt.Errorf("tpl: %w", err)
	}
	return strings.ReplaceAll(out.buf.String(), "<no value>", ""), nil
}

// mark notes where the next output of the running file comes from. Output of
// include and tpl is a value at first; the action that prints it is marked.
func (x *execution) mark(place int) string {
	if x.depth == 0 && x.current != nil {
		x.current.marks = append(x.current.marks, mark{offset: x.current.buf.Len(), place: place})
	}
	return ""
}

// problem explains an error of a template.
func (x *execution) problem(name string, err error) error {
	t := x.templates[name]
	at := x.chart.at
	if t != nil {
		at = t.origin
	}
	if errors.Is(err, errOutput) {
		return &source.Error{Position: at, Err: errOutput, Reason: fmt.Sprintf("template %s of chart %s makes more than %s of output; look for a loop or an include of itself",
			name, x.chart.chart.Name(), bytesText(x.limit))}
	}
	return x.explain(name, err)
}

func bytesText(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
