package catalogue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/operators"
)

// off is the value that keeps a part of the CRDs of a chart from being brought, where it is
// certain that one does; else it is empty.
func (p CRDs) off(v values, skipped bool) string {
	switch holds, certain := p.When.holds(v); {
	case !certain:
		return ""
	case !holds:
		return p.When.first()
	case p.Folder && skipped:
		return "skipCrds"
	}
	return ""
}

func (a Asked) values() values {
	return values{given: a.Values, partial: a.Partial, withheld: a.Withheld}
}

// fill turns an entry into what it says of one source.
func (c *Catalogue) fill(e Entry, asked Asked) Answer {
	v := asked.values()
	name := names(e, asked)
	a := Answer{Entry: e}
	a.Known.Source = e.Human(asked.Source)
	// Another version may bring kinds that the one that was read does not.
	a.Known.Open = e.Open || !e.isVersion(asked.Source.Version)
	a.Known.Foreign = e.Open || !e.SameGroups && !e.isVersion(asked.Source.Version)
	runtime := map[string]string{} // by "group/Kind"
	for _, part := range e.CRDs {
		_, certain := part.When.holds(v)
		a.Known.Open, a.Known.Foreign = a.Known.Open || !certain, a.Known.Foreign || !certain
		if part.When.claims(v) && (!part.Folder || !asked.Source.SkipCRDs) {
			some := c.crds(part)
			a.CRDs = append(a.CRDs, some...)
			for _, crd := range some {
				runtime[crd.Group+"/"+crd.Kind] = part.Runtime
			}
		} else if off := part.off(v, asked.Source.SkipCRDs); off != "" {
			for _, crd := range c.crds(part) {
				a.Known.Off = append(a.Known.Off, infer.KnownOff{Group: crd.Group, Kind: crd.Kind, Switch: off})
			}
		}
	}
	SortCRDs(a.CRDs)
	a.CRDs = slices.CompactFunc(a.CRDs, func(x, y CRD) bool { return x.Group == y.Group && x.Kind == y.Kind })
	for _, crd := range a.CRDs {
		a.Known.Kinds = append(a.Known.Kinds, infer.KnownKind{Group: crd.Group, Kind: crd.Kind, Plural: crd.Plural, Runtime: runtime[crd.Group+"/"+crd.Kind]})
	}
	for _, one := range e.Controllers {
		if one.When.claims(v) {
			a.Known.Controllers = append(a.Known.Controllers, knownKinds(one.Kinds)...)
		}
	}
	for _, w := range e.Webhooks {
		if w.When.claims(v) {
			a.Known.Webhooks = append(a.Known.Webhooks, w.known(v, name)...)
		}
	}
	if len(a.Known.Webhooks) > 0 && places(asked.Values) {
		for i := range a.Known.Webhooks {
			a.Known.Webhooks[i].Placed = true
		}
	}
	a.Known.Elsewhere = elsewhere(asked)
	for _, o := range e.Objects {
		if !o.When.claims(v) || a.Known.Elsewhere && o.follows() {
			continue
		}
		a.Known.Objects = append(a.Known.Objects, o.listed(v, name)...)
		if known, ok := o.known(v, name); ok {
			a.Known.Objects = append(a.Known.Objects, known)
		}
	}
	for _, child := range e.Children {
		a.Known.Children = append(a.Known.Children, infer.KnownChild{
			Of: child.Of, Made: operators.Made{Kind: child.Makes, Name: child.Name, Namespace: child.Namespace, Unless: child.Unless},
		})
	}
	for _, g := range e.APIGroups {
		if g.When.claims(v) {
			a.Known.APIGroups = append(a.Known.APIGroups, g.Group)
		}
	}
	for _, r := range e.Requires {
		if r.When.claims(v) && r.isOf(asked.Source.Version) {
			a.Known.Requires = append(a.Known.Requires, knownKinds([]string{r.Kind})...)
		}
	}
	return a
}

