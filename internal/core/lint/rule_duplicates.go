package lint

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleDuplicate = "duplicate-resource"

// duplicateResource finds objects that two components of one cluster own. Argo CD
// marks both with SharedResourceWarning; each sync takes the object over, and the
// two undo each other's changes.
func duplicateResource(in Input) []finding.Finding {
	o := newOrder(in)
	shared := map[[2]string][][2]*Object{}
	applications := map[string]bool{}
	for _, a := range in.Argo.Applications {
		applications[a.Component] = true
	}
	// What somebody applies once is not applied again: the Application takes it over.
	once := func(name string) bool {
		c := o.byName[name]
		return in.Flux == nil && c != nil && c.AppOfApps && !applications[name]
	}
	for _, objects := range o.repeated(in) {
		slices.SortStableFunc(objects, func(a, b *Object) int {
			return cmp.Or(strings.Compare(a.Component, b.Component), a.Position.Compare(b.Position), compareBool(a.Place.IsHook, b.Place.IsHook))
		})
		for _, object := range objects[1:] {
			if once(object.Component) != once(objects[0].Component) || object.Once || objects[0].Once {
				continue
			}
			if object.Component != objects[0].Component && (in.Flux != nil || !alternatives(o.byName[objects[0].Component], o.byName[object.Component])) {
				names := [2]string{objects[0].Component, object.Component}
				shared[names] = append(shared[names], [2]*Object{objects[0], object})
			}
		}
	}
	var out []finding.Finding
	for names, pairs := range shared {
		out = append(out, o.duplicates(names, pairs)...)
	}
	return out
}

// alternatives reports whether two Applications that nothing applies are one release of one
// chart of the repository with other values: in one cluster there is one of it, so that
// each is for its own, where somebody applies it.
func alternatives(a, b *model.Component) bool {
	release := func(c *model.Component) (model.Source, bool) {
		if c == nil || !c.Object || c.Set != "" || len(c.Parents) > 0 || len(c.Sources) != 1 {
			return model.Source{}, false
		}
		return c.Sources[0], c.Sources[0].Kind == model.Chart && c.Sources[0].Path != ""
	}
	one, ok := release(a)
	other, also := release(b)
	return ok && also && one.Path == other.Path && one.ReleaseName == other.ReleaseName &&
		cmp.Or(one.Namespace, a.Namespace) == cmp.Or(other.Namespace, b.Namespace) && !slices.EqualFunc(one.ValueFiles, other.ValueFiles, func(x, y model.ValueFile) bool { return x.Path == y.Path })
}

// owned is an object in a cluster.
type owned struct {
	cluster  string
	resource finding.Resource
}

// repeated are the objects that stand more than once in one cluster. Most stand
// once: what is kept of them is a hash.
func (o *order) repeated(in Input) map[owned][]*Object {
	clusters, owner := clustersOf(in.Argo), remembering(o.byName)
	if in.Flux != nil {
		for _, u := range in.Flux.Units {
			if u.Elsewhere {
				clusters[u.Component] = u.Component
			}
		}
	}
	seed := maphash.MakeSeed()
	hash := func(object *Object) uint64 {
		r := &object.Resource
		return maphash.String(seed, r.Name)*31 + maphash.String(seed, r.Kind)*7 + maphash.String(seed, r.Namespace)
	}
	again := make(map[uint64]bool, len(in.Objects)) // by hash: it was met more than once
	of := func(visit func(*Object)) {
		for _, objects := range [][]Object{in.Objects, in.Own} {
			for i := range objects {
				// What is applied before Argo CD is there for it to adopt.
				object := &objects[i]
				if c := owner(object.Component); c != nil && !c.PreArgo && object.Resource.Name != "" {
					visit(object)
				}
			}
		}
	}
	some := false
	of(func(object *Object) {
		h := hash(object)
		_, met := again[h]
		again[h] = met
		some = some || met
	})
	several := map[owned][]*Object{}
	if !some {
		return several
	}
	of(func(object *Object) {
		if again[hash(object)] {
			key := owned{clusters[object.Component], object.Resource}
			several[key] = append(several[key], object)
		}
	})
	return several
}

