package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// isExplicit reports whether a statement says that failures do not count. Text that is
// printed at the end of a script says no such thing, nor does a pause.
func isExplicit(s *syntax.Stmt) bool {
	var list []*syntax.Stmt
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return c.Args[0].Lit() != "echo" && !isSleep(c)
	case *syntax.Subshell:
		list = c.Stmts
	case *syntax.Block:
		list = c.Stmts
	case *syntax.ForClause:
		list = c.Do
	default:
		return succeeds(s, true)
	}
	return len(list) > 0 && isExplicit(list[len(list)-1])
}

// answering are commands that ask once and end by themselves. What any other waits for may
// never come, which is a test as well: a Job that does not end is not Healthy.
var answering = []string{
	"[", "test", "true", "false", ":", "echo", "printf", "sleep", "exit", "break", "continue", "set", "export", "cd", "date", "seq",
	"curl", "wget", "nslookup", "dig", "host", "getent", "pg_isready", "grep", "egrep", "sed", "awk", "cut", "tr", "sort", "head", "jq", "tee", "cat",
}

// answers reports whether every command of a script ends by itself.
func answers(file *syntax.File) bool {
	all := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			all = all && (len(n.Args) == 0 || answersCall(n))
		case *syntax.ProcSubst, *syntax.TestClause, *syntax.DeclClause:
			all = false
		}
		return all
	})
	return all
}

// answersCall reports whether a command ends by itself. kubectl does where it reads once, or
// waits with the limit that its "wait" has.
func answersCall(c *syntax.CallExpr) bool {
	name := c.Args[0].Lit()
	if name != "kubectl" {
		return slices.Contains(answering, name) && (name != "sleep" || isSleep(c))
	}
	if len(c.Args) < 2 || !slices.Contains([]string{"get", "describe", "wait", "version"}, c.Args[1].Lit()) {
		return false
	}
	return !slices.ContainsFunc(c.Args[2:], func(w *syntax.Word) bool {
		text := w.Lit()
		return text == "" || strings.HasPrefix(text, "-w") || strings.HasPrefix(text, "--watch") || strings.HasPrefix(text, "--timeout=-")
	})
}
