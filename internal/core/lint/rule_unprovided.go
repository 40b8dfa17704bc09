package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

const ruleUnprovided = "unprovided"

// unprovided finds what is required and nowhere to be found. It concludes from
// absence, so it speaks only where everything was looked at and where the
// repository makes things of that kind, in that namespace, itself.
func unprovided(in Input) []finding.Finding {
	out := missingProjects(in)
	if len(in.Missing) == 0 {
		return out
	}
	managed := managedKinds(in)
	o := newOrder(in)
	kindless := in.kindless()
	off := map[string][]dependency.Missing{}
	for _, m := range in.Missing {
		if _, enabled := o.byName[m.Consumer.Component]; !enabled {
			continue
		}
		if m.Off != "" {
			off[m.Off] = append(off[m.Off], m)
			continue
		}
		if !m.Likely() && (m.Strength != plan.Hard || len(m.Unrendered) > 0) {
			continue
		}
		// Argo CD makes Namespaces too, of which there are no objects.
		made := managed[groupNamespace(m.Required)] || m.Rule == ruleNamespace && m.Managed
		if !m.Likely() && (!made || handmade(m)) {
			continue
		}
		f := finding.Finding{
			Rule: ruleUnprovided, Severity: finding.Warning, Scope: finding.Rule,
			Component: m.Consumer.Component, Resource: m.Required, Position: m.Consumer.Position,
			Basis: finding.Rendered, Evidence: slices.Clone(m.Evidence),
			Message: fmt.Sprintf("%s %s, which nothing in the repository provides", whose(m.Consumer), m.Reason),
			Fix:     finding.Fix{Summary: "add what provides it, correct the name, or mark the reference optional"},
		}
		landing := m.Consumer.Object.Kind == "" && m.Rule == ruleNamespace
		if landing {
			f.Basis = finding.Catalogue
		}
		if m.Sister != "" {
			f.Message += fmt.Sprintf("; there is a %s of that name", m.Sister)
			f.Fix.Summary = fmt.Sprintf("write kind: %s in the reference, or add the %s", m.Sister, m.Required.Kind)
			if len(m.Evidence) > 0 && strings.Contains(m.Evidence[0].Field, ".annotations.") {
				f.Fix.Summary = fmt.Sprintf("write the annotation for a %s, or add the %s", m.Sister, m.Required.Kind)
			}
		}
		switch {
		case landing && in.Flux != nil:
			f.Fix.Summary = "add a Namespace, or set install.createNamespace: true where only a HelmRelease lands there"
		case landing:
			f.Fix.Summary = "add the sync option CreateNamespace=true, or a Namespace"
		case m.Rule == ruleNamespace && in.Flux == nil && m.Sister == "":
			f.Fix.Summary = "add a Namespace, or CreateNamespace=true to an Application whose destination names it, or correct the name"
		}
		if m.Aside.File != "" {
			in.aside(&f, m)
		}
		if m.Elsewhere.File != "" {
			f.Message = fmt.Sprintf("%s %s, which nothing that is applied provides; %s has it", whose(m.Consumer), m.Reason, m.Elsewhere)
			f.Evidence = append(f.Evidence, finding.Evidence{Text: m.Required.Human() + " is not applied", File: m.Elsewhere.File, Line: m.Elsewhere.Line})
			f.Fix.Summary = fmt.Sprintf("have an Application take %s, or correct the name", m.Elsewhere.File)
			if in.Flux != nil {
				f.Fix.Summary = fmt.Sprintf("have a Kustomization apply %s, or correct the name", m.Elsewhere.File)
			}
		}
		if m.Near != "" {
			f.Message += fmt.Sprintf("; there is one of nearly the same name, %s", m.Near)
			f.Fix.Summary = fmt.Sprintf("write %s, or add what provides %s", m.Near, m.Required.Name)
		}
		if len(m.Others) > 0 {
			places := make([]finding.Position, len(m.Others))
			for i := range m.Others {
				places[i] = m.Others[i].Position
			}
			f.Evidence = append(f.Evidence, furtherPlaces(places))
		}
		in.maybeThere(&f)
		if kindless(m) && f.Severity != finding.Info {
			f.Severity = finding.Info
			f.Message += "; nor does anything bring the kind of what lands there: who does may make the namespace"
		}
		if in.Created != nil && f.Severity != finding.Info {
			told, ok := in.Created(f.Resource)
			guessed := strings.HasSuffix(told.Text, " is mentioned") || strings.HasSuffix(told.Text, " out of Git") || strings.HasSuffix(told.Text, " is not read")
			if ok && (!guessed || !m.Likely()) {
				f.Severity = finding.Info
				how := "has it created by hand"
				switch {
				case strings.HasSuffix(told.Text, " is mentioned"):
					how = "speaks of it, and may have it created"
				case strings.HasSuffix(told.Text, " is not read"):
					how = "applies more than is read, and may make it"
				case strings.HasSuffix(told.Text, " out of Git"):
					how = "keeps manifests of Secrets out of Git"
				}
				f.Message += fmt.Sprintf("; %s %s", told.File, how)
				f.Evidence = append(f.Evidence, told)
			}
		}
		out = append(out, in.placed(f, m.Required.Name))
	}
	for _, some := range off {
		out = append(out, in.leavesOut(some))
	}
	return out
}

