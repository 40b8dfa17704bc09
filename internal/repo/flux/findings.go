package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// tell says what is wrong with the cluster, what was not read and what is not known.
func (p *platform) tell() {
	if p.cluster.gathers {
		root := &p.cluster.Kustomizations[0]
		f := p.finding(ruleAssumed, finding.Info, root.Position, "",
			"nothing in the repository says what has Flux apply the objects in %s: one Kustomization is taken to apply all of them", root.Path)
		f.Fix.Summary = "say what Flux applies: a Kustomization in the repository, or the folder of a cluster as the argument"
	}
	p.references()
	p.unknownChecks()
	p.undecrypted()
	for _, problem := range p.result.Problems {
		if problem.Cluster == p.cluster.Name {
			p.problem(problem)
		}
	}
	p.unknownVariables()
	p.postRenderers()
	p.left()
}

// problem turns what went wrong on reading into a finding. What the renderer says of
// a component is not said twice.
func (p *platform) problem(problem Problem) {
	switch {
	case problem.Kind == Missing:
		f := p.finding(ruleMissing, finding.Error, problem.Position, p.componentAt(problem.Position), "%s", strings.TrimSpace("Kustomization "+problem.Name)+": "+problem.Message)
		f.Fix.Summary = "correct spec.path"
	case problem.Kind == Build && problem.Mild:
		p.finding(ruleAssumed, finding.Info, problem.Position, "", "%s", problem.Message)
	case problem.Kind == Build || problem.Kind == Invalid && !strings.Contains(problem.Message, "names no chart"):
		f := p.finding(ruleInvalid, finding.Error, problem.Position, "", "%s", problem.Message)
		f.Unread = []finding.Unread{{Name: problem.Name, Position: problem.Position, Reason: problem.Message, Part: true}}
	}
}

// componentAt names the component of the Kustomization that is written at a position.
func (p *platform) componentAt(at finding.Position) string {
	i := slices.IndexFunc(p.cluster.Kustomizations, func(k Kustomization) bool { return k.Position == at })
	if i < 0 {
		return ""
	}
	return p.setup.Units[i].Component
}

// unknownVariables tells of the variables that stay as they are written, once for each
// source that has them.
func (p *platform) unknownVariables() {
	type holding struct {
		variables []string
		in        []string
		at        finding.Position
	}
	var sources []string
	of := map[string]*holding{}
	values := map[int][]string{} // of releases, by Kustomization
	for i := range p.cluster.Releases {
		r := &p.cluster.Releases[i]
		values[r.Kustomization] = append(values[r.Kustomization], r.Unfilled...)
	}
	for i := range p.cluster.Kustomizations {
		k := &p.cluster.Kustomizations[i]
		names := values[i]
		for _, o := range k.Objects {
			names = append(names, unfilled(o.Object)...)
		}
		if len(k.Unknown) == 0 || len(names) == 0 {
			continue
		}
		source := strings.Join(k.Unknown, " and ")
		h := of[source]
		if h == nil {
			h = &holding{at: k.Position}
			sources, of[source] = append(sources, source), h
		}
		h.variables, h.in = append(h.variables, names...), append(h.in, k.Name)
	}
	for _, source := range sources {
		h := of[source]
		slices.Sort(h.variables)
		h.variables = slices.Compact(h.variables)
		f := p.finding(ruleNotRead, finding.Info, h.at, "", "the variables of %s are not known: %s stay as written in what is applied by %s", source, few(h.variables), few(h.in))
		f.Fix.Summary = "nothing to do where only values depend on them; names that depend on them are better written in a ConfigMap of the repository"
		f.Unread = []finding.Unread{{Position: h.at, Reason: f.Message, Part: true}}
	}
}

// postRenderers tells of the charts whose objects Flux changes further.
func (p *platform) postRenderers() {
	var names []string
	var at finding.Position
	for i := range p.cluster.Releases {
		if r := &p.cluster.Releases[i]; r.PostRendered {
			if len(names) == 0 {
				at = r.Position
			}
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	f := p.finding(ruleNotRead, finding.Info, at, "", "postRenderers are not applied to what the charts of %s render to", few(names))
	f.Unread = []finding.Unread{{Position: at, Reason: f.Message, Part: true}}
}

// left tells of what was not read.
func (p *platform) left() {
	var alone []Left
	for _, l := range p.result.Left {
		switch l.Cluster {
		case p.cluster.Name:
			f := p.finding(ruleNotRead, finding.Info, l.Position, "", "%s %s: %s", l.Kind, l.Name, l.Reason)
			f.Unread = []finding.Unread{{Name: l.Name, Position: l.Position, Reason: f.Message}}
		case "":
			alone = append(alone, l)
		}
	}
	if len(alone) > 0 {
		f := NotRead(alone, "no cluster that was found applies this")
		f.Environment = p.cluster.Name
		p.findings = append(p.findings, f)
	}
}

// NotRead tells of Kustomizations and HelmReleases that were not read, one or more.
func NotRead(all []Left, why string) finding.Finding {
	f := finding.Finding{Rule: ruleNotRead, Severity: finding.Info, Scope: finding.Rule, Basis: finding.Declared, Position: all[0].Position}
	var names []string
	for _, l := range all {
		names = append(names, l.Kind+" "+l.Name)
		f.Unread = append(f.Unread, finding.Unread{Name: l.Name, Position: l.Position, Reason: l.Kind + " " + l.Name + ": " + cmp.Or(l.Reason, why)})
	}
	f.Message = fmt.Sprintf("%d Kustomizations and HelmReleases of Flux are not read: %s (%s)", len(all), why, few(names))
	if len(all) == 1 {
		f.Message = fmt.Sprintf("%s of Flux is not read: %s", names[0], why)
	}
	return f
}
