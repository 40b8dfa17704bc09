package infer

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Hosts: names of Services in free text. They are hints: a program may try again,
// or never call the host.

// requiresHost reads environments, arguments and ConfigMaps. What waits for a host before
// anything of its pod runs is no hint.
func requiresHost(w *world, o *object, add func(need)) {
	requiresAwaited(w, o, add)
	visit := func(value, field string) {
		hosts(value, func(name, ns string) {
			k := serviceKey(ns, name)
			if !w.services[k] {
				return
			}
			add(need{key: k, field: field, strength: plan.Soft, effect: dependency.Ready, verb: "names the host of Service " + ns + "/" + name, hint: true})
		})
	}
	if o.is("", "ConfigMap") {
		data := mapping(o.root(), "data")
		for _, name := range sortedKeys(data) {
			visit(text(data, name), "data."+name)
		}
		return
	}
	spec, path := podSpec(o)
	containers(spec, path, func(c map[string]any, path string) {
		each(list(c, "env"), path+".env", func(env map[string]any, path string) { visit(text(env, "value"), path+".value") })
		for _, field := range []string{"args", "command"} {
			for i, arg := range list(c, field) {
				if s, ok := arg.(string); ok {
					visit(s, path+"."+field+bracket(i))
				}
			}
		}
	})
}

// hosts finds what looks like a host of the cluster: "name.namespace.svc", or
// "name.namespace" behind "://" or before a port.
func hosts(text string, visit func(name, ns string)) {
	for i := 0; i < len(text); {
		if !hostByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && hostByte(text[i]) {
			i++
		}
		word := text[start:i]
		name, rest, ok := strings.Cut(word, ".")
		if !ok || name == "" {
			continue
		}
		ns, rest, longer := strings.Cut(rest, ".")
		switch {
		case ns == "":
		case longer && (rest == "svc" || strings.HasPrefix(rest, "svc.")):
			visit(name, ns)
		case !longer && (strings.HasSuffix(text[:start], "://") || strings.HasSuffix(text[:start], "@") || i+1 < len(text) && text[i] == ':' && text[i+1] >= '0' && text[i+1] <= '9'):
			visit(name, ns)
		}
	}
}

func hostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
}
