package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// alike bounds how many findings of one cause are shown below the first.
const alike = 4

// LintText writes what lint found for people: findings by component, those with
// the gravest first, and once what many components have alike. verbose shows every
// finding whole, and what is suppressed.
func LintText(w io.Writer, l Lint, style Style, verbose bool) error {
	l = l.below()
	var b strings.Builder
	t := lintText{b: &b, style: style, verbose: verbose, several: len(l.Environments) > 1, orders: l.orders()}
	all := merged(l.Findings)
	verdict := t.verdict(l, all)
	b.WriteString(verdict)
	if len(all)+len(l.Unrendered) > 0 {
		b.WriteByte('\n')
	}
	writeUnrendered(&b, l.Unrendered, l.Findings, verbose)
	for i := range all {
		all[i].header = t.header(all[i])
	}
	var order []string
	groups := map[string][]shared{}
	shown, alsoIn := t.fold(all)
	for _, f := range shown {
		if groups[f.header] == nil {
			order = append(order, f.header)
		}
		groups[f.header] = append(groups[f.header], f)
	}
	for _, header := range order {
		b.WriteString(style.paint(bold, header) + "\n")
		t.group(groups[header])
		b.WriteByte('\n')
	}
	t.folds(alsoIn)
	if verbose {
		t.suppressed(l)
	}
	if strings.Count(b.String(), "\n") > aScreen {
		b.WriteString(verdict)
	}
	if len(l.Findings) > 0 {
		b.WriteString(style.paint(faint, "  ladder explain RULE says what a rule means and how to suppress it") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const bold = "1"

// aScreen is how many lines people see at once; the verdict is repeated below more.
const aScreen = 20

// verdict is the first line: what was found, and in how much.
func (t *lintText) verdict(l Lint, all []shared) string {
	glyph, code := "✓", green
	switch {
	case l.number(finding.Error) > 0:
		glyph, code = "✕", red
	case l.number(finding.Warning) > 0, !l.Coverage.Whole():
		glyph, code = "!", yellow
	}
	return t.style.paint(code, glyph+" "+l.summary(all)) + "\n"
}

type lintText struct {
	b       *strings.Builder
	style   Style
	verbose bool
	several bool // environments
	orders  map[[2]string]string
}

// bracketed is a place in brackets; a path of waves has them already, and no place needs none.
func bracketed(place string) string {
	if place == "" || strings.HasPrefix(place, "(") {
		return place
	}
	return "(" + place + ")"
}

// header names the component of a finding, its place and its environments.
func (t *lintText) header(f shared) string {
	name := f.Component
	if name == "" {
		name = f.Position.File
		if name == "" {
			name = "platform"
		}
	}
	if order := t.orders[[2]string{f.environments[0], f.Component}]; order != "" {
		name += " " + bracketed(order)
	}
	if t.several && f.environments[0] != "" {
		name += " in " + strings.Join(f.environments, ", ")
	}
	return Plain(name)
}

// group writes the findings of a component. Of those with one rule and provider, or
// with one rule and object, the first is written whole and the others in a line each. How those of
// one pair are mended is written once, where it is the same.
func (t *lintText) group(findings []shared) {
	var causes [][]shared
	for _, f := range findings {
		i := slices.IndexFunc(causes, func(c []shared) bool {
			return c[0].Rule == f.Rule && c[0].Severity == f.Severity && c[0].Says == f.Says &&
				(c[0].Provider == f.Provider || f.Scope == finding.Cross && c[0].Position == f.Position)
		})
		if i < 0 {
			causes = append(causes, []shared{f})
			continue
		}
		causes[i] = append(causes[i], f)
	}
	for k, cause := range causes {
		// What mends the next of a pair too is written there.
		repeated := !t.verbose && k+1 < len(causes) && cause[0].Provider != "" &&
			cause[0].Provider == causes[k+1][0].Provider && fixLine(cause[0]) == fixLine(causes[k+1][0])
		var others []finding.Finding
		for i, f := range cause {
			if i == 0 || t.verbose {
				t.whole(f)
				if !repeated {
					t.b.WriteString(fixLine(f))
				}
				others = append(others, f.Also...)
			} else {
				others = append(append(others, f.Finding), f.Also...)
			}
			if t.verbose {
				for _, a := range others {
					t.also(a, f.Rule)
					for _, e := range a.Evidence {
						if !slices.Contains(f.Evidence, e) {
							t.evidence(e)
						}
					}
				}
				others = nil
			}
		}
		for i, f := range others {
			if i == alike {
				fmt.Fprintf(t.b, "    and %d more like this; --verbose shows them\n", len(others)-i)
				break
			}
			t.also(f, cause[0].Rule)
		}
	}
}

// also writes a finding below one that was written whole, and its rule where that is another.
func (t *lintText) also(f finding.Finding, rule string) {
	if f.Rule == rule {
		rule = ""
	} else {
		rule = t.style.paint(faint, " ["+f.Rule+"]")
	}
	fmt.Fprintf(t.b, "    also %s: %s%s\n", Plain(f.Position.String()), Plain(f.Message), rule)
}

func (t *lintText) whole(f shared) {
	code := cyan
	switch f.Severity {
	case finding.Error:
		code = red
	case finding.Warning:
		code = yellow
	case finding.Info:
	}
	at := ""
	if f.Position.File != "" {
		at = Plain(f.Position.String()) + ": "
	}
	fmt.Fprintf(t.b, "  %s%s %s\n", at, t.style.paint(code, string(f.Severity)+": "+Plain(f.Message)), t.style.paint(faint, "["+f.Rule+"]"))
	for _, e := range f.Evidence {
		t.evidence(e)
	}
	if f.Basis == finding.Catalogue {
		fmt.Fprintf(t.b, "      %s\n", t.style.paint(faint, "rests on the catalogue: what provides it was not rendered"))
	}
}

// fixLine is the line that says how a finding is mended; empty where the message has said it.
func fixLine(f shared) string {
	fix, mechanical := f.WayOut(), ""
	if fix == "" {
		return ""
	}
	if f.Fix.Patch != "" {
		mechanical = " (--fix does it)"
		if f.Fix.Moves {
			mechanical = " (--fix-order does it)"
		}
	}
	return "    fix: " + Plain(fix) + mechanical + "\n"
}

func (t *lintText) evidence(e finding.Evidence) {
	at := finding.Position{File: e.File, Line: e.Line}.String()
	if at != "" {
		at += "  "
	}
	field := ""
	if e.Field != "" && !strings.Contains(e.Text, e.Field) {
		field = "  " + e.Field
	}
	fmt.Fprintf(t.b, "      %s\n", t.style.paint(faint, Plain(at+e.Text+field)))
}

func (t *lintText) suppressed(l Lint) {
	for _, s := range l.Suppressed {
		fmt.Fprintf(t.b, "suppressed: %s: %s [%s], because: %s (%s)\n",
			Plain(s.Finding.Position.String()), Plain(s.Finding.Message), s.Finding.Rule, Plain(s.By.Reason), Plain(s.By.Position.String()))
	}
	if len(l.Suppressed) > 0 {
		t.b.WriteByte('\n')
	}
}
