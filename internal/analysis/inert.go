package analysis

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// inert reports whether a Job or Pod certainly ends with 0, whatever the commands in it say,
// and nothing keeps it from starting.
func inert(o manifest.Object) bool {
	if kind := o.GetKind(); kind != "Job" && kind != "Pod" {
		return false
	}
	pod, _, err := unstructured.NestedMap(o.Object, pods[o.GetKind()]...)
	if err != nil || isDemanding(pod) {
		return false
	}
	some := false
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, item := range containers {
			container, _ := item.(map[string]any)
			if !ends(container) {
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

// ends reports whether the command of a container ends with 0 in any case.
func ends(container map[string]any) bool {
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
		return ok && strings.Trim(options, "celx") == "" && endsScript(text, strings.Contains(options, "e"))
	}
	return false
}

// stops are commands by which a script ends early, or runs other text.
var stops = []string{
	"set", "exec", "return", "trap", "kill", "source", ".", "eval", "break", "continue", "shift", "wait", "unset", "alias", "shopt", "command", "builtin",
}

// endsScript reports whether a script of a shell ends with 0 whatever its commands say: it
// says so itself, with "|| true" or "exit 0" at its end, or all that it runs succeeds.
// errexit is set where the first command that fails ends it. Of a script with more than
// simple commands, "if", and "&&", "||" and "|" between them nothing is said.
func endsScript(script string, errexit bool) bool {
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
		if !isSimple(s) {
			return false
		}
		if !succeeds(s) {
			if errexit {
				return false
			}
			all = false
		}
	}
	last := file.Stmts[len(file.Stmts)-1]
	return all || succeeds(last) && isExplicit(last)
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
// where it is not the failure of a command that ends it.
func isSimple(s *syntax.Stmt) bool {
	if s.Background || s.Coprocess {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return isSimple(c.X) && isSimple(c.Y)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if !every(c.Cond, isSimple) || !every(c.Then, isSimple) {
				return false
			}
		}
		return true
	case *syntax.CallExpr:
		if mayFail(s) {
			return false
		}
		if len(c.Args) == 0 {
			return true
		}
		name := c.Args[0].Lit()
		if name == "exit" {
			return len(c.Args) == 2 && c.Args[1].Lit() == "0"
		}
		return name != "" && !slices.Contains(stops, name) && (name != ":" || len(s.Redirs) == 0)
	}
	return false
}

// every reports whether a test holds for all of some statements.
func every(all []*syntax.Stmt, holds func(*syntax.Stmt) bool) bool {
	return !slices.ContainsFunc(all, func(s *syntax.Stmt) bool { return !holds(s) })
}

// mayFail reports whether a shell may end where it fills something in.
func mayFail(s *syntax.Stmt) bool {
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
// that fails ends the script.
func succeeds(s *syntax.Stmt) bool {
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
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.OrStmt:
			return succeeds(c.X) || succeeds(c.Y)
		case syntax.AndStmt:
			return succeeds(c.X) && succeeds(c.Y)
		default: // the last command of a pipe says it
			return succeeds(c.Y) || isCat(c.Y)
		}
	case *syntax.IfClause:
		for ; c != nil; c = c.Else { // what a condition says only chooses
			if !every(c.Then, succeeds) {
				return false
			}
		}
		return true
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

// isExplicit reports whether a statement says that failures do not count. Text that is
// printed at the end of a script says no such thing, nor does a pause.
func isExplicit(s *syntax.Stmt) bool {
	c, isCall := s.Cmd.(*syntax.CallExpr)
	return !isCall || c.Args[0].Lit() != "echo" && !isSleep(c)
}
