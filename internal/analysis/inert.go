package analysis

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// inert says why nothing of an object can fail in a rollout: a Job or Pod certainly ends with
// 0, and nothing keeps it from starting; a CronJob is Healthy before it runs, and a Service
// that asks for no load balancer at once, unless a health check of the repository is set for
// them.
func inert(o manifest.Object, configured bool) lint.Inert {
	switch o.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "CronJob"}:
		suspended, _, err := unstructured.NestedBool(o.Object, "spec", "suspend")
		switch {
		case configured || err != nil:
			return ""
		case suspended:
			return lint.Suspended
		}
		return lint.Scheduled
	case schema.GroupKind{Kind: "Service"}:
		kind, _, err := unstructured.NestedString(o.Object, "spec", "type")
		if configured || err != nil || kind == "LoadBalancer" {
			return ""
		}
		return lint.Idle
	case schema.GroupKind{Group: "batch", Kind: "Job"}, schema.GroupKind{Kind: "Pod"}:
		if endsWell(o) {
			return lint.EndsWell
		}
	}
	return ""
}

// endsWell reports whether a Job or Pod certainly ends with 0, whatever the commands in it
// say, and nothing keeps it from starting.
func endsWell(o manifest.Object) bool {
	pod, _, err := unstructured.NestedMap(o.Object, pods[o.GetKind()]...)
	if err != nil || isDemanding(pod) {
		return false
	}
	some := false
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, item := range containers {
			container, _ := item.(map[string]any)
			if !ends(container, deadline(o) > 0) {
				return false
			}
			some = true
		}
	}
	return some
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

// ends reports whether the command of a container ends with 0 in any case; limited is set
// where one that takes long fails.
func ends(container map[string]any, limited bool) bool {
	words := commandOf(container)
	if len(words) == 0 {
		return false // the image says what runs
	}
	switch path.Base(words[0]) {
	case "true", "echo":
		return true
	case "sleep":
		return len(words) == 2 && duration.MatchString(words[1])
	case "sh", "bash", "ash", "dash":
		// Any other option may end a script in between.
		text, options, ok := scriptOf(words)
		return ok && strings.Trim(options, "celx") == "" && endsScript(text, strings.Contains(options, "e"), limited)
	}
	return false
}

// stops are commands by which a script ends early, or runs other text.
var stops = []string{
	"set", "exec", "return", "trap", "kill", "source", ".", "eval", "break", "continue", "shift", "wait", "unset", "alias", "shopt", "command", "builtin",
}

// endsScript reports whether a script of a shell ends with 0 whatever its commands say: it
// says so itself, with "|| true" or "exit 0" at its end, or all that it runs succeeds, or it
// ends with an "echo" behind commands that answer. errexit is set where the first command
// that fails ends it, limited where one that takes long fails. Of a script with more than
// simple commands, "if", "for", parentheses, and "&&", "||" and "|" between them nothing is
// said.
func endsScript(script string, errexit, limited bool) bool {
	file := parseScript(script)
	if file == nil || len(file.Stmts) == 0 {
		return false
	}
	all := true
	for _, s := range file.Stmts {
		if exits, ok := setting(s); ok {
			if exits != nil {
				errexit = *exits
			}
			continue
		}
		if !isSimple(s, false) {
			return false
		}
		if errexit && !succeeds(s, true) {
			return false
		}
		all = all && succeeds(s, true)
	}
	last := file.Stmts[len(file.Stmts)-1]
	return all || succeeds(last, errexit) && (isExplicit(last) || !limited && answers(file))
}

// setting reports whether a statement is a "set" that changes nothing but whether commands are
// shown, and whether one that fails ends the script: exits has that where it is said.
func setting(s *syntax.Stmt) (exits *bool, ok bool) {
	c, isCall := s.Cmd.(*syntax.CallExpr)
	if !isCall || len(c.Args) < 2 || len(c.Assigns) > 0 || len(s.Redirs) > 0 || s.Negated || s.Background || s.Coprocess || c.Args[0].Lit() != "set" {
		return nil, false
	}
	for _, word := range c.Args[1:] {
		option := word.Lit()
		if len(option) < 2 || option[0] != '-' && option[0] != '+' || strings.Trim(option[1:], "ex") != "" {
			return nil, false
		}
		if strings.Contains(option, "e") {
			on := option[0] == '-'
			exits = &on
		}
	}
	return exits, true
}

