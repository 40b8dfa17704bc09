package argocd

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// waits says why a source is not rendered that another tool fills in.
const waits = "the address of the source waits for another tool to fill in "

// placeholders are what another tool fills in of the address of a source, sorted.
func placeholders(src model.Source) []string {
	text := src.RepoURL + " " + src.Path
	if src.Kind == model.Git {
		text += " " + src.Name
	}
	all := filledIn.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// waiting tells of the components whose sources wait for another tool, once for
// those of one ApplicationSet or folder that wait for the same.
func waiting(components []model.Component) []finding.Finding {
	type cause struct{ place, what string }
	type waiter struct {
		name string
		at   finding.Position
	}
	found := map[cause][]waiter{}
	var order []cause
	for _, c := range components {
		for _, src := range c.Sources {
			if !strings.HasPrefix(src.Refused, waits) {
				continue
			}
			what := placeholders(src)
			k := cause{path.Dir(c.Position.File), strings.Join(what, " and ")}
			if c.Set != "" {
				k.place = "the ApplicationSet " + c.Set
			}
			if found[k] == nil {
				order = append(order, k)
			}
			if !slices.ContainsFunc(found[k], func(w waiter) bool { return w.name == c.Name }) {
				found[k] = append(found[k], waiter{c.Name, src.Position})
			}
		}
	}
	var all []finding.Finding
	for _, k := range order {
		list := found[k]
		slices.SortFunc(list, func(a, b waiter) int {
			return cmp.Or(strings.Compare(a.at.File, b.at.File), cmp.Compare(a.at.Line, b.at.Line), strings.Compare(a.name, b.name))
		})
		names := make([]string, len(list))
		for i, w := range list {
			names[i] = w.name
		}
		var f finding.Finding
		if len(list) == 1 {
			f = notRead(list[0].at, names[0], "the source of the Application %s waits for another tool to fill in %s", names[0], k.what)
		} else {
			f = notRead(list[0].at, "", "the sources of %d Applications wait for another tool to fill in %s: %s", len(list), k.what, few(names))
		}
		f.Unread = nil // their components are listed as not rendered
		if strings.Contains(k.what, "{{") {
			f.Fix.Summary = "say in ladder.yaml which clusters there are, with their labels and annotations: generators.clusters"
		}
		all = append(all, f)
	}
	return all
}

// fewNames is how many names a message lists.
const fewNames = 5

// few lists the first names.
func few(names []string) string {
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewNames], ", "), len(names)-fewNames)
}

// several counts things: one, or a number of many.
func several(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// unapplied tells of the Applications that belong to no root: first of those that kustomizations leave
// out by a comment, which is meant, then of the others, which were not read.
func (r *Repository) unapplied(apps []document) []finding.Finding {
	slices.SortStableFunc(apps, func(a, b document) int {
		return cmp.Or(strings.Compare(a.position().File, b.position().File), cmp.Compare(a.position().Line, b.position().Line))
	})
	var all []finding.Finding
	var others []document
	off := map[string][]document{}
	for _, app := range apps {
		if by := r.commented[app.position().File]; len(by) > 0 {
			off[by[0]] = append(off[by[0]], app)
		} else {
			others = append(others, app)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(off)) {
		first, names := off[by][0], namesOfAll(off[by])
		f := notRead(first.position(), "", "%s leaves out by a comment: %s", kustomizationFile(r.tree, by), few(names))
		if len(names) == 1 {
			f.Component = first.name()
		}
		f.Unread = nil
		all = append(all, f)
	}
	isTemplate := func(d document) bool { return hasPlaceholder(d.name()) } // no object is called so
	if templates := slices.DeleteFunc(slices.Clone(others), func(d document) bool { return !isTemplate(d) }); len(templates) > 0 {
		f := notRead(templates[0].position(), "", "%s: another tool fills in %s", isOrAre(templates), few(namesOfAll(templates)))
		f.Unread = nil
		for _, d := range templates {
			f.Unread = append(f.Unread, finding.Unread{Name: d.name(), Position: d.position(), Template: true, Reason: "it is a template: another tool fills in its name"})
		}
		all, others = append(all, f), slices.DeleteFunc(others, isTemplate)
	}
	switch len(others) {
	case 0:
		return all
	case 1:
		first := others[0]
		return append(all, notRead(first.position(), first.name(), "the %s %s is not read: %s", first.kind(), first.name(), whyUnapplied(first)))
	}
	unread := make([]finding.Unread, len(others))
	for i, app := range others {
		unread[i] = finding.Unread{Name: app.name(), Position: app.position(), Reason: whyUnapplied(app)}
	}
	f := notRead(others[0].position(), "", "%d %s are not read, since no other Application applies them: %s", len(others), kindsOf(others), few(namesOfAll(others)))
	f.Unread = unread
	return append(all, f)
}

// isOrAre says that Applications are templates.
func isOrAre(templates []document) string {
	if len(templates) == 1 {
		return "the " + templates[0].kind() + " is a template"
	}
	return fmt.Sprintf("%d %s are templates", len(templates), kindsOf(templates))
}

// namesOfAll are the names of objects.
func namesOfAll(all []document) []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.name()
	}
	return names
}