// kindless reports whether all that lands in a missing namespace is of kinds which nothing in the
// repository brings either.
func (in Input) kindless() func(dependency.Missing) bool {
	unknown := map[string]bool{}
	id := func(e dependency.End) string { return e.Component + "\x00" + e.Object.String() }
	for _, m := range in.Missing {
		if m.Rule == ruleCRD {
			unknown[id(m.Consumer)] = true
			for _, other := range m.Others {
				unknown[id(other)] = true
			}
		}
	}
	return func(m dependency.Missing) bool {
		return m.Rule == ruleNamespace && m.Consumer.Object.Kind != "" && unknown[id(m.Consumer)] &&
			!slices.ContainsFunc(m.Others, func(other dependency.End) bool { return !unknown[id(other)] })
	}
}

// leavesOut tells of a chart that could bring the CRDs that objects need, and leaves them out.
// People who do that bring them otherwise, as a rule: it is information.
func (in Input) leavesOut(all []dependency.Missing) finding.Finding {
	first := all[0]
	value, chart, _ := strings.Cut(first.Off, " of ")
	f := finding.Finding{
		Rule: ruleUnprovided, Severity: finding.Info, Scope: finding.Rule, Component: chart, Resource: first.Required, Position: first.OffAt,
		Basis: finding.Catalogue, Evidence: slices.Clone(first.Evidence),
		Message: fmt.Sprintf("the chart of %s leaves its CRDs out, since %s is off, and nothing else in the repository brings them: %s %s", chart, value, whose(first.Consumer), first.Reason),
		Fix:     finding.Fix{Summary: "set " + value + ", where nobody brings the CRDs otherwise"},
	}
	if value == "skipCrds" {
		f.Message = strings.Replace(f.Message, "since skipCrds is off", "since skipCrds is set, or a helmChart of kustomize has no includeCRDs", 1)
		f.Fix.Summary = "take skipCrds away, or set includeCRDs: true, where nobody brings the CRDs otherwise"
	}
	if n := len(all) - 1; n > 0 {
		f.Message += fmt.Sprintf("; so %s more", isAre(n))
	}
	in.maybeThere(&f)
	return f
}

// aside names the file that has what is missing.
func (in Input) aside(f *finding.Finding, m dependency.Missing) {
	if in.ByHand != nil {
		if told, ok := in.ByHand(FileByHand(m.Aside.File)); ok {
			f.Severity = finding.Info
			f.Message += fmt.Sprintf("; %s has it, which %s has applied by hand", m.Aside, told.File)
			f.Evidence = append(f.Evidence, told)
			return
		}
	}
	f.Message += fmt.Sprintf("; %s has it, but nothing applies that", m.Aside)
	f.Fix.Summary = fmt.Sprintf("add %s to what is applied with the files beside it", m.Aside.File)
	f.Evidence = append(f.Evidence, finding.Evidence{Text: m.Required.Human() + " is not applied", File: m.Aside.File, Line: m.Aside.Line})
}

// group is what is made in one way: the kind, in one namespace where it has one.
type group struct{ group, kind, namespace string }

func groupNamespace(r finding.Resource) group {
	if isCRD(r) {
		// Of the CRDs, those of one API group come together.
		return group{r.Group, r.Kind, afterDot(r.Name)}
	}
	return group{r.Group, r.Kind, r.Namespace}
}

// afterDot is the group in the name of a CRD, "clusters.postgresql.cnpg.io".
func afterDot(name string) string {
	for i := range len(name) {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

// managedKinds are the groups of things of which the repository makes some.
func managedKinds(in Input) map[group]bool {
	managed := map[group]bool{}
	for i := range in.Dependencies {
		managed[groupNamespace(in.Dependencies[i].Required)] = true
	}
	for i := range in.Objects {
		managed[groupNamespace(in.Objects[i].Resource)] = true
	}
	return managed
}

// handmade reports whether the missing thing comes from outside Git, as a rule:
// classes and StorageClasses with the cluster, and by hand the first credential
// of a secret store or an issuer, from which everything else follows.
func handmade(m dependency.Missing) bool {
	if m.Rule == ruleClass && m.Required.Kind != "Gateway" || m.Rule == ruleStorageClass {
		return true
	}
	switch m.Consumer.Object.Kind {
	case "SecretStore", "ClusterSecretStore", "Issuer", "ClusterIssuer", "Application", "ApplicationSet":
		return true
	default:
		return false
	}
}
