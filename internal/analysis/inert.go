package analysis

import (
	"context"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// inert is the command of a Job or Pod that ends with 0 whatever the commands in it say,
// and that nothing keeps from starting; empty where that is not certain.
func inert(o manifest.Object) string {
	if kind := o.GetKind(); kind != "Job" && kind != "Pod" {
		return ""
	}
	pod, _, err := unstructured.NestedMap(o.Object, pods[o.GetKind()]...)
	if err != nil || isDemanding(pod) {
		return ""
	}
	said := ""
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, item := range containers {
			container, _ := item.(map[string]any)
			command := ends(container)
			if command == "" {
				return ""
			}
			if said == "" {
				said = command
			}
		}
	}
	return said
}

// findCertain finds the expressions of checks that say the same of every object. Those that
// do not compile are told where they are evaluated.
func (r *Result) findCertain(ctx context.Context) {
	for _, c := range r.Platform.Components {
		for _, check := range c.Smoke {
			if !c.Enabled || check.Kind != model.CheckCEL {
				continue
			}
			if certain, err := evaluate.IsCertain(ctx, check.Expression, check.Variable()); err == nil && certain {
				if r.certain == nil {
					r.certain = map[string]bool{}
				}
				r.certain[check.Expression] = true
			}
		}
	}
}

// isDemanding reports whether a pod needs more than an image to start: that it starts is
// a test then.
func isDemanding(pod map[string]any) bool {
	for _, key := range []string{"volumes", "imagePullSecrets", "nodeSelector", "affinity", "runtimeClassName", "schedulerName", "priorityClassName", "resourceClaims"} {
		if _, has := pod[key]; has {
			return true
		}
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, item := range containers {
			container, _ := item.(map[string]any)
			for _, key := range []string{"envFrom", "resources", "livenessProbe", "startupProbe", "lifecycle"} {
				if _, has := container[key]; has {
					return true
				}
			}
			variables, _ := container["env"].([]any)
			for _, v := range variables {
				if v, ok := v.(map[string]any); !ok || v["valueFrom"] != nil {
					return true
				}
			}
		}
	}
	return false
}

// ofShell are the options of a shell that is given its commands. Those that would end it
// in between are not among them, but for errexit.
var ofShell = lazyregexp.New(`^-[celx]*c$`)

// ends is the command of a container that always ends with 0.
func ends(container map[string]any) string {
	given, _ := container["command"].([]any)
	if len(given) == 0 {
		return "" // the image says what runs
	}
	more, _ := container["args"].([]any)
	var words []string
	for _, item := range slices.Concat(given, more) {
		word, ok := item.(string)
		if !ok {
			return ""
		}
		words = append(words, word)
	}
	switch path.Base(words[0]) {
	case "true", "echo":
		return strings.Join(words, " ")
	case "sh", "bash", "ash", "dash":
		if len(words) > 2 && ofShell.MatchString(words[1]) && endsScript(words[2], strings.Contains(words[1], "e")) {
			return lastLine(words[2])
		}
	}
	return ""
}