// isOf reports whether a version renders the kind. A range takes the newest of its versions,
// which is not known.
func (r Required) isOf(version string) bool {
	given, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	if err != nil {
		return r.Before == ""
	}
	return (r.Since == "" || !given.LessThan(semver.MustParse(r.Since))) && (r.Before == "" || given.LessThan(semver.MustParse(r.Before)))
}

// places reports whether values write annotations that place objects in the sync
// of an Application. Source: Argo CD, user guide, "Sync Phases and Waves".
func places(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "argocd.argoproj.io/sync-wave" || key == "argocd.argoproj.io/hook" || places(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, places)
	}
	return false
}

// elsewhere reports whether values may put what a chart makes into another namespace
// than that of its release. Charts call that by several names, and not all of them heed
// what is written.
func elsewhere(asked Asked) bool {
	return slices.ContainsFunc([]string{"namespaceOverride", "global.namespaceOverride", "forceNamespace", "namespace"}, func(path string) bool {
		given, _ := at(asked.Values, path)
		namespace, _ := given.(string)
		return namespace != "" && namespace != asked.Namespace
	})
}

// follows reports whether an object lands in a namespace that depends on that of the
// release.
func (o Object) follows() bool {
	return namespacedKinds[o.Kind] && (o.Namespace == "" || strings.Contains(o.Namespace, "{namespace}"))
}

// Human says what an entry tells of, as it is asked for, and which version it was read from
// where that is another one: "chart cert-manager v1.21.1 of https://charts.jetstack.io",
// "chart cert-manager v1.16.0 of https://charts.jetstack.io (as known of v1.21.1)".
func (e *Entry) Human(asked model.Source) string {
	what := "manifests of " + e.Chart
	if len(e.Repositories) > 0 {
		what = "chart " + e.Chart
		if asked.Version != "" && asked.Kind == model.Chart {
			what += " " + asked.Version
		}
		what += " of " + cmp.Or(finding.WithoutUser(asked.RepoURL), e.Repositories[0])
	}
	if e.isVersion(asked.Version) {
		return what
	}
	read, rest, _ := strings.Cut(e.Version, " ")
	if strings.HasPrefix(rest, "at ") {
		read = e.Version // a branch tells nothing without its commit
	}
	return what + " (as known of " + read + ")"
}

// isVersion reports whether a version is the one that the entry was read from.
func (e *Entry) isVersion(version string) bool {
	have, _, _ := strings.Cut(e.Version, " ")
	return version != "" && strings.TrimPrefix(version, "v") == strings.TrimPrefix(have, "v")
}

// crds are those of a part.
func (c *Catalogue) crds(part CRDs) []CRD {
	if part.Set == "" {
		return part.List
	}
	all := c.set(part.Set)
	if len(part.Kinds) == 0 {
		return all
	}
	var out []CRD
	for _, crd := range all {
		if slices.ContainsFunc(part.Kinds, func(k string) bool { return kindMatches(k, crd.Group, crd.Kind) }) {
			out = append(out, crd)
		}
	}
	return out
}

func knownKinds(texts []string) []infer.KnownKind {
	var out []infer.KnownKind
	for _, text := range texts {
		group, kind, _ := splitKind(text)
		out = append(out, infer.KnownKind{Group: group, Kind: kind})
	}
	return out
}

// known makes one webhook for each group. A policy that a value sets to what is
// not known proves nothing.
func (w Webhook) known(v values, name func(string) (string, bool)) []infer.KnownWebhook {
	policy := w.Policy
	if policy == "" {
		policy = policyFail
	}
	if w.PolicyValue != "" {
		if given, set := at(v.given, w.PolicyValue); set {
			policy, _ = given.(string)
		} else if v.unknown(w.PolicyValue) {
			policy = policyIgnore
		}
	}
	configuration, ok := name(w.Configuration)
	if !ok {
		configuration = ""
	}
	var out []infer.KnownWebhook
	for _, text := range w.Kinds {
		group, kind, _ := splitKind(text)
		i := slices.IndexFunc(out, func(k infer.KnownWebhook) bool { return k.Group == group })
		if i < 0 {
			out = append(out, infer.KnownWebhook{Name: w.Name, Several: w.Several, Configuration: configuration, Group: group, FailurePolicy: policy, AtRuntime: w.Runtime, Selective: w.Selective})
			i = len(out) - 1
		}
		if kind != "*" {
			out[i].Kinds = append(out[i].Kinds, kind)
		}
	}
	return out
}

