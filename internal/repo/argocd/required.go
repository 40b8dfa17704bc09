package argocd

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// complete tells of an Application, or of the template of a set, without one of the two
// fields that it must have, and of one that goes to no cluster. Source: the
// CustomResourceDefinitions of Argo CD; argo-cd, util/argo, GetDestinationCluster.
func (r *Repository) complete(d document, spec *yamldoc.Value, field string) {
	isThere := func(key string) bool { v := spec.At(key); return v != nil && v.Kind != yamldoc.Null }
	tell := func(at finding.Position, format string, args ...any) *finding.Finding {
		f := newFinding(RuleInvalid, finding.Error, at, d.name(), format, args...)
		f.Fix.Summary = "add it"
		r.findings = append(r.findings, f)
		return &r.findings[len(r.findings)-1]
	}
	at := d.at(strings.Split(field, ".")...)
	switch to := spec.At("destination"); {
	case !isThere("source") && !isThere("sources"): // a patch, or told elsewhere
	case isThere("destination") != isThere("project"):
		missing := "project"
		if isThere("project") {
			missing = "destination"
		}
		tell(at, "%s.%s is missing; the API server refuses the %s", field, missing, d.value.TextAt("kind"))
	case isThere("destination") && to.Kind == yamldoc.Map && !d.rendered && !completes(d) && to.At("server") == nil && to.At("name") == nil && isThere("project"):
		tell(d.at(append(strings.Split(field, "."), "destination")...), "%s.destination has neither server nor name; Argo CD syncs no Application without a cluster", field).
			Fix.Summary = "add server: " + inClusterServer + ", or the name of a cluster"
	}
	to, under := spec.At("destination"), append(strings.Split(field, "."), "destination")
	if to.TextAt("server") != "" && to.TextAt("name") != "" && !completes(d) {
		tell(d.at(under...), "%s.destination has both server and name; Argo CD syncs no Application with both", field).
			Fix.Summary = "remove one of them"
	}
	if name := to.TextAt("namespace"); name != "" && wordOf.MatchString(name) && !namespaceName.MatchString(name) {
		tell(d.at(append(under, "namespace")...), "%s.destination.namespace is %s, which is no name of a Namespace: the API server takes nothing that goes there", field, name).
			Fix.Summary = "write it in lower case letters, digits and hyphens"
	}
	r.bothSources(d, spec, field)
}

// bothSources tells of a source beside a list of sources, which Argo CD takes alone. Source:
// Argo CD, ApplicationSpec.GetSources.
func (r *Repository) bothSources(d document, spec *yamldoc.Value, field string) {
	one, list := spec.At("source"), spec.At("sources")
	if one == nil || one.Kind != yamldoc.Map || len(one.Entries) == 0 || list == nil || len(list.Items) == 0 || completes(d) {
		return
	}
	f := newFinding(RuleInvalid, finding.Warning, d.at(append(strings.Split(field, "."), "source")...), d.name(),
		"%s.source stands beside %s.sources, and Argo CD takes sources alone: nothing of source is applied", field, field)
	if !slices.ContainsFunc(list.Items, func(s *yamldoc.Value) bool { return s.TextAt("path")+s.TextAt("chart") != "" || s.TextAt("ref") == "" }) {
		f.Severity = finding.Error
		f.Message += ", and sources hold nothing but references: what it is for is never applied"
	}
	f.Fix.Summary = "make source one of sources"
	r.findings = append(r.findings, f)
}
