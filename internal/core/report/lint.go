package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// Lint is what ladder lint found in one or several environments.
type Lint struct {
	Environments []string
	Components   []ListedComponent
	// Disabled is the number of those components that no plan has, since they are disabled.
	Disabled int
	Edges    int
	// Findings that are shown, sorted.
	Findings   []finding.Finding
	Suppressed []lint.Suppressed
	// Known is the number of findings that the baseline has, Milder that of the
	// findings that are too mild to be shown.
	Known, Milder int
	// Baseline is the revision that Known rests on; empty for a file.
	Baseline   string
	Unrendered []Unrendered
	Coverage   Coverage
	// Rules are all that exist.
	Rules []lint.Rule
	// Folder is the way from the top of the repository to the root of the
	// platform, slash-separated; "." where they are one.
	Folder string
	// Way leads from where the command runs to that root, for people; empty for there.
	Way string
	// Version of Ladder.
	Version string
}

// Findings is the JSON document of ladder lint.
type Findings struct {
	FormatVersion string            `json:"formatVersion"`
	Components    []ListedComponent `json:"components"`
	Findings      []finding.Finding `json:"findings"`
	Unrendered    []Unrendered      `json:"unrendered"`
	Summary       FindingsSummary   `json:"summary"`
}

// ListedComponent is one component and its place.
type ListedComponent struct {
	Name        string `json:"name"`
	Environment string `json:"environment"`
	Order       string `json:"order"`
	Source      string `json:"source"`
}

// FindingsSummary counts.
type FindingsSummary struct {
	Components int `json:"components"`
	Edges      int `json:"edges"`
	Errors     int `json:"errors"`
	Warnings   int `json:"warnings"`
	Unrendered int `json:"unrendered"`
	// Coverage says how much of the platform was judged.
	Coverage Coverage `json:"coverage"`
}

// FindingsDocument turns the result of lint into its JSON document.
func FindingsDocument(l Lint) Findings {
	d := Findings{
		FormatVersion: FormatVersion, Components: append([]ListedComponent{}, l.Components...),
		Findings: append([]finding.Finding{}, l.Findings...), Unrendered: unrenderedList(l.Unrendered),
		Summary: FindingsSummary{
			Components: len(l.Components), Edges: l.Edges, Unrendered: NotWhole(l.Unrendered),
			Errors: l.number(finding.Error), Warnings: l.number(finding.Warning), Coverage: l.Coverage.Sorted(),
		},
	}
	withEvidence(d.Findings)
	return d
}

// withEvidence gives findings without evidence an empty list.
func withEvidence(all []finding.Finding) {
	for i := range all {
		if all[i].Evidence == nil {
			all[i].Evidence = []finding.Evidence{}
		}
		all[i].Also = slices.Clone(all[i].Also)
		withEvidence(all[i].Also)
	}
}

// grounds are the evidence of a finding, and what else the same change mends.
func grounds(f finding.Finding) []finding.Evidence {
	all := slices.Clone(f.Evidence)
	for _, a := range f.Also {
		all = append(all, finding.Evidence{Text: "also: " + a.Message + " [" + a.Rule + "]", File: a.Position.File, Line: a.Position.Line})
	}
	return all
}

// number counts the findings of a severity.
func (l Lint) number(s finding.Severity) int {
	n := 0
	for _, f := range l.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// inRepository turns a path relative to the root of the platform into one
// relative to the top of the repository.
func (l Lint) inRepository(file string) string {
	if file == "" {
		return ""
	}
	return path.Join(l.Folder, file)
}

// orders maps components to their places, by environment and name.
func (l Lint) orders() map[[2]string]string {
	orders := make(map[[2]string]string, len(l.Components))
	for _, c := range l.Components {
		orders[[2]string{c.Environment, c.Name}] = c.Order
	}
	return orders
}

// shared is a finding with the environments that have it alike.
type shared struct {
	finding.Finding
	environments []string
	// header is above the findings of its component in a text.
	header string
}

// merged joins findings that differ in their environment only, in their order:
// overlays of the same components share most mistakes.
func merged(findings []finding.Finding) []shared {
	type key struct {
		rule, component, provider, message string
		severity                           finding.Severity
		resource                           finding.Resource
		position                           finding.Position
	}
	index := make(map[key]int, len(findings))
	out := make([]shared, 0, len(findings))
	for _, f := range findings {
		k := key{f.Rule, f.Component, f.Provider, f.Message, f.Severity, f.Resource, f.Position}
		i, ok := index[k]
		if !ok {
			index[k] = len(out)
			out = append(out, shared{Finding: f, environments: []string{f.Environment}})
			continue
		}
		if !slices.Contains(out[i].environments, f.Environment) {
			out[i].environments = append(out[i].environments, f.Environment)
		}
		for _, a := range f.Also {
			alike := func(b finding.Finding) bool {
				return a.Rule == b.Rule && a.Message == b.Message && a.Position == b.Position
			}
			if !slices.ContainsFunc(out[i].Also, alike) {
				out[i].Also = append(slices.Clip(out[i].Also), a)
			}
		}
	}
	return out
}

// fewEnvironments is how many environments the verdict names.
const fewEnvironments = 5

// summary is the verdict of a report for people, of the merged findings: what
// environments have alike counts once, as it is shown once.
func (l Lint) summary(all []shared) string {
	number := map[finding.Severity]int{}
	for _, f := range all {
		number[f.Severity]++
	}
	count := func(s finding.Severity, what string) string {
		text := finding.Count(number[s], what)
		if n := l.number(s); n != number[s] && len(l.Environments) > 1 {
			text += fmt.Sprintf(" (%d by environment)", n) // as the summary of the JSON document counts
		}
		return text
	}
	text := count(finding.Error, "error") + ", " + count(finding.Warning, "warning")
	if n := number[finding.Info]; n > 0 {
		text += ", " + finding.Count(n, "note")
	}
	text += " in " + finding.Count(len(l.Components)-l.Disabled, "component")
	if l.Disabled > 0 {
		text += fmt.Sprintf(" and %d disabled", l.Disabled)
	}
	if l.Coverage.Parents > 0 {
		text += " and " + finding.Count(l.Coverage.Parents, "parent")
	}
	text += " (" + finding.Count(l.Edges, "edge")
	switch n := len(l.Environments); {
	case n > fewEnvironments:
		text += fmt.Sprintf(", %d environments", n)
	case n > 0:
		text += ", " + strings.Join(l.Environments, ", ")
	}
	parts := []string{text + ")", l.Coverage.String()}
	for _, also := range []struct {
		n    int
		what string
	}{{len(l.Suppressed), "suppressed"}, {l.Known, "in " + cmp.Or(l.Baseline, "the baseline")}, {l.Milder, "milder and not shown"}} {
		if also.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", also.n, also.what))
		}
	}
	return strings.Join(parts, "; ")
}