// category is what one finding on shared objects speaks of.
type category int

const (
	owns  category = iota
	alike          // harmless while both say the same: Namespaces, and objects of Flux itself that do
	hooks          // made anew by each sync, and never out of sync
)

func kinOf(pair [2]*Object) category {
	switch r := pair[1].Resource; {
	case r.Kind == "Namespace" && r.Group == "", pair[0].Digest != "" && pair[0].Digest == pair[1].Digest:
		return alike
	case pair[0].Place.IsHook && pair[1].Place.IsHook:
		return hooks
	default:
		return owns
	}
}

// duplicates makes one finding for the Namespaces that two components share, one
// for the hooks, and one for everything else.
func (o *order) duplicates(names [2]string, pairs [][2]*Object) []finding.Finding {
	slices.SortFunc(pairs, func(a, b [2]*Object) int {
		return cmp.Or(a[1].Position.Compare(b[1].Position), strings.Compare(a[1].Resource.String(), b[1].Resource.String()),
			compareBool(a[1].Place.IsHook, b[1].Place.IsHook))
	})
	var out []finding.Finding
	for _, k := range []category{owns, alike, hooks} {
		var some [][2]*Object
		for _, p := range pairs {
			if kinOf(p) == k {
				some = append(some, p)
			}
		}
		if len(some) == 0 {
			continue
		}
		first := some[0]
		f := finding.Finding{
			Rule: ruleDuplicate, Severity: finding.Warning, Scope: finding.Cross, Basis: finding.Rendered,
			Component: names[1], Provider: names[0], Resource: first[1].Resource, Position: first[1].Position,
			Message: fmt.Sprintf("%s is in %s and in %s, which overwrite each other", first[1].Resource.Human(), names[0], names[1]),
			Fix:     finding.Fix{Summary: "leave the object to one of the two"},
		}
		switch k {
		case owns:
			if a, b := o.byName[names[0]], o.byName[names[1]]; a != nil && b != nil && ofTwoRoots(a, b) {
				f.Severity = finding.Info
				f.Message += " if both go to one cluster"
			}
		case alike:
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("%s is in %s and in %s: harmless while both say the same", first[1].Resource.Human(), names[0], names[1])
		case hooks:
			f.Severity = finding.Info
			f.Message = fmt.Sprintf("the hook %s is in %s and in %s: each sync makes it anew, and ends one of the other that runs", first[1].Resource.Human(), names[0], names[1])
		}
		if refuses := o.refusesShared(names); refuses != "" && k != hooks {
			f.Severity = finding.Error
			f.Message = fmt.Sprintf("%s is in %s and in %s: FailOnSharedResource=true makes the sync of %s fail while the other has it", first[1].Resource.Human(), names[0], names[1], refuses)
		}
		f.Evidence = append(f.Evidence, where(first[0].Position, "%s in %s", first[0].Resource.Human(), names[0]))
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

// rootOf is the app-of-apps that somebody applies by hand to have a component; empty where
// there is none.
func rootOf(c *model.Component) string {
	for _, parent := range c.Parents {
		if parent != "" {
			return parent
		}
	}
	return ""
}

// ofTwoRoots reports whether people apply the roots of two components one by one: each may be for a
// cluster of its own, whose Argo CD calls it by the same name.
func ofTwoRoots(a, b *model.Component) bool {
	p, q := rootOf(a), rootOf(b)
	return p != "" && q != "" && p != q
}

// refusesShared is the first of two components that shares nothing. Source: Argo CD, user
// guide, "Sync Options", "Fail the sync if a shared resource is found".
func (o *order) refusesShared(names [2]string) string {
	for _, name := range names {
		if c := o.byName[name]; c != nil && c.HasSyncOption("FailOnSharedResource=true") {
			return name
		}
	}
	return ""
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
