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
	// waiting are programs that do nothing but wait, asking those that a loop asks with.
	waiting = lazyregexp.New(`(?:^|[\s/;&(])(wait-for-it(?:\.sh)?|wait-for(?:\.sh)?|wait4x|dockerize)\s+([^;&|\n)]*)`)
	asking  = lazyregexp.New(`(?:^|[\s/;&(!])(nc|ncat|nslookup|pg_isready|curl|wget|redis-cli|mysqladmin|getent)\s+([^;&|\n)]*)`)
	loops   = lazyregexp.New(`(?:^|[\s;&(])(?:until|while)\s`)
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
	all := hostsOf(waiting.FindAllStringSubmatch(script, few))
	if loops.MatchString(script) && strings.Contains(script, "sleep") {
		all = append(all, hostsOf(asking.FindAllStringSubmatch(script, few))...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hostsOf are the hosts among the arguments of commands: those of addresses, of the flag
// for a host, and where a program takes one as it is.
func hostsOf(commands [][]string) []string {
	var all []string
	add := func(host string) {
		host, _, _ = strings.Cut(host, "/")
		host, _, _ = strings.Cut(host, ":")
		if host != "" {
			all = append(all, host)
		}
	}
	for _, command := range commands {
		program, words := command[1], strings.Fields(command[2])
		bare := !slices.Contains([]string{"pg_isready", "curl", "wget", "redis-cli", "mysqladmin"}, program)
		for i := range words {
			word := strings.Trim(words[i], `"'`)
			_, address, isAddress := strings.Cut(word, "://")
			flag := i > 0 && slices.Contains([]string{"-h", "--host"}, words[i-1])
			switch value, ok := strings.CutPrefix(word, "--host="); {
			case isAddress:
				add(address[strings.LastIndexByte(address, '@')+1:])
			case ok:
				add(value)
			case flag, bare && !strings.HasPrefix(word, "-"):
				add(word)
			}
		}
	}
	return all
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
