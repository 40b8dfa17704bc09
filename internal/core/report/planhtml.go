package report

import (
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// PlanHTML writes a page that stands alone: the picture of PlanSVG and the same
// in tables, for those who cannot see it and for the browser's search; way leads from where
// they stand to the root of the platform.
func PlanHTML(w io.Writer, p *plan.Plan, unrendered []Unrendered, way string) error {
	doc := PlanDocument(p, UnrenderedBelow(unrendered, way))
	doc.Against = EdgesBelow(doc.Against, way)
	var picture strings.Builder
	writeSVG(&picture, p)
	return planPage.Execute(w, struct {
		Plan     Plan
		Steps    string
		Expected string
		Bound    string
		Critical string
		Picture  template.HTML
		// Told is set where a step has more than a number.
		Told   bool
		Name   func(component string) string
		Judged []finding.Finding
	}{
		doc, stepsOf(p), Clock(p.Makespan), Clock(p.Bound), Clock(p.CriticalPath.Duration),
		template.HTML(picture.String()), //nolint:gosec // made by writeSVG, which escapes every text
		slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Title+s.Purpose != "" }),
		func(component string) string { return boxName(component, p.Only) }, p.Judged,
	})
}

var planPage = template.Must(template.New("plan").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ladder of {{.Plan.Environment}}</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;max-width:110rem}
.picture{overflow:auto;border:1px solid #8c959f55;border-radius:6px}
table{border-collapse:collapse;margin:1rem 0}th,td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8c959f55}
code{font:12px ui-monospace,monospace}.wrong{color:#cf222e}
@media (prefers-color-scheme:dark){.wrong{color:#ff7b72}}
</style>
<h1>Ladder of {{.Plan.Environment}}</h1>
<p>{{len .Plan.Order}} components in {{.Steps}} under the policy {{.Plan.Policy}}. Expected time {{.Expected}}, lower bound {{.Bound}}.</p>
{{with .Plan.Unrendered}}<h2 class="wrong">Not rendered</h2><p>Nothing is known of what these hold.</p>
<table><tr><th>Component<th>Reason<th>Where</tr>{{range .}}<tr><td>{{.Component}}<td>{{.Reason}}<td><code>{{.File}}:{{.Line}}</code></tr>{{end}}</table>{{end}}
{{if .Judged}}<h2>Cycles</h2><ul>{{range .Judged}}<li{{if eq .Severity "error"}} class="wrong"{{end}}>{{.Message}}{{end}}</ul>{{else}}{{with .Plan.Cycles}}<h2 class="wrong">Cycles</h2><ul>{{range .}}<li>{{range $i, $c := .}}{{if $i}} → {{end}}{{$c}}{{end}}{{end}}</ul>{{end}}{{end}}
{{with .Plan.Unplaced}}<h2 class="wrong">No step matches</h2><ul>{{range .}}<li>{{.}}{{end}}</ul>{{end}}
{{with .Plan.Against}}<h2 class="wrong">Against the order</h2>
<table><tr><th>Component<th>comes before<th>which it requires</tr>{{range .}}<tr><td>{{.From}}<td>{{.To}}<td>{{.Reason}}{{range .Evidence}}<br><code>{{.File}}:{{.Line}}</code> {{.Text}}{{end}}</tr>{{end}}</table>{{end}}
<h2>Picture</h2>
<div class="picture" tabindex="0" aria-label="Picture of the ladder">{{.Picture}}</div>
<h2>Critical path, {{.Critical}}</h2>
<ol>{{range .Plan.CriticalPath.Components}}<li>{{.}}{{end}}</ol>
<h2>Steps</h2>
<table><tr><th>Step<th>Phase{{if .Told}}<th>What it is{{end}}<th>At a time<th>Components<th>Gate</tr>
{{range .Plan.Steps}}<tr><td>{{.Index}}<td>{{.Label}}{{if $.Told}}<td>{{with .Title}}<b>{{.}}</b>{{end}}{{with .Purpose}} {{.}}{{end}}{{end}}<td>{{.MaxUpdate}}<td>{{range $i, $c := .Components}}{{if $i}}, {{end}}{{call $.Name $c}}{{end}}{{range .Disabled}} <s>{{.}}</s>{{end}}<td>{{.Gate}}</tr>
{{end}}</table>
<h2>Edges</h2>
<table><tr><th>Component<th>requires<th>because<th>Strength<th>Basis</tr>
{{range .Plan.Edges}}<tr><td>{{.From}}<td>{{.To}}<td>{{.Reason}}<td>{{.Strength}}<td>{{.Basis}}</tr>
{{end}}</table>
</html>
`))
