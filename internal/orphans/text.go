package orphans

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// mostUnreadable is how many kinds that could not be read are named.
const mostUnreadable = 10

// Text writes a report for people.
func Text(w io.Writer, r Report) error {
	var b strings.Builder
	warnings(&b, r)
	counts := r.Counts()
	switch {
	case len(r.Orphans) > 0:
		fmt.Fprintf(&b, "%s in %s of %s that no component of %s renders: %d to delete, %d to adopt, %d to look at\n",
			finding.Count(len(r.Orphans), "object"), finding.Count(len(r.Namespaces), "namespace"), r.Cluster, r.Environment, counts[Delete], counts[Adopt], counts[Look])
	case r.Complete:
		fmt.Fprintf(&b, "No orphans: components of %s render everything in %s of %s (%s)\n",
			r.Environment, finding.Count(len(r.Namespaces), "namespace"), r.Cluster, finding.Count(r.Rendered, "object"))
	default:
		fmt.Fprintf(&b, "No orphans among what could be seen of %s; that is not all, as said above\n", r.Cluster)
	}
	namespace := ""
	for i, o := range r.Orphans {
		if o.Resource.Namespace != namespace || i == 0 {
			namespace = o.Resource.Namespace
			name := namespace
			if name == "" {
				name = "cluster-wide"
			}
			fmt.Fprintf(&b, "\n%s\n", name)
		}
		kindName := o.Resource.Kind
		if o.Resource.Group != "" && !builtin(o.Resource.Group) {
			kindName += "." + o.Resource.Group
		}
		notes := ""
		if o.Data {
			notes = ", data"
		}
		fmt.Fprintf(&b, "  %-6s %s %s (%s%s)\n         %s\n", o.Action, kindName, report.Plain(o.Resource.Name), report.Plain(o.Origin.String()), notes, report.Plain(o.Reason))
		if o.Command != "" {
			fmt.Fprintf(&b, "         %s\n", report.Plain(o.Command))
		}
	}
	footer(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// warnings say first what is not known.
func warnings(b *strings.Builder, r Report) {
	if n := len(r.Unreadable); n > 0 {
		fmt.Fprintf(b, "! %s could not be listed; what is of them is not known:\n", finding.Count(n, "kind"))
		for _, u := range r.Unreadable[:min(n, mostUnreadable)] {
			where := ""
			if u.Namespace != "" {
				where = " in " + u.Namespace
			}
			fmt.Fprintf(b, "    %s%s: %s\n", u.Kind, where, report.Plain(u.Reason))
		}
		if n > mostUnreadable {
			fmt.Fprintf(b, "    … %d more (--format json has all)\n", n-mostUnreadable)
		}
		b.WriteByte('\n')
	}
	if len(r.Unrendered) > 0 {
		fmt.Fprintf(b, "! %s could not be rendered whole; objects of their namespaces may be theirs: %s\n\n", finding.Count(len(r.Unrendered), "component"), strings.Join(r.Unrendered, ", "))
	}
}

// footer says what was left out.
func footer(b *strings.Builder, r Report) {
	b.WriteByte('\n')
	if len(r.Untied) > 0 {
		byKind := map[string]int{}
		var kinds []string
		for _, u := range r.Untied {
			if byKind[u.Kind] == 0 {
				kinds = append(kinds, u.Kind)
			}
			byKind[u.Kind]++
		}
		slices.Sort(kinds)
		for i, k := range kinds {
			kinds[i] = finding.Count(byKind[k], k)
		}
		fmt.Fprintf(b, "Left out, since nothing ties them to the ladder: %s (--format json names them)\n", strings.Join(kinds, ", "))
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(b, "Not looked at: %s, which hold the cluster's own objects (--namespace NAME looks there)\n", strings.Join(r.LeftOut, ", "))
	}
	n, reasons := r.ignoredTotal()
	fmt.Fprintf(b, "No orphans: %s that components render, %s", finding.Count(r.Rendered, "object"), finding.Count(r.Children, "child object"))
	if n > 0 {
		fmt.Fprintf(b, ", %s", reasons)
	}
	b.WriteByte('\n')
}

// builtin reports whether a group is Kubernetes' own. Source: the API reference of
// Kubernetes 1.36.
func builtin(group string) bool {
	if !strings.Contains(group, ".") {
		return true
	}
	stem, ok := strings.CutSuffix(group, ".k8s.io")
	return ok && slices.Contains([]string{
		"admissionregistration", "apiextensions", "apiregistration", "authentication", "authorization", "certificates", "coordination",
		"discovery", "events", "flowcontrol.apiserver", "internal.apiserver", "networking", "node", "rbac.authorization", "resource",
		"scheduling", "storage", "storagemigration",
	}, stem)
}
