package lint

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleWait = "wait-in-chart"

// Wait is a command in a chart that asks with kubectl until an object is there: in an
// init container, or in a hook before the sync.
type Wait struct {
	Component string
	// Of is the object whose pod waits, Container the one that does.
	Of        finding.Resource
	Container string
	// Kind is as kubectl takes it: "deploy", "kafkas.kafka.strimzi.io".
	Kind, Namespace, Name string
	Position              finding.Position
}

// shortKinds are kubectl's short names. Source: kubectl api-resources.
var shortKinds = map[string]string{
	"deploy": "deployment", "sts": "statefulset", "ds": "daemonset", "svc": "service", "cm": "configmap", "ns": "namespace",
	"crd": "customresourcedefinition", "crds": "customresourcedefinition", "pvc": "persistentvolumeclaim", "sa": "serviceaccount", "ing": "ingress",
}

// isKind reports whether kubectl takes a word for a kind: its name in lower case, one
// or many of them, perhaps with its group.
func isKind(word, kind string) bool {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	kind = strings.ToLower(kind)
	if stem, y := strings.CutSuffix(kind, "y"); y && word == stem+"ies" {
		return true
	}
	return word == kind || word == kind+"s" || word == kind+"es" || shortKinds[word] == kind
}

// waitInChart finds waits for what another component provides: the order can see to
// that. What nothing provides, or the component itself, is waited for with reason.
func waitInChart(in Input) []finding.Finding {
	if len(in.Waits) == 0 {
		return nil
	}
	named := map[string][]*Object{}
	for i := range in.Objects {
		o := &in.Objects[i]
		named[o.Resource.Name] = append(named[o.Resource.Name], o)
	}
	requires := map[string][]string{}
	for _, e := range in.Edges {
		requires[e.From] = append(requires[e.From], e.To)
	}
	var out []finding.Finding
	told := map[[2]string]bool{}
	for _, w := range in.Waits {
		provider, awaited := awaitedOf(named[w.Name], w)
		pair := [2]string{w.Component, provider}
		if provider == "" || provider == w.Component || told[pair] || leads(requires, provider, w.Component) {
			continue
		}
		first, later, known := in.order.pair(provider, w.Component)
		if !known {
			continue
		}
		told[pair] = true
		f := finding.Finding{
			Rule: ruleWait, Severity: finding.Warning, Scope: finding.Rule, Component: w.Component, Provider: provider, Basis: finding.Rendered, Position: w.Position,
			Message: fmt.Sprintf("%s waits with kubectl in the container %s of %s for %s of %s: a wait in a chart hides an order that nobody sees, and runs into its own timeout",
				w.Component, w.Container, w.Of.Human(), awaited.Human(), provider),
			Evidence: []finding.Evidence{{Text: w.Of.Human() + " waits for " + awaited.Human(), File: w.Position.File, Line: w.Position.Line}},
			Fix:      finding.Fix{Summary: fmt.Sprintf("leave the wait out, say requires: [%s], and place %s in a later step", provider, w.Component)},
		}
		if in.order.compare(first, later) < 0 && !in.order.passes(first, later) {
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("%s waits with kubectl in the container %s of %s for %s of %s, which the order already sees to", w.Component, w.Container, w.Of.Human(), awaited.Human(), provider)
			f.Fix.Summary = "leave the wait out"
		}
		out = append(out, f)
	}
	return out
}

// awaitedOf finds what a wait is for among the objects of its name; the component is
// empty where that is not one object of one component.
func awaitedOf(named []*Object, w Wait) (component string, awaited finding.Resource) {
	for _, o := range named {
		r := o.Resource
		if r.Namespace != "" && r.Namespace != w.Namespace || !isKind(w.Kind, r.Kind) {
			continue
		}
		if component != "" && component != o.Component {
			return "", r
		}
		component, awaited = o.Component, r
	}
	return component, awaited
}

// leads reports whether a component requires another, directly or not.
func leads(requires map[string][]string, from, to string) bool {
	seen, queue := map[string]bool{}, []string{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == to {
			return true
		}
		if seen[at] {
			continue
		}
		seen[at] = true
		queue = append(queue, requires[at]...)
	}
	return false
}
