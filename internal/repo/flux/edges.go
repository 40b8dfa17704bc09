package flux

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// maxPairs is how many pairs of components that wait for each other a cluster may
// have. Where there are more, only what is written becomes edges.
const maxPairs = 200_000

// edges gives components what they require. What a Kustomization applies waits for
// what that depends on, and what it depends on is Ready with all that it waits for.
func (p *platform) edges() {
	at := map[string]int{}
	for i := range p.components {
		at[p.components[i].Name] = i
	}
	children := make([][]int, len(p.setup.Units))
	for i := range p.setup.Units {
		if parent := p.setup.Units[i].Parent; parent >= 0 {
			children[parent] = append(children[parent], i)
		}
	}
	circle := map[int]bool{}
	for _, units := range p.setup.Ordered().Cycles() {
		for _, u := range units {
			circle[u] = true
		}
	}
	require := func(from, to int, position finding.Position, inherited bool) {
		a, b := p.setup.Units[from].Component, p.setup.Units[to].Component
		i, ok := at[a]
		if !ok || b == "" || from == to || p.setup.Units[to].Suspended {
			return
		}
		c := &p.components[i]
		known := slices.IndexFunc(c.Requires, func(r model.Requirement) bool { return r.Text == b })
		if known < 0 {
			c.Requires = append(c.Requires, model.Requirement{Text: b, Position: position, Field: "spec.dependsOn", Inherited: inherited})
		} else if !inherited {
			c.Requires[known].Inherited = false
		}
	}
	pairs := 0
	for i := range p.setup.Units {
		for _, d := range p.setup.Units[i].DependsOn {
			if d.Unit < 0 {
				continue
			}
			require(i, d.Unit, d.Position, false)
			// The units of a circle stand for themselves only: the circle is to be seen as
			// it is written.
			if circle[i] || circle[d.Unit] {
				continue
			}
			waiting, awaited := all(i, children), p.awaited(d.Unit, children)
			if pairs += len(waiting) * len(awaited); pairs > maxPairs {
				return
			}
			// Where no components stand for both ends, the edge itself is not there to inherit from.
			stands := p.setup.Units[i].Component != "" && p.setup.Units[d.Unit].Component != ""
			for _, from := range waiting {
				for _, to := range awaited {
					require(from, to, d.Position, stands && (from != i || to != d.Unit))
				}
			}
		}
	}
}

