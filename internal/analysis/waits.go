package analysis

import (
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// pods are where workloads have the pods that they make.
var pods = map[string][]string{
	"Pod": {"spec"}, "Deployment": {"spec", "template", "spec"}, "StatefulSet": {"spec", "template", "spec"},
	"DaemonSet": {"spec", "template", "spec"}, "Job": {"spec", "template", "spec"},
}

// waits are the commands of an object that wait with kubectl: those of its init
// containers, and all of a hook before the sync.
func waits(component string, o manifest.Object, before bool) []lint.Wait {
	at, ok := pods[o.GetKind()]
	if !ok {
		return nil
	}
	lists := []string{"initContainers"}
	if before {
		lists = append(lists, "containers")
	}
	var all []lint.Wait
	for _, list := range lists {
		containers, _, err := unstructured.NestedSlice(o.Object, append(slices.Clone(at), list)...)
		if err != nil {
			continue
		}
		for _, item := range containers {
			container, _ := item.(map[string]any)
			name, _ := container["name"].(string)
			environment := environmentOf(container)
			given := commandOf(container)
			for i := range given {
				given[i] = expand(given[i], environment)
			}
			for _, w := range waitsIn(parts(given), environment) {
				w.Component, w.Of, w.Container, w.Position = component, o.Resource(), name, o.Origin.Position()
				if w.Namespace == "" {
					w.Namespace = o.Target
				}
				all = append(all, w)
			}
		}
	}
	return all
}

// waitsIn reads the commands of kubectl that wait for one object by its name. What a
// shell fills in is known where the script, or the environment of its container, says it
// once.
func waitsIn(script *syntax.File, environment map[string]string) []lint.Wait {
	if script == nil {
		return nil
	}
	known := variablesOf(script, environment)
	var all []lint.Wait
	var read func(node syntax.Node, polls bool)
	read = func(node syntax.Node, polls bool) {
		syntax.Walk(node, func(n syntax.Node) bool {
			if n == node {
				return true
			}
			switch n := n.(type) {
			case *syntax.WhileClause:
				read(n, polls || calls(n, "sleep"))
				return false
			case *syntax.ForClause: // over how often something is tried, until that ends it
				read(n, polls || calls(n, "sleep") && calls(n, "break", "exit"))
				return false
			case *syntax.CallExpr:
				for _, values := range known.each(n) {
					if w, ok := waitOf(kubectl(values, n), polls); ok && !slices.Contains(all, w) {
						all = append(all, w)
					}
				}
			}
			return true
		})
	}
	read(script, false)
	return all
}

// calls reports whether one of some commands is in a part of a script.
func calls(part syntax.Node, commands ...string) bool {
	found := false
	syntax.Walk(part, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			found = found || slices.Contains(commands, c.Args[0].Lit())
		}
		return true
	})
	return found
}

// mostValues bounds the commands that one stands for.
const mostValues = 20

// each has a command once for every value that the variables in it go through.
func (v variables) each(command *syntax.CallExpr) []variables {
	all := []variables{v}
	done := map[string]bool{}
	syntax.Walk(command, func(n syntax.Node) bool {
		p, ok := n.(*syntax.ParamExp)
		if !ok || p.Param == nil {
			return true
		}
		name := p.Param.Value
		if done[name] || len(v[name]) < 2 || len(all)*len(v[name]) > mostValues {
			return true
		}
		done[name] = true
		var more []variables
		for _, values := range all {
			for _, value := range v[name] {
				one := maps.Clone(values)
				one[name] = []string{value}
				more = append(more, one)
			}
		}
		all = more
		return true
	})
	return all
}

// prefixes are commands that run the one that they are given.
var prefixes = []string{"timeout", "exec", "command", "env", "nice"}

// kubectl has the words behind kubectl, where that is what a command runs. A word that is
// not known is empty.
func kubectl(v variables, command *syntax.CallExpr) []string {
	var words []string
	for _, arg := range command.Args {
		text, _ := v.text(arg)
		words = append(words, text)
	}
	i := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "kubectl" })
	if i < 0 || i > 0 && !slices.Contains(prefixes, words[0]) {
		return nil
	}
	return words[i+1:]
}

// waitOf reads the arguments of kubectl.
func waitOf(words []string, polls bool) (w lint.Wait, ok bool) {
	plain, known := arguments(words, &w.Namespace)
	switch {
	case !known || len(plain) < 2:
		return w, false
	case plain[0] == "wait", plain[0] == "get" && polls:
		plain = plain[1:]
	case plain[0] == "rollout" && plain[1] == "status":
		plain = plain[2:]
	default:
		return w, false
	}
	switch {
	case len(plain) == 1:
		w.Kind, w.Name, _ = strings.Cut(plain[0], "/")
	case len(plain) == 2 && !strings.Contains(plain[0]+plain[1], "/"):
		w.Kind, w.Name = plain[0], plain[1]
	}
	return w, w.Kind != "" && w.Name != ""
}

// arguments are the words of a command that are no flags. known is false where it
// chooses by labels, or one of them is not known.
func arguments(words []string, namespace *string) (plain []string, known bool) {
	for i := 0; i < len(words); i++ {
		flag, value, inline := strings.Cut(words[i], "=")
		switch {
		case words[i] == "", strings.Contains(words[i], "*"):
			return nil, false
		case slices.Contains([]string{"-l", "--selector", "--all", "-A", "--all-namespaces", "-f", "--filename"}, flag):
			return nil, false
		case slices.Contains([]string{"-n", "--namespace", "--for", "--timeout", "-o", "--output", "--context", "--kubeconfig"}, flag):
			if !inline && i+1 < len(words) {
				i++
				value = words[i]
			}
			if flag == "-n" || flag == "--namespace" {
				if value == "" {
					return nil, false
				}
				*namespace = value
			}
		case strings.HasPrefix(flag, "-"):
		default:
			plain = append(plain, words[i])
		}
	}
	return plain, true
}