// isSimple reports whether a statement goes on to the next one, or ends the script with 0,
// where it is not the failure of a command that ends it. In a loop it may leave that.
func isSimple(s *syntax.Stmt, looped bool) bool {
	if s.Background || s.Coprocess {
		return false
	}
	simple := func(all []*syntax.Stmt, looped bool) bool {
		return !slices.ContainsFunc(all, func(s *syntax.Stmt) bool { return !isSimple(s, looped) })
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return isSimple(c.X, looped) && isSimple(c.Y, looped)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if !simple(c.Cond, looped) || !simple(c.Then, looped) {
				return false
			}
		}
		return true
	case *syntax.ForClause:
		words, ok := c.Loop.(*syntax.WordIter)
		return ok && !c.Select && !slices.ContainsFunc(words.Items, func(w *syntax.Word) bool { return mayFail(w) }) && simple(c.Do, true)
	case *syntax.Subshell:
		return simple(c.Stmts, false)
	case *syntax.Block:
		return simple(c.Stmts, looped)
	case *syntax.CallExpr:
		if mayFail(s) {
			return false
		}
		if len(c.Args) == 0 {
			return true
		}
		name := c.Args[0].Lit()
		switch {
		case name == "exit":
			return len(c.Args) == 2 && c.Args[1].Lit() == "0"
		case looped && len(c.Args) == 1 && (name == "break" || name == "continue"):
			return true
		}
		return name != "" && !slices.Contains(stops, name) && (name != ":" || len(s.Redirs) == 0)
	}
	return false
}

// mayFail reports whether a shell may end where it fills something in.
func mayFail(s syntax.Node) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			return false // a shell of its own
		case *syntax.ParamExp:
			found = found || n.Exp != nil && (n.Exp.Op == syntax.ErrorUnset || n.Exp.Op == syntax.ErrorUnsetOrNull)
		case *syntax.ArithmExp:
			found = true
		}
		return true
	})
	return found
}

// succeeds reports whether the status of a statement is 0 in any case, and no command of it
// that fails ends the script, which it would where errexit is set.
func succeeds(s *syntax.Stmt, errexit bool) bool {
	if s.Negated {
		return false
	}
	for _, r := range s.Redirs {
		to := r.Word.Lit()
		kept := r.Op == syntax.DplOut && (to == "1" || to == "2") ||
			r.Op == syntax.RdrOut && slices.Contains([]string{"/dev/null", "/dev/stdout", "/dev/stderr"}, to)
		if !kept {
			return false
		}
	}
	// all reports whether the status of the last of some statements is that of all.
	all := func(list []*syntax.Stmt) bool {
		if !errexit {
			list = list[max(0, len(list)-1):]
		}
		return !slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return !succeeds(s, errexit) })
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.OrStmt:
			return succeeds(c.X, errexit) || succeeds(c.Y, errexit)
		case syntax.AndStmt:
			return succeeds(c.X, errexit) && succeeds(c.Y, errexit)
		default: // the last command of a pipe says it
			return succeeds(c.Y, errexit) || isCat(c.Y)
		}
	case *syntax.IfClause:
		for ; c != nil; c = c.Else { // what a condition says only chooses
			if !all(c.Then) {
				return false
			}
		}
		return true
	case *syntax.ForClause:
		return all(c.Do)
	case *syntax.Subshell:
		return all(c.Stmts)
	case *syntax.Block:
		return all(c.Stmts)
	case *syntax.CallExpr:
		return len(c.Args) > 0 && slices.Contains([]string{"true", ":", "echo", "exit"}, c.Args[0].Lit()) || isSleep(c)
	}
	return false
}

// isCat reports whether a statement only passes on what it is given.
func isCat(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && !s.Negated && len(s.Redirs) == 0 && len(c.Args) == 1 && c.Args[0].Lit() == "cat"
}

// isSleep reports whether a command only waits.
func isSleep(c *syntax.CallExpr) bool {
	return len(c.Args) == 2 && c.Args[0].Lit() == "sleep" && duration.MatchString(c.Args[1].Lit())
}

// duration is what every "sleep" takes.
var duration = lazyregexp.New(`^[0-9]+[smhd]?$`)
