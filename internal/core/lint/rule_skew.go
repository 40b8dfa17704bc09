package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

const ruleSkew = "version-skew"

// Version is a version that an object tells of itself.
type Version struct {
	// Of is what it is the version of: a label, an annotation, a chart, an image.
	Of, Text string
}

// exact is a version of a length that people read, and no range or name of a branch.
var exact = lazyregexp.New(`^v?\d{1,9}(\.\d{1,9}){1,4}([-+_][0-9A-Za-z.+_-]{0,64})?$`)

// core is a version without what says the same in other words: the letter before it,
// and the metadata of a build. Of an image, what follows says how it is built.
func (v Version) core() string {
	ends := "+_"
	if strings.HasPrefix(v.Of, "image ") {
		ends += "-"
	}
	text := strings.TrimPrefix(v.Text, "v")
	if i := strings.IndexAny(text, ends); i >= 0 {
		text = text[:i]
	}
	return text
}

// differs reports whether both are versions of one thing, and not the same.
func (v Version) differs(w Version) bool {
	return v.Of == w.Of && exact.MatchString(v.Text) && exact.MatchString(w.Text) && v.core() != w.core()
}

// versionSkew finds what is applied before Argo CD in another version than that which a
// component brings later, which takes it over.
func versionSkew(in Input) []finding.Finding {
	o := newOrder(in)
	var early []*model.Component
	for _, c := range o.enabled {
		if c.PreArgo {
			early = append(early, c)
		}
	}
	if len(early) == 0 {
		return nil
	}
	clusters := clustersOf(in.Argo)
	out, told := o.chartSkew(early, clusters)
	first := map[finding.Resource]*Object{}
	for i := range in.Objects {
		if object := &in.Objects[i]; len(object.Versions) > 0 && o.isEarly(object) && first[object.Resource] == nil {
			first[object.Resource] = object
		}
	}
	found := map[[2]string]*finding.Finding{}
	more := map[[2]string]int{}
	var pairs [][2]string
	for i := range in.Objects {
		later := &in.Objects[i]
		before := first[later.Resource]
		if before == nil || o.isEarly(later) || o.byName[later.Component] == nil || clusters[later.Component] != "" {
			continue
		}
		pair := [2]string{before.Component, later.Component}
		a, b, ok := skewed(before.Versions, later.Versions)
		switch {
		case !ok || told[pair]:
		case found[pair] != nil:
			more[pair]++
		default:
			f := skew(pair, later.Resource.Human(), a, b)
			f.Resource, f.Position, f.Basis = before.Resource, before.Position, finding.Rendered
			f.Message += " (" + a.Of + ")"
			f.Evidence = append(f.Evidence, where(before.Position, "%s in %s", a.Text, pair[0]), where(later.Position, "%s in %s", b.Text, pair[1]))
			found[pair], pairs = &f, append(pairs, pair)
		}
	}
	for _, pair := range pairs {
		f := found[pair]
		if n := more[pair]; n > 0 {
			f.Message += fmt.Sprintf("; so %s more", isAre(n))
		}
		out = append(out, *f)
	}
	return out
}

func (o *order) isEarly(object *Object) bool {
	c := o.byName[object.Component]
	return c != nil && c.PreArgo
}

// skewed are the first two versions of one thing that differ.
func skewed(before, later []Version) (a, b Version, ok bool) {
	for _, a := range before {
		if i := slices.IndexFunc(later, a.differs); i >= 0 {
			return a, later[i], true
		}
	}
	return Version{}, Version{}, false
}

// chartSkew compares the charts that both name: those of one release.
func (o *order) chartSkew(early []*model.Component, clusters map[string]string) (out []finding.Finding, told map[[2]string]bool) {
	told = map[[2]string]bool{}
	type release struct{ repository, chart, namespace, name string }
	of := func(c *model.Component, s *model.Source) release {
		return release{normalAddress(strings.TrimSuffix(s.RepoURL, "/")), s.Name, cmp.Or(s.Namespace, c.Namespace), cmp.Or(s.ReleaseName, c.Name)}
	}
	for _, later := range o.enabled {
		if later.PreArgo || clusters[later.Name] != "" {
			continue
		}
		for i := range later.Sources {
			b := &later.Sources[i]
			if b.Kind != model.Chart || b.Name == "" {
				continue
			}
			for _, before := range early {
				for j := range before.Sources {
					a := &before.Sources[j]
					pair := [2]string{before.Name, later.Name}
					if a.Kind != model.Chart || of(before, a) != of(later, b) || told[pair] || !(Version{Text: a.Version}).differs(Version{Text: b.Version}) {
						continue
					}
					told[pair] = true
					f := skew(pair, fmt.Sprintf("the chart %s of %s", a.Name, strings.TrimSuffix(a.RepoURL, "/")), Version{Text: a.Version}, Version{Text: b.Version})
					f.Position, f.Basis = a.Position, finding.Declared
					f.Evidence = append(f.Evidence, where(a.Position, "%s in %s", a.Version, pair[0]), where(b.Position, "%s in %s", b.Version, pair[1]))
					out = append(out, f)
				}
			}
		}
	}
	return out, told
}

func skew(pair [2]string, what string, a, b Version) finding.Finding {
	return finding.Finding{
		Rule: ruleSkew, Severity: finding.Warning, Scope: finding.Cross, Component: pair[0], Provider: pair[1],
		Message: fmt.Sprintf("%s is %s in %s, which is applied before Argo CD, and %s in %s", what, a.Text, pair[0], b.Text, pair[1]),
		Fix:     finding.Fix{Summary: "bring both to one version, or have both read one folder"},
	}
}
