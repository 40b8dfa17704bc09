package infer

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// Awaited hosts: a script that asks for a Service until it answers. In an init container,
// or in a Job, nothing goes on before.

// longestScript is the most that is read of the command of a container, in bytes.
const longestScript = 16 << 10

var (
	// waiting are programs that do nothing but wait for what is behind them.
	waiting = lazyregexp.New(`(?:^|[\s/;&(])(wait-for-it(?:\.sh)?|wait-for(?:\.sh)?|wait4x|dockerize)\s+([^;&|\n)]*)`)
	// untilDone is the condition of a loop that goes on until it holds.
	untilDone = lazyregexp.New(`(?:^|[\s;&(])(?:until|while\s+!)\s+([^;\n]*)`)
	asking    = lazyregexp.New(`(?:^|[\s/;&(!])(nc|ncat|nslookup|pg_isready|curl|wget|redis-cli|mysqladmin|getent)\s+([^;&|\n)]*)`)
)

// requiresAwaited finds the Services that the containers of an object wait for.
func requiresAwaited(w *world, o *object, add func(need)) {
	spec, path := podSpec(o)
	fields := []string{"initContainers"}
	if o.is("batch", "Job") {
		fields = append(fields, "containers")
	}
	for _, field := range fields {
		each(list(spec, field), join(path, field), func(c map[string]any, path string) {
			if text(c, "restartPolicy") == "Always" {
				return // a sidecar, for which nothing waits
			}
			script, field := scriptOf(c)
			for _, host := range awaited(script) {
				if k := serviceOf(host, o.namespace()); w.services[k] {
					add(need{key: k, field: path + "." + field, strength: podStrength(o), effect: dependency.Ready, verb: "waits for Service " + k.Namespace + "/" + k.Name, hint: idle(o)})
				}
			}
		})
	}
}

// scriptOf is what a container runs, with the field that says it. Variables of the
// container that have a value are filled in.
func scriptOf(c map[string]any) (script, field string) {
	var all []string
	for _, name := range []string{"command", "args"} {
		for _, part := range list(c, name) {
			if s, ok := part.(string); ok {
				all, field = append(all, s), name
			}
		}
	}
	script = strings.Join(all, " ")
	script = script[:min(len(script), longestScript)]
	if !strings.Contains(script, "$") {
		return script, field
	}
	var pairs []string
	each(list(c, "env"), "", func(env map[string]any, _ string) {
		if name, value := text(env, "name"), text(env, "value"); name != "" && value != "" && len(value) < 256 {
			pairs = append(pairs, "${"+name+"}", value, "$("+name+")", value, "$"+name+" ", value+" ", "$"+name+":", value+":", "$"+name+"\"", value+"\"")
		}
	})
	return strings.NewReplacer(pairs...).Replace(script), field
}

// awaited are the hosts that a script waits for.
func awaited(script string) []string {
	var all []string
	for _, m := range waiting.FindAllStringSubmatchIndex(script, few) {
		program, words := script[m[2]:m[3]], strings.Fields(script[m[4]:m[5]])
		if strings.HasPrefix(strings.TrimSpace(script[m[5]:]), "||") {
			continue // goes on without
		}
		all = append(all, waitedFor(program, words)...)
	}
	for _, loop := range untilDone.FindAllStringSubmatch(script, few) {
		for _, m := range asking.FindAllStringSubmatch(loop[1], few) {
			all = append(all, asked(m[1], strings.Fields(m[2]))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// waitedFor is the host that a program waits for, by its arguments. What stands behind
// "--" is run afterwards, by wait-for-it also when the time is up, unless it is strict.
func waitedFor(program string, words []string) []string {
	if i := slices.Index(words, "--"); i >= 0 {
		if strings.HasPrefix(program, "wait-for") && !slices.Contains(words, "-s") && !slices.Contains(words, "--strict") {
			return nil
		}
		words = words[:i]
	}
	for i, word := range words {
		switch {
		case program == "dockerize":
			if i > 0 && words[i-1] == "-wait" || strings.HasPrefix(word, "-wait=") {
				return hostOf(strings.TrimPrefix(word, "-wait="))
			}
		case program == "wait4x" && i == 0: // what kind of host it is
		case strings.Contains(word, "://"), strings.Contains(word, ":") && !strings.HasPrefix(word, "-"):
			return hostOf(word)
		}
	}
	return nil
}

// asked is the host that a command asks: that of an address, of the flag for a host, or the
// first word where a program takes one as it is.
func asked(program string, words []string) []string {
	bare := slices.Contains([]string{"nc", "ncat", "nslookup", "getent"}, program)
	for i := range words {
		word := strings.Trim(words[i], `"'`)
		switch value, ok := strings.CutPrefix(word, "--host="); {
		case ok:
			return hostOf(value)
		case i > 0 && (words[i-1] == "-h" || words[i-1] == "--host"), strings.Contains(word, "://"):
			return hostOf(word)
		case bare && !strings.HasPrefix(word, "-") && strings.Trim(word, "0123456789") != "" && word != "hosts" && word != "ahosts":
			return hostOf(word)
		}
	}
	return nil
}

// hostOf is the host of an address, or of what stands for one.
func hostOf(address string) []string {
	address = strings.Trim(address, `"'`)
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest[strings.LastIndexByte(rest, '@')+1:]
	}
	if host := address[:len(address)-len(strings.TrimLeft(address, "abcdefghijklmnopqrstuvwxyz0123456789-."))]; host != "" {
		return []string{host}
	}
	return nil
}

// serviceOf is the Service that a host of the cluster means, seen from a namespace.
func serviceOf(host, namespace string) key {
	name, rest, dotted := strings.Cut(host, ".")
	if !dotted {
		return serviceKey(namespace, name)
	}
	ns, rest, longer := strings.Cut(rest, ".")
	if longer && rest != "svc" && !strings.HasPrefix(rest, "svc.") {
		return key{}
	}
	return serviceKey(ns, name)
}