// known fills the names of an object. ok is false where a name is not known.
func (o Object) known(v values, name func(string) (string, bool)) (infer.KnownObject, bool) {
	known := infer.KnownObject{Kind: o.Kind, Default: o.Default, WaitForFirstConsumer: o.WaitForFirstConsumer}
	var ok bool
	if known.Name, ok = name(o.Name); !ok || known.Name == "" {
		return known, false
	}
	if o.NameValue != "" {
		given, set := at(v.given, o.NameValue)
		if text, isText := given.(string); set && isText && text != "" {
			known.Name = text
		} else if !set && v.unknown(o.NameValue) {
			return known, false
		}
	}
	known.Namespace, ok = name(o.Namespace)
	return known, ok
}

// listed are the objects that a value lists. An element can say of a StorageClass
// whether it is the default one, as the object itself would or by a switch of the chart,
// and when it binds.
func (o Object) listed(v values, name func(string) (string, bool)) []infer.KnownObject {
	namespace, ok := name(o.Namespace)
	if o.NamesValue == "" || !ok {
		return nil
	}
	found, _ := at(v.given, o.NamesValue)
	list, _ := found.([]any)
	var out []infer.KnownObject
	for _, element := range list {
		m, _ := element.(map[string]any)
		text, _ := m["name"].(string)
		if text == "" {
			continue
		}
		known := infer.KnownObject{Kind: o.Kind, Namespace: namespace, Name: text, WaitForFirstConsumer: o.WaitForFirstConsumer}
		annotations, _ := m["annotations"].(map[string]any)
		known.Default = same(annotations["storageclass.kubernetes.io/is-default-class"], true) ||
			same(m["defaultClass"], true) || same(m["defaultStorageClass"], true)
		if mode, isText := m["volumeBindingMode"].(string); isText && mode != "" {
			known.WaitForFirstConsumer = mode == "WaitForFirstConsumer"
		}
		out = append(out, known)
	}
	return out
}

// maxName is where Helm's starter chart cuts names.
const maxName = 63

// names returns a function that fills {release}, {namespace}, {chart} and
// {fullname}; it is not ok where what is asked for is not known.
func names(e Entry, asked Asked) func(string) (string, bool) {
	given := asked.values()
	text := func(path string) string {
		v, _ := at(asked.Values, path)
		s, _ := v.(string)
		return s
	}
	return func(pattern string) (string, bool) {
		if !strings.Contains(pattern, "{") {
			return pattern, true
		}
		chart := e.Chart
		if other := text("nameOverride"); other != "" {
			chart = other
		}
		full := text("fullnameOverride")
		if full == "" {
			full = asked.Release
			if !strings.Contains(asked.Release, chart) {
				full += "-" + chart
			}
		}
		full = strings.TrimSuffix(full[:min(len(full), maxName)], "-")
		for _, unknown := range []struct {
			mark string
			bad  bool
		}{
			{"{release}", asked.Release == ""},
			{"{fullname}", asked.Release == "" && text("fullnameOverride") == "" || given.unknown("fullnameOverride") || given.unknown("nameOverride")},
			{"{namespace}", asked.Namespace == ""},
		} {
			if unknown.bad && strings.Contains(pattern, unknown.mark) {
				return "", false
			}
		}
		return strings.NewReplacer("{release}", asked.Release, "{namespace}", asked.Namespace, "{chart}", chart, "{fullname}", full).Replace(pattern), true
	}
}
