package analysis

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// The most that is read of the command of a container, in bytes, and of the commands in
// it.
const (
	longestCommand = 64 << 10
	mostCommands   = 50
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
			for _, w := range waitsIn(expand(words(container["command"])+" "+words(container["args"]), environment), environment) {
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

func words(list any) string {
	items, _ := list.([]any)
	var all []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return strings.Join(all, " ")
}

var (
	kubectl = lazyregexp.New(`\bkubectl\s+([^|;&\n)]*)`)
	looping = lazyregexp.New(`\b(until|while)\b`)
	// trying is a loop over how often something is tried, until that ends it.
	trying = lazyregexp.New(`(?s)(?:^|[\s;&|(])for\s.*\bdo\b.*\b(break|exit)\b`)
)

// waitsIn reads the commands of kubectl that wait for one object by its name. What a
// shell fills in is known where the script, or the environment of its container, says it
// once.
func waitsIn(command string, environment map[string]string) []lint.Wait {
	command = command[:min(len(command), longestCommand)]
	loops := (looping.MatchString(command) || trying.MatchString(command)) && strings.Contains(command, "sleep")
	known := variablesOf(command, environment)
	var all []lint.Wait
	for _, found := range kubectl.FindAllStringSubmatch(command, mostCommands) {
		for _, text := range known.fill(found[1]) {
			if w, ok := waitOf(text, loops); ok && !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
	}
	return all
}

// waitOf reads the arguments of kubectl.
func waitOf(text string, loops bool) (w lint.Wait, ok bool) {
	plain, known := arguments(text, &w.Namespace)
	switch {
	case !known || len(plain) < 2:
		return w, false
	case plain[0] == "wait", plain[0] == "get" && loops:
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
// chooses by labels, or a shell fills something in.
func arguments(text string, namespace *string) (plain []string, known bool) {
	fields := strings.Fields(text)
	for i := 0; i < len(fields); i++ {
		f := strings.Trim(fields[i], `"'`)
		flag, value, inline := strings.Cut(f, "=")
		switch {
		case strings.ContainsAny(f, "$`*"):
			return nil, false
		case strings.Contains(f, ">"):
			return plain, true
		case slices.Contains([]string{"-l", "--selector", "--all", "-A", "--all-namespaces", "-f", "--filename"}, flag):
			return nil, false
		case slices.Contains([]string{"-n", "--namespace", "--for", "--timeout", "-o", "--output", "--context", "--kubeconfig"}, flag):
			if !inline && i+1 < len(fields) {
				i++
				value = strings.Trim(fields[i], `"'`)
			}
			if strings.ContainsAny(value, "$`") && (flag == "-n" || flag == "--namespace") {
				return nil, false
			}
			if flag == "-n" || flag == "--namespace" {
				*namespace = value
			}
		case strings.HasPrefix(f, "-"):
		default:
			plain = append(plain, f)
		}
	}
	return plain, true
}
