package byhand

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// choice is a condition in a script, with the scripts that each of its branches runs.
type choice struct {
	position finding.Position
	branches [][]string
	// runs are all that its script runs, whatever the condition.
	runs []string
}

const (
	// maxNested bounds the conditions around a command, maxRuns the scripts that one runs.
	maxNested = 20
	maxRuns   = 500
)

// keyword matches a command of a shell that begins with a word of a condition.
var keyword = lazyregexp.New(`^(if|then|elif|else|fi)(?:\s+|$)`)

// choicesOf are the conditions of a script that have another branch.
func choicesOf(tree *repofs.Tree, t text) []choice {
	var all []choice
	var open []*choice
	var runs []string
	for i, line := range strings.Split(string(t.content), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for part := range strings.SplitSeq(line, ";") {
			part = strings.TrimSpace(part)
			for m := keyword.FindStringSubmatch(part); m != nil; m = keyword.FindStringSubmatch(part) {
				part = part[len(m[0]):]
				switch {
				case m[1] == "if":
					open = append(open, &choice{position: finding.Position{File: t.file, Line: i + 1}})
				case len(open) == 0 || len(open) > maxNested:
					return nil // it is no shell's
				case m[1] == "then" || m[1] == "else":
					last := open[len(open)-1]
					last.branches = append(last.branches, nil)
				case m[1] == "fi":
					last := open[len(open)-1]
					if open = open[:len(open)-1]; len(last.branches) > 1 {
						all = append(all, *last)
					}
				}
			}
			word, _, _ := strings.Cut(unquoted.Replace(part), " ")
			if !isScript(path.Base(word)) {
				continue
			}
			file := find(word, tree.IsFile, ".", path.Dir(t.file))
			if runs = append(runs, file); len(runs) > maxRuns {
				return nil
			}
			for _, c := range open {
				if n := len(c.branches); n > 0 {
					c.branches[n-1] = append(c.branches[n-1], file)
				}
			}
		}
	}
	for i := range all {
		all[i].runs = runs
	}
	return all
}

// Either is where a script chooses between another one and one that has Argo CD or Helm apply a chart
// of the repository, by its folder.
func (told *Told) Either(file, chart string) (finding.Position, bool) {
	source := regexp.MustCompile(`(?m)^\s*path:\s*["']?(?:\./)?` + regexp.QuoteMeta(chart) + `/?["']?\s*$`)
	known := map[string]bool{}
	applies := func(script string) bool {
		if _, ok := known[script]; !ok {
			known[script] = source.Match(told.scripts[script]) || slices.ContainsFunc(told.Folders, func(one Instruction) bool { return one.Address == chart && one.Position.File == script })
		}
		return known[script]
	}
	is := func(script string) bool { return script == file }
	for _, c := range told.choices {
		one, other := branchOf(c, is), branchOf(c, applies)
		if one >= 0 && other >= 0 && one != other {
			return c.position, true
		}
	}
	return finding.Position{}, false
}

// branchOf is the branch that runs all the scripts of some kind that are run at all; -1 where none does.
func branchOf(c choice, is func(script string) bool) int {
	count := func(scripts []string) (n int) {
		for _, one := range scripts {
			if is(one) {
				n++
			}
		}
		return n
	}
	all := count(c.runs)
	return slices.IndexFunc(c.branches, func(scripts []string) bool { return all > 0 && count(scripts) == all })
}