// lastLine is what a message shows of a script.
func lastLine(script string) string {
	lines := strings.Split(strings.TrimSpace(script), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

var (
	// aborts is what ends a shell in between, waits, or is not understood here: expansions
	// that may fail, documents in the script, and groups.
	aborts = lazyregexp.New("`" + `|\$\{[^}]*\?|\$\(\(|<<|^\s*[{}]|[;&|\s][{}](\s|;|$)|\(\)`)
	// controls are words by which a script ends early, loops, chooses or runs other text.
	controls = []string{
		"while", "until", "for", "select", "case", "if", "do", "done", "fi", "function", "set", "exec", "return", "trap", "kill", "source", ".",
		"eval", "break", "continue", "shift", "wait", "readonly", "unset", "export", "local", "declare", "!", "[[", "coproc", "alias", "shopt",
		"command", "builtin", "time",
	}
	// kept is a redirection that cannot fail.
	kept = lazyregexp.New(`[0-9]?>\s*(&[0-9]|/dev/(null|stdout|stderr))`)
)

// endsScript reports whether a script of a shell ends with 0 whatever its commands say: it
// says so itself, with "|| true" or "exit 0" at its end, or it only prints. errexit is set
// where the first command that fails ends it.
func endsScript(script string, errexit bool) bool {
	if len(script) > longestCommand || aborts.MatchString(script) {
		return false
	}
	lists, ok := andOrLists(strings.ReplaceAll(script, "\\\n", " "))
	if !ok || len(lists) == 0 {
		return false
	}
	all := true
	for _, l := range lists {
		all = all && l.succeeds()
	}
	last := lists[len(lists)-1]
	return all || !errexit && last.succeeds() && last.isExplicit()
}

// andOr are pipelines between "&&" and "||": operators has one less.
type andOr struct{ pipelines, operators []string }

// succeeds reports whether the status of a list is 0 in any case.
func (l andOr) succeeds() bool {
	ok := isSure(l.pipelines[0])
	for i, operator := range l.operators {
		if operator == "||" {
			ok = ok || isSure(l.pipelines[i+1])
		} else {
			ok = ok && isSure(l.pipelines[i+1])
		}
	}
	return ok
}

// isExplicit reports whether a list says that failures do not count. Text that is printed
// at the end of a script says no such thing.
func (l andOr) isExplicit() bool {
	return len(l.operators) > 0 || !strings.HasPrefix(l.pipelines[0], "echo")
}

// isSure reports whether a pipeline ends with 0: the last of its commands says so.
func isSure(pipeline string) bool {
	commands := strings.Split(pipeline, "\x00")
	command := strings.TrimSpace(kept.ReplaceAllString(commands[len(commands)-1], ""))
	if strings.ContainsAny(command, "<>") {
		return false
	}
	words := strings.Fields(command)
	switch {
	case len(words) == 0:
		return false
	case words[0] == "exit":
		return len(words) == 2 && words[1] == "0"
	default:
		return words[0] == "true" || words[0] == ":" || words[0] == "echo"
	}
}

// andOrLists parts a script into its lists. Commands of a pipeline are joined by a zero
// byte, and quoted text and substitutions are left whole. ok is false where the script is not
// understood, or may end early.
func andOrLists(script string) (lists []andOr, ok bool) {
	var list andOr
	var command strings.Builder
	understood := true
	word := func(text string) {
		words := strings.Fields(text)
		if len(words) == 0 {
			understood = false
			return
		}
		first := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(w, "=") })
		understood = understood && (first < 0 || !slices.Contains(controls, words[first]))
		if slices.Contains(words, "exit") {
			understood = understood && slices.Equal(words, []string{"exit", "0"})
		}
	}
	end := func(operator string) {
		text := strings.TrimSpace(command.String())
		command.Reset()
		if text == "" && operator == ";" && len(list.operators) == 0 && len(list.pipelines) == 0 {
			return // an empty line
		}
		for c := range strings.SplitSeq(text, "\x00") {
			word(c)
		}
		list.pipelines = append(list.pipelines, text)
		if operator != ";" {
			list.operators = append(list.operators, operator)
			return
		}
		lists, list = append(lists, list), andOr{}
	}
	for i := 0; i < len(script); {
		rest := script[i:]
		switch {
		case rest[0] == '\n' && strings.TrimSpace(command.String()) == "" && len(list.operators) > 0:
			i++ // the list goes on in the next line
		case rest[0] == '#' && (i == 0 || strings.ContainsRune(" \t\n;", rune(script[i-1]))):
			next := strings.IndexByte(rest, '\n')
			if next < 0 {
				next = len(rest)
			}
			i += next
		case rest[0] == '\n' || rest[0] == ';':
			end(";")
			i++
		case strings.HasPrefix(rest, "&&"), strings.HasPrefix(rest, "||"):
			end(rest[:2])
			i += 2
		case rest[0] == '|':
			command.WriteByte(0)
			i++
		case rest[0] == '&' && !strings.HasSuffix(command.String(), ">"):
			return nil, false // in the background, or both outputs of bash
		default:
			n := whole(rest)
			if n == 0 {
				return nil, false
			}
			command.WriteString(rest[:n])
			i += n
		}
	}
	end(";")
	return lists, understood && len(list.pipelines) == 0
}

// whole is the length of what stands at the beginning of a text and is not parted: quoted
// text, a substitution, an escaped character or any other; 0 where it does not end.
func whole(text string) int {
	switch {
	case text[0] == '\'':
		if n := strings.IndexByte(text[1:], '\''); n >= 0 {
			return n + 2
		}
		return 0
	case text[0] == '\\':
		return min(2, len(text))
	case text[0] == '"':
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return 0
	case text[0] == '(', strings.HasPrefix(text, "$("):
		i := strings.IndexByte(text, '(') + 1
		for i < len(text) && text[i] != ')' {
			n := whole(text[i:])
			if n == 0 {
				return 0
			}
			i += n
		}
		if i >= len(text) {
			return 0
		}
		return i + 1
	default:
		return 1
	}
}