// all are a unit and everything that it applies, directly or not.
func all(unit int, children [][]int) []int {
	found := []int{unit}
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// awaited are the units that are Ready before a unit is.
func (p *platform) awaited(unit int, children [][]int) []int {
	found := []int{unit}
	seen := map[int]bool{unit: true}
	for i := 0; i < len(found); i++ {
		u := &p.setup.Units[found[i]]
		next := u.Checks
		if u.Wait {
			next = children[found[i]]
		}
		for _, n := range next {
			if !seen[n] {
				seen[n] = true
				found = append(found, n)
			}
		}
	}
	return found
}

// The rules of the findings that reading Flux can make.
const (
	ruleNotRead  = "not-read"
	ruleAssumed  = "assumed"
	ruleMissing  = "file-missing"
	ruleInvalid  = "invalid-field"
	ruleUnknown  = "unknown-requirement"
	ruleDisabled = "disabled-but-required"
)

func (p *platform) finding(rule string, severity finding.Severity, at finding.Position, component, format string, args ...any) *finding.Finding {
	p.findings = append(p.findings, finding.Finding{
		Rule: rule, Severity: severity, Scope: finding.Rule, Environment: p.cluster.Name, Component: component,
		Message: fmt.Sprintf(format, args...), Position: at, Basis: finding.Declared,
	})
	return &p.findings[len(p.findings)-1]
}

// references tells of dependsOn that names nothing, or what is suspended.
func (p *platform) references() {
	open := p.open()
	for i := range p.setup.Units {
		u := &p.setup.Units[i]
		if u.Suspended {
			continue
		}
		for _, d := range u.DependsOn {
			switch {
			case d.Unit < 0:
				p.unknownReference(u, d, open)
			case p.setup.Units[d.Unit].Suspended:
				to := &p.setup.Units[d.Unit]
				f := p.finding(ruleDisabled, finding.Warning, d.Position, u.Component, "%s depends on %s, which is suspended: on a cluster where that was never Ready, it does not start", u, to)
				f.Scope, f.Provider = finding.Cross, to.Component
				f.Fix.Summary = fmt.Sprintf("resume %s, suspend %s as well, or drop the dependency", to.Name, u.Name)
			}
		}
	}
}

// unknownChecks tells of health checks of Kustomizations and HelmReleases that are nowhere:
// the Kustomization that has one waits until its time is up, and with it what depends
// on it. Source: Flux, Kustomization, "Health checks"; with wait they count for nothing.
func (p *platform) unknownChecks() {
	open := p.open()
	// In any namespace, which a kustomization may set that was read in parts.
	names, there := map[string][]string{}, map[string]bool{}
	for i := range p.setup.Units {
		u := &p.setup.Units[i]
		kind := string(u.Kind)
		names[kind], there[kind+"/"+u.Name] = append(names[kind], u.Name), true
	}
	for i := range p.cluster.Kustomizations {
		k := &p.cluster.Kustomizations[i]
		if k.WaitAll || k.KubeConfig != "" || p.cluster.Suspended(i) { // of another cluster, it may have Flux itself
			continue
		}
		var missing []Check
		for _, check := range k.HealthChecks {
			named := func(l Left) bool { return l.Kind == check.Kind && l.Name == check.Name }
			isUnit := check.Kind == string(fluxcd.Kustomization) || check.Kind == string(fluxcd.HelmRelease)
			if isUnit && strings.Contains(check.APIVersion, ".toolkit.fluxcd.io/") && !strings.Contains(check.Name, "$") &&
				!there[check.Kind+"/"+check.Name] && !slices.ContainsFunc(p.result.Templates, named) {
				missing = append(missing, check)
			}
		}
		if len(missing) == 0 {
			continue
		}
		first := missing[0]
		f := p.finding(ruleUnknown, finding.Error, k.Position, p.setup.Units[i].Component, "Kustomization %s checks the health of %s %s/%s, which nothing in the repository defines: it never becomes Ready",
			k.Name, first.Kind, first.Namespace, first.Name)
		if open != "" || slices.ContainsFunc(p.result.Left, func(l Left) bool { return l.Kind == first.Kind && l.Name == first.Name }) {
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf("Kustomization %s checks the health of %s %s/%s, which nothing that was read applies", k.Name, first.Kind, first.Namespace, first.Name)
		}
		if more := len(missing) - 1; more > 0 {
			f.Message += fmt.Sprintf("; and of %d more", more)
		}
		f.Fix.Summary = "correct the name, or drop the health check"
		if name := yamldoc.Nearest(first.Name, names[first.Kind]); name != "" {
			f.Fix.Summary = "did you mean " + name + "?"
		}
	}
}

// open says what was not read and may make Kustomizations and HelmReleases; empty
// where everything was read.
func (p *platform) open() string {
	if p.result.part {
		return "what lies beside this folder in the repository"
	}
	for i := range p.cluster.Kustomizations {
		if k := &p.cluster.Kustomizations[i]; k.Elsewhere != nil {
			return "what Kustomization " + k.Name + " applies"
		}
	}
	for _, l := range p.result.Left {
		if l.Cluster == p.cluster.Name {
			return "what the " + l.Kind + " " + l.Name + " makes"
		}
	}
	for _, problem := range p.result.Problems {
		if problem.Cluster == p.cluster.Name && slices.Contains([]Kind{Build, Missing, Invalid}, problem.Kind) {
			return "a part of " + problem.Position.File
		}
	}
	return ""
}

// otherwhere is another cluster that has what a dependency names, where nothing says that the
// folder of this one is synced: both may be parts of one; empty for none.
func (p *platform) otherwhere(kind fluxcd.Kind, d fluxcd.Reference) string {
	if len(p.cluster.Kustomizations) == 0 || !p.cluster.Kustomizations[0].Made {
		return ""
	}
	for i := range p.result.Clusters {
		c := &p.result.Clusters[i]
		if kind == fluxcd.HelmRelease && slices.ContainsFunc(c.Releases, func(r Release) bool { return r.Namespace == d.Namespace && r.Name == d.Name }) ||
			kind == fluxcd.Kustomization && slices.ContainsFunc(c.Kustomizations, func(k Kustomization) bool { return k.Namespace == d.Namespace && k.Name == d.Name }) {
			return c.Name
		}
	}
	return ""
}

func (p *platform) unknownReference(u *fluxcd.Unit, d fluxcd.Reference, open string) {
	f := p.finding(ruleUnknown, finding.Error, d.Position, u.Component, "%s depends on %s %s/%s, which nothing in the repository defines: it never becomes Ready", u, u.Kind, d.Namespace, d.Name)
	if open != "" {
		f.Severity = finding.Warning
		f.Message = fmt.Sprintf("%s depends on %s %s/%s, which nothing that was read defines; %s is not read and may define it", u, u.Kind, d.Namespace, d.Name, open)
	}
	for _, l := range p.result.Left {
		if l.Kind == string(u.Kind) && l.Name == d.Name {
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf("%s depends on %s %s/%s, which is written in %s; no cluster that was found applies that", u, u.Kind, d.Namespace, d.Name, l.Position.File)
		}
	}
	for _, l := range p.result.Templates {
		if l.Kind == string(u.Kind) && l.Name == d.Name {
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("%s depends on %s %s/%s, which only the template %s writes: it is taken to be applied before", u, u.Kind, d.Namespace, d.Name, l.Position.File)
		}
	}
	if other := p.otherwhere(u.Kind, d); other != "" {
		f.Severity = finding.Info
		f.Message = fmt.Sprintf("%s depends on %s %s/%s, which is in %s: nothing says which folders one cluster has", u, u.Kind, d.Namespace, d.Name, other)
	}
	f.Scope = finding.Cross
	f.Fix.Summary = "correct the name, or drop the dependency"
	var near []string
	for i := range p.setup.Units {
		other := &p.setup.Units[i]
		if other.Kind == u.Kind {
			near = append(near, other.Name)
		}
		switch {
		case other.Name != d.Name:
		case other.Kind == u.Kind:
			f.Fix.Summary = fmt.Sprintf("there is one in the namespace %s: write namespace: %s", other.Namespace, other.Namespace)
			return
		default:
			f.Fix.Summary = fmt.Sprintf("%s is a %s, and a %s can depend on others of its kind only; name the %s", d.Name, other.Kind, u.Kind, u.Kind)
			if parent := other.Parent; parent >= 0 && u.Kind == fluxcd.Kustomization {
				f.Fix.Summary = fmt.Sprintf("%s is a HelmRelease; depend on Kustomization %s, which applies it, and let that wait", d.Name, p.setup.Units[parent].Name)
			}
		}
	}
	if name := yamldoc.Nearest(d.Name, near); name != "" && f.Fix.Summary == "correct the name, or drop the dependency" {
		f.Fix.Summary = "did you mean " + name + "?"
	}
}
