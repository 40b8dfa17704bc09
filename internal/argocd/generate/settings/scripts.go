package settings

import (
	"cmp"
	"context"
	_ "embed" // the scripts
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/generate/settings/expression"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// The scripts that are this package's own: what goes before every script of
// package health, how ApplicationSets and the kinds of Crossplane definitions are
// assessed, and every kind that nobody knows.
var (
	//go:embed lua/current.lua
	currentLua string
	//go:embed lua/applicationset.lua
	applicationSetLua string
	//go:embed lua/crossplane.lua
	crossplaneLua string
	//go:embed lua/gatewayclass.lua
	gatewayClassLua string
	//go:embed lua/crd.lua
	crdLua string
	//go:embed lua/generic.lua
	genericLua string
	//go:embed lua/cel.lua
	celLua string
)

const argoGroup = "argoproj.io"

// libraries matches what of a script needs more than a script of argocd-cm is
// given: strings, mathematics and modules.
var libraries = lazyregexp.New(`\b(string|math|os|io)\s*\.|\brequire\b|:\s*(byte|find|format|gmatch|gsub|len|lower|match|rep|reverse|sub|upper)\s*\(`)

// kindOf is what is known of one kind.
type kindOf struct {
	waited     bool
	components []string
	checks     []model.HealthCheck
	by         string // the component whose checks these are
}

// healthScripts writes a script for every kind that something waits for and that
// Argo CD does not assess.
func healthScripts(ctx context.Context, in Input) (map[schema.GroupKind]string, []Note, error) {
	kinds, defined, err := gather(in.Components)
	if err != nil {
		return nil, nil, err
	}
	shipped := health.NewShipped()
	scripts := map[schema.GroupKind]string{}
	var notes []Note
	if in.Nested {
		application := schema.GroupKind{Group: argoGroup, Kind: "Application"}
		text, _ := health.OwnScript(application)
		scripts[application] = text
		scripts[schema.GroupKind{Group: argoGroup, Kind: "ApplicationSet"}] = applicationSetLua
	}
	for _, gk := range sortedKinds(kinds) {
		k := kinds[gk]
		note := func(lost bool, at finding.Position, format string, args ...any) {
			slices.Sort(k.components)
			notes = append(notes, Note{Group: gk.Group, Kind: gk.Kind, Components: slices.Compact(k.components), Lost: lost, Position: at, Message: fmt.Sprintf(format, args...)})
		}
		base := baseScript(gk, shipped, defined[gk])
		switch {
		case len(k.checks) > 0:
			script, ok, err := checked(ctx, k, base, note)
			if err != nil {
				return nil, nil, err
			}
			if ok {
				scripts[gk] = script
			}
		case !k.waited || base.argoCD && !base.older:
		case base.text != "":
			scripts[gk] = base.text
		case health.ByWorkloads(gk):
			note(true, finding.Position{}, "objects have no status, and Argo CD does not count what their operator makes: a smoke must say that they work")
		}
	}
	return scripts, notes, nil
}

// base is how a kind is assessed without the checks of descriptors.
type base struct {
	text string
	// argoCD is set where Argo CD does so itself, older where one that is older does
	// so wrongly: text then is what it is given.
	argoCD, older bool
}

func baseScript(gk schema.GroupKind, shipped *health.Shipped, crossplane bool) base {
	if code, _ := shipped.Code(gk); code {
		return base{argoCD: true}
	}
	if text, ok := older(gk); ok && shipped.Script(gk) {
		return base{text: currentLua + text, argoCD: true, older: true}
	}
	if shipped.Script(gk) {
		text, ok := health.ShippedScript(gk)
		if ok && libraries.MatchString(text) {
			text = ""
		}
		return base{text: text, argoCD: true}
	}
	if health.ByWorkloads(gk) {
		return base{}
	}
	if text, ok := health.OwnScript(gk); ok {
		return base{text: currentLua + text}
	}
	if crossplane {
		return base{text: currentLua + crossplaneLua}
	}
	return base{}
}

// checked writes the script of a kind on which a descriptor has checks. The first
// in Lua replaces everything, as in a rehearsal; those in CEL come on top.
func checked(ctx context.Context, k *kindOf, b base, note func(lost bool, at finding.Position, format string, args ...any)) (string, bool, error) {
	if others := slices.DeleteFunc(slices.Clone(k.components), func(c string) bool { return c == k.by }); len(others) > 0 {
		slices.Sort(others)
		note(false, k.checks[0].Position, "the checks of %s hold for the objects of %s too: Argo CD has one script for a kind", k.by, strings.Join(slices.Compact(others), ", "))
	}
	text := b.text
	if b.argoCD && !b.older && text != "" {
		text = currentLua + text
	}
	if text == "" {
		text = genericLua
	}
	var expressions []model.HealthCheck
	lua := false
	for _, c := range k.checks {
		switch {
		case c.Lua != "" && !lua:
			text, lua = strings.TrimRight(c.Lua, "\n")+"\n", true
		case c.CEL != "":
			expressions = append(expressions, c)
		}
	}
	if b.argoCD && b.text == "" && !lua && len(expressions) > 0 {
		note(true, expressions[0].Position, "the check of %s is not carried over: Argo CD assesses the kind itself, in a way that a script of argocd-cm cannot repeat", k.by)
		return "", false, nil
	}
	var conditions strings.Builder
	for _, c := range expressions {
		condition, err := evaluate.Translate(ctx, c.CEL)
		if ctx.Err() != nil {
			return "", false, err
		}
		if err != nil {
			note(true, c.Position, "the check of %s is not carried over: %v; write it in Lua", k.by, err)
			continue
		}
		fmt.Fprintf(&conditions, "if not holds(function() return %s end) then\n  return {status = \"Progressing\", message = %s}\nend\n",
			condition, expression.Quote("health check does not hold: "+health.Brief(c.CEL)))
	}
	if conditions.Len() == 0 {
		return text, lua || b.text != "" && (!b.argoCD || b.older), nil
	}
	return "local function assess()\n" + indented(text) + "end\nlocal health = assess()\nif health == nil or health.status ~= \"Healthy\" then\n  return health or {}\nend\n\n" +
		celHelpers(conditions.String()) + "\n" + conditions.String() + "return health\n", true, nil
}

// gather collects the kinds that are rendered, and those that Crossplane makes of
// definitions.
func gather(components []Component) (map[schema.GroupKind]*kindOf, map[schema.GroupKind]bool, error) {
	components = slices.Clone(components)
	slices.SortFunc(components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	kinds, defined := map[schema.GroupKind]*kindOf{}, map[schema.GroupKind]bool{}
	at := func(gk schema.GroupKind) *kindOf {
		if kinds[gk] == nil {
			kinds[gk] = &kindOf{}
		}
		return kinds[gk]
	}
	for _, c := range components {
		for _, o := range c.Objects {
			for _, gk := range definedBy(o) {
				defined[gk] = true
			}
			if phases, hook := manifest.SyncPhases(o.Unstructured); hook || len(phases) == 0 {
				continue // a sync waits for its hooks itself
			}
			k := at(o.GroupVersionKind().GroupKind())
			k.waited = k.waited || c.Waited
			k.components = append(k.components, c.Name)
		}
		checks := map[schema.GroupKind][]model.HealthCheck{}
		for _, h := range c.Health {
			gk := schema.GroupKind{Group: h.Group, Kind: h.Kind}
			checks[gk] = append(checks[gk], h)
		}
		for gk, list := range checks {
			k := at(gk)
			if k.by != "" && !sameChecks(k.checks, list) {
				return nil, nil, fmt.Errorf("%s and %s have different health checks on %s (%s and %s): Argo CD has one script for a kind; write one check that fits both",
					k.by, c.Name, gk, k.checks[0].Position, list[0].Position)
			}
			k.checks, k.by = list, cmp.Or(k.by, c.Name)
		}
	}
	return kinds, defined, nil
}

func sameChecks(a, b []model.HealthCheck) bool {
	return slices.EqualFunc(a, b, func(x, y model.HealthCheck) bool { return x.CEL == y.CEL && x.Lua == y.Lua })
}

// definedBy are the kinds of a Crossplane CompositeResourceDefinition. Source:
// Crossplane, "Composite Resource Definitions".
func definedBy(o manifest.Object) []schema.GroupKind {
	if o.GetKind() != "CompositeResourceDefinition" || o.GroupVersionKind().Group != "apiextensions.crossplane.io" {
		return nil
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	var out []schema.GroupKind
	for _, names := range []string{"names", "claimNames"} {
		if kind, _, _ := unstructured.NestedString(o.Object, "spec", names, "kind"); kind != "" {
			out = append(out, schema.GroupKind{Group: group, Kind: kind})
		}
	}
	return out
}

func sortedKinds(kinds map[schema.GroupKind]*kindOf) []schema.GroupKind {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupKind) int {
		return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
	})
}
