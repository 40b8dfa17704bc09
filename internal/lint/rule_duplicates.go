package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argo"
	"github.com/rollout-ladder/ladder/internal/finding"
)

const ruleDuplicate = "duplicate-resource"

// duplicateResource finds objects that two components of one cluster own. Argo CD
// marks both with SharedResourceWarning; each sync takes the object over, and the
// two undo each other's changes.
func duplicateResource(in Input) []finding.Finding {
	o := newOrder(in)
	clusters := clustersOf(in.Argo)
	type owned struct {
		cluster  string
		resource finding.Resource
	}
	first := map[owned]Object{}
	shared := map[[2]string][][2]Object{}
	objects := slices.Clone(in.Objects)
	slices.SortStableFunc(objects, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Component, b.Component), a.Position.Compare(b.Position), compareBool(a.Place.IsHook, b.Place.IsHook))
	})
	for _, object := range objects {
		// What is applied before Argo CD is there for it to adopt.
		if c, enabled := o.byName[object.Component]; !enabled || c.PreArgo || object.Resource.Name == "" {
			continue
		}
		key := owned{clusters[object.Component], object.Resource}
		other, seen := first[key]
		switch {
		case !seen:
			first[key] = object
		case other.Component != object.Component:
			names := [2]string{other.Component, object.Component}
			shared[names] = append(shared[names], [2]Object{other, object})
		}
	}
	var out []finding.Finding
	for names, pairs := range shared {
		out = append(out, o.duplicates(names, pairs)...)
	}
	return out
}

// kin is what one finding on shared objects speaks of.
type kin int

const (
	owns       kin = iota
	namespaces     // harmless while both say the same
	hooks          // made anew by each sync, and never out of sync
)

func kinOf(pair [2]Object) kin {
	switch r := pair[1].Resource; {
	case r.Kind == "Namespace" && r.Group == "":
		return namespaces
	case pair[0].Place.IsHook && pair[1].Place.IsHook:
		return hooks
	default:
		return owns
	}
}

// duplicates makes one finding for the Namespaces that two components share, one
// for the hooks, and one for everything else.
func (o *order) duplicates(names [2]string, pairs [][2]Object) []finding.Finding {
	slices.SortFunc(pairs, func(a, b [2]Object) int {
		return cmp.Or(a[1].Position.Compare(b[1].Position), strings.Compare(a[1].Resource.String(), b[1].Resource.String()),
			compareBool(a[1].Place.IsHook, b[1].Place.IsHook))
	})
	var out []finding.Finding
	for _, k := range []kin{owns, namespaces, hooks} {
		var some [][2]Object
		for _, p := range pairs {
			if kinOf(p) == k {
				some = append(some, p)
			}
		}
		if len(some) == 0 {
			continue
		}
		speaks := some[0]
		f := finding.Finding{
			Rule: ruleDuplicate, Severity: finding.Warning, Scope: finding.Cross, Basis: finding.Rendered,
			Component: names[1], Provider: names[0], Resource: speaks[1].Resource, Position: speaks[1].Position,
			Message: fmt.Sprintf("%s is in %s and in %s, which overwrite each other", speaks[1].Resource.Human(), names[0], names[1]),
			Fix:     finding.Fix{Summary: "leave the object to one of the two"},
		}
		switch k {
		case owns:
		case namespaces:
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("%s is in %s and in %s: harmless while both say the same", speaks[1].Resource.Human(), names[0], names[1])
		case hooks:
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("the hook %s is in %s and in %s: each sync makes it anew, and ends one of the other that runs", speaks[1].Resource.Human(), names[0], names[1])
		}
		f.Evidence = append(f.Evidence, where(speaks[0].Position, "%s in %s", speaks[0].Resource.Human(), names[0]))
		if n := len(some) - 1; n > 0 {
			f.Message += fmt.Sprintf("; so %s more", isAre(n))
			for _, p := range some[1:min(len(some), 4)] {
				f.Evidence = append(f.Evidence, where(p[1].Position, "%s, too", p[1].Resource.Human()))
			}
		}
		out = append(out, f)
	}
	return out
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func isAre(n int) string {
	if n == 1 {
		return "is 1"
	}
	return fmt.Sprintf("are %d", n)
}

// inCluster is the cluster that Argo CD itself runs in.
const inCluster = "https://kubernetes.default.svc"

// clustersOf says to which cluster each component goes. Those that no
// Application names go to the one of Argo CD; a destination that is a template
// is a cluster of its own.
func clustersOf(s argo.Setup) map[string]string {
	clusters := map[string]string{}
	for _, app := range s.Applications {
		d := app.Destination
		switch {
		case app.Component == "" || d.Server == inCluster || d.Name == "in-cluster" || d.Server == "" && d.Name == "":
		case strings.Contains(d.Server+d.Name, "{{"):
			clusters[app.Component] = app.Component
		default:
			clusters[app.Component] = cmp.Or(d.Server, d.Name)
		}
	}
	return clusters
}
