package script

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gobwas/glob"
	"sigs.k8s.io/yaml"
)

// Customizations is the key, and the prefix of the keys, of the settings about
// kinds. Source: Argo CD operator manual, "Resource Health"; util/settings,
// appendResourceOverridesFromSplitKeys.
const Customizations = "resource.customizations"

// Script is a health script that the settings of Argo CD bring.
type Script struct {
	// Group and Kind are globs; an empty group is the core's.
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Lua   string `json:"lua,omitempty"`
	// Source names the script in messages: its key, and what the caller adds.
	Source string `json:"source,omitempty"`
}

// Problem is something in the settings of Argo CD that is not used as it is
// written.
type Problem struct {
	Key     string `json:"key"`
	Message string `json:"message"`
	// Wrong is set for what Argo CD could not use either.
	Wrong bool `json:"wrong,omitempty"`
}

// FromArgoCM reads the health scripts in the data of argocd-cm, of both ways to
// write them, and tells what of the customizations is not used: scripts that do
// not compile, and the libraries of Lua that read files and run programs, which
// are refused. Both are in the order of the keys. A script that does not compile
// is among the scripts all the same: its kind is never Healthy, as in Argo CD.
func FromArgoCM(data map[string]string) ([]Script, []Problem) {
	r := &argoReader{scripts: map[string]Script{}}
	r.older(data[Customizations])
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
		if _, err := CompileLua(s.Source, s.Lua); err != nil {
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
		r.wrong(Customizations, "is no map of kinds: %v", err)
		return
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		key := Customizations + "[" + kind + "]"
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
	rest, ok := strings.CutPrefix(key, Customizations+".")
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

// Match returns the first of the scripts whose patterns match a kind, -1 for none.
func Match(scripts []Script, group, kind string) int {
	return slices.IndexFunc(scripts, func(s Script) bool { return matches(s.Group, group) && matches(s.Kind, kind) })
}

// matches is false of what is no pattern.
func matches(pattern, name string) bool {
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(name)
}