// whyUnapplied says why an Application that no other one applies is not taken for one that somebody
// applies.
func whyUnapplied(d document) string {
	for _, s := range d.sources() {
		if hasPlaceholder(s.path()) {
			return "a program fills in its path " + s.path()
		}
	}
	return "no other Application applies it"
}

// kindsOf says what several objects are.
func kindsOf(objects []document) string {
	isSet := func(d document) bool { return d.argo("ApplicationSet") }
	switch {
	case !slices.ContainsFunc(objects, isSet):
		return "Applications"
	case slices.ContainsFunc(objects, document.isApplication):
		return "Applications and ApplicationSets"
	default:
		return "ApplicationSets"
	}
}

// namesakes tells of the Applications that sets are only supposed to generate, and
// whose names others have: which of them there is depends on what is not known.
func namesakes(left []model.Component) finding.Finding {
	if len(left) == 1 {
		return notRead(left[0].Position, left[0].Name, "the Application %s is left out: there is another one of its name", left[0].Name)
	}
	names := make([]string, len(left))
	unread := make([]finding.Unread, len(left))
	for i, c := range left {
		names[i] = c.Name
		unread[i] = finding.Unread{Name: c.Name, Position: c.Position, Reason: "it is left out: there is another one of its name"}
	}
	f := notRead(left[0].Position, "", "%d Applications are left out, since there are others of their names: %s", len(left), few(names))
	f.Unread = unread
	return f
}

// folded are the findings with those of what was not read or is assumed that tell
// the same of one place in one: what is wrong with a template is told of each
// Application that is generated from it.
func folded(findings []finding.Finding) []finding.Finding {
	key := func(f finding.Finding) string {
		// What is told begins with the same words.
		words := strings.Fields(f.Message)
		return f.Rule + "|" + f.Position.String() + "|" + strings.Join(words[:min(3, len(words))], " ")
	}
	folds := func(f finding.Finding) bool {
		return (f.Rule == RuleNotRead || f.Rule == RuleAssumed) && f.Severity == finding.Info
	}
	of := map[string]map[string]bool{}
	unread := map[string][]finding.Unread{}
	for _, f := range findings {
		if folds(f) {
			k := key(f)
			unread[k] = append(unread[k], f.Unread...)
			if of[k] == nil {
				of[k] = map[string]bool{}
			}
			of[k][f.Component] = true
		}
	}
	told := map[string]bool{}
	var out []finding.Finding
	for _, f := range findings {
		if !folds(f) {
			out = append(out, f)
			continue
		}
		k := key(f)
		if n := len(of[k]); n > 1 {
			if told[k] {
				continue
			}
			told[k] = true
			f.Component, f.Unread = "", unread[k]
			f.Message += fmt.Sprintf(" (so it is for %d Applications of this template)", n)
		}
		out = append(out, f)
	}
	return out
}
