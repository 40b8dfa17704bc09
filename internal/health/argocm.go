package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gobwas/glob"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// ArgoCM is the name of the ConfigMap that holds Argo CD's settings.
const ArgoCM = "argocd-cm"

// customizations is the key, and the prefix of the keys, of the settings about
// kinds. Source: Argo CD operator manual, "Resource Health"; util/settings,
// appendResourceOverridesFromSplitKeys.
const customizations = "resource.customizations"

// Script is a health script that the settings of Argo CD bring.
type Script struct {
	// Group and Kind are globs; an empty group is the core's.
	Group, Kind string
	Lua         string
	// Source names the script in messages: its key, and what the caller adds.
	Source string
}

// Problem is something in the settings of Argo CD that is not used as it is
// written.
type Problem struct {
	Key, Message string
	// Wrong is set for what Argo CD could not use either.
	Wrong bool
}

// FromArgoCM reads the health scripts in the data of argocd-cm, of both ways to
// write them, and tells what of the customizations is not used: scripts that do
// not compile, and the libraries of Lua that read files and run programs, which
// are refused. Both are in the order of the keys. A script that does not compile
// is among the scripts all the same: its kind is never Healthy, as in Argo CD.
func FromArgoCM(data map[string]string) ([]Script, []Problem) {
	r := &argoReader{scripts: map[string]Script{}}
	r.older(data[customizations])
	for _, key := range slices.Sorted(maps.Keys(data)) {
		r.newer(key, data[key])
	}
	keys := slices.SortedFunc(maps.Keys(r.scripts), func(a, b string) int {
		// The settings of one kind win over those of many; Argo CD leaves the order
		// of the latter to chance.
		return cmp.Or(cmp.Compare(strings.Count(a, "*"), strings.Count(b, "*")), cmp.Compare(a, b))
	})
	var out []Script
	for _, key := range keys {
		s := r.scripts[key]
		if _, err := compileLua(s.Source, s.Lua); err != nil {
			r.wrong(s.Source, "%v", err)
		}
		out = append(out, s)
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Compare(a.Key, b.Key) })
	return out, r.problems
}

// argoReader collects scripts by "group/Kind".
type argoReader struct {
	scripts  map[string]Script
	problems []Problem
}

func (r *argoReader) wrong(key, format string, args ...any) {
	r.problems = append(r.problems, Problem{Key: key, Message: fmt.Sprintf(format, args...), Wrong: true})
}

func (r *argoReader) openLibs(key string) {
	r.problems = append(r.problems, Problem{Key: key, Message: "the libraries of Lua that reach files and programs are refused: a script that needs them fails"})
}

// older reads the one key that holds a map of kinds.
func (r *argoReader) older(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	var kinds map[string]map[string]any
	if err := yaml.Unmarshal([]byte(text), &kinds); err != nil {
		r.wrong(customizations, "is no map of kinds: %v", err)
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		key := customizations + "[" + kind + "]"
		if open, ok := kinds[kind]["health.lua.useOpenLibs"].(bool); ok && open {
			r.openLibs(key)
		}
		if script, ok := kinds[kind]["health.lua"].(string); ok && script != "" {
			r.add(kind, key, script)
		}
	}
}

// newer reads a key of one kind: resource.customizations.health.<group>_<kind>.
func (r *argoReader) newer(key, value string) {
	rest, ok := strings.CutPrefix(key, customizations+".")
	if !ok {
		return
	}
	what, kind, ok := strings.Cut(rest, ".")
	if !ok {
		return
	}
	switch what {
	case "health":
		if strings.Count(kind, "_") > 1 || kind == "" {
			r.wrong(key, "%q is not of the form <group>_<kind>", kind)
			return
		}
		if value != "" {
			r.add(strings.Replace(kind, "_", "/", 1), key, value)
		}
	case "useOpenLibs":
		if value == "true" {
			r.openLibs(key)
		}
	case "actions", "ignoreDifferences", "ignoreResourceUpdates", "knownTypeFields":
		// Nothing about health.
	default:
		r.wrong(key, "there are no customizations %q", what)
	}
}

// add takes a script for a kind written "group/Kind", or "Kind" for the core's.
func (r *argoReader) add(kind, key, script string) {
	if kind == "all" {
		kind = "*/*"
	}
	group, name, ok := strings.Cut(kind, "/")
	if !ok {
		group, name = "", kind
	}
	for _, pattern := range []string{group, name} {
		if _, err := glob.Compile(pattern); err != nil {
			r.wrong(key, "%q is no pattern: %v", pattern, err)
			return
		}
	}
	r.scripts[group+"/"+name] = Script{Group: group, Kind: name, Lua: script, Source: key}
}

// custom is a Script, compiled when it is first needed.
type custom struct {
	group, kind glob.Glob
	script      *script
}

// WithScripts adds scripts that go before those that Argo CD ships, the first
// that matches before the others. They run in an interpreter of their own, with
// the same limits as those of descriptors.
func WithScripts(scripts []Script) Option {
	return func(a *Assessor) error {
		for _, s := range scripts {
			group, err := glob.Compile(s.Group)
			if err != nil {
				return fmt.Errorf("%s: group %q: %w", s.Source, s.Group, err)
			}
			kind, err := glob.Compile(s.Kind)
			if err != nil {
				return fmt.Errorf("%s: kind %q: %w", s.Source, s.Kind, err)
			}
			a.custom = append(a.custom, custom{group, kind, &script{
				name: s.Source, untrusted: true,
				compile: sync.OnceValues(func() (*lua.FunctionProto, error) { return compileLua(s.Source, s.Lua) }),
			}})
		}
		return nil
	}
}

// customised returns the script that the settings have for a kind, nil for none.
func (a *Assessor) customised(gk schema.GroupKind) *script {
	for _, c := range a.custom {
		if c.group.Match(gk.Group) && c.kind.Match(gk.Kind) {
			return c.script
		}
	}
	return nil
}
