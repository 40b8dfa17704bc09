package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// verdict is what a reader made of a finding after trying to refute it.
type verdict string

// The verdicts.
const (
	isTrue verdict = "true"
	// isArguable is true in the letter; its owner may say that it does not matter,
	// or it hangs on something outside the repository.
	isArguable verdict = "arguable"
	isFalse    verdict = "false"
	// isGone is not found any more: what was wrong with it is mended.
	isGone verdict = "gone"
	unread verdict = "unread"
)

// reading is what a reader made of errors and warnings of one rule, beside the
// mistakes of the cases.
type reading struct {
	Repository string  `json:"repository"`
	Rule       string  `json:"rule"`
	Verdict    verdict `json:"verdict"`
	// Before is what the reader made of them first, where that was mended since.
	Before   verdict `json:"before"`
	Why      string  `json:"why"`
	Findings []named `json:"findings"`
}

// named tells one finding of a rule from the others. An empty provider or
// resource is that of any.
type named struct {
	Component string `json:"component"`
	Provider  string `json:"provider"`
	Resource  string `json:"resource"`
}

func (r reading) fits(repository string, f finding.Finding) bool {
	return r.Repository == repository && r.Rule == f.Rule && slices.ContainsFunc(r.Findings, func(n named) bool {
		return n.Component == f.Component && (n.Provider == "" || n.Provider == f.Provider) && (n.Resource == "" || n.Resource == f.Resource.String())
	})
}

// tally counts the different findings of a repository at all commits of its cases.
type tally struct {
	commits    map[string]bool
	components int // at the commit that has most
	mistakes   int // those of the cases
	by         map[verdict]int
	wrong      int // were false before
	unread     []finding.Finding
}

// readAll lints the commits of all cases and counts every different error and
// warning once for each repository.
func readAll(ctx context.Context, w io.Writer, casesFile, readingsFile, repositories, binary, only string) error {
	cases, err := readYAML[testCase](casesFile)
	if err != nil {
		return err
	}
	readings, err := readYAML[reading](readingsFile)
	if err != nil {
		return err
	}
	e, err := newEvaluator(repositories, binary)
	if err != nil {
		return err
	}
	defer e.close()
	var names []string
	for _, c := range cases {
		if strings.Contains(c.Repository, only) && !slices.Contains(names, c.Repository) {
			names = append(names, c.Repository)
		}
	}
	fmt.Fprintln(w, "| repository | commits | components | mistakes of the cases | other findings | true | arguable | false | false in 100 components | false before |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	total := tally{by: map[verdict]int{}}
	var left []string
	commits := 0
	for _, name := range names {
		t, err := e.tally(ctx, name, cases, readings)
		if err != nil {
			return err
		}
		t.print(w, name, len(t.commits))
		commits += len(t.commits)
		total.components += t.components
		total.mistakes += t.mistakes
		total.wrong += t.wrong
		for v, n := range t.by {
			total.by[v] += n
		}
		for _, f := range t.unread {
			left = append(left, fmt.Sprintf("%s: %s %s %s -> %s %s: %s (%s)", name, f.Severity, f.Rule, f.Component, f.Provider, f.Resource, f.Message, f.Position))
		}
	}
	total.print(w, "all", commits)
	if len(left) > 0 {
		return fmt.Errorf("nobody has read:\n%s", strings.Join(left, "\n"))
	}
	return nil
}

func (e *evaluator) tally(ctx context.Context, repository string, cases []testCase, readings []reading) (tally, error) {
	t := tally{commits: map[string]bool{}, by: map[verdict]int{}}
	type same struct{ rule, component, provider, resource string }
	seen := map[same]bool{}
	var expected []expect
	for _, c := range cases {
		if c.Repository == repository {
			expected = append(expected, c.Expect)
		}
	}
	for _, r := range readings {
		if r.Repository == repository && r.Verdict == isGone && r.Before == isFalse {
			t.wrong += len(r.Findings)
		}
	}
	for _, c := range cases {
		if c.Repository != repository {
			continue
		}
		for _, commit := range []string{c.Bad, c.Good} {
			l, err := e.lint(ctx, repository, commit)
			if err != nil {
				return t, err
			}
			t.commits[commit] = true
			t.components = max(t.components, l.Summary.Components)
			for _, f := range l.Findings {
				key := same{f.Rule, f.Component, f.Provider, f.Resource.String()}
				if f.Severity == finding.Info || seen[key] {
					continue
				}
				seen[key] = true
				i := slices.IndexFunc(readings, func(r reading) bool { return r.Verdict != isGone && r.fits(repository, f) })
				if slices.ContainsFunc(expected, func(e expect) bool { return e.matches(f) }) && (i < 0 || readings[i].Verdict != isFalse) {
					t.mistakes++
					continue
				}
				if i < 0 {
					t.by[unread]++
					t.unread = append(t.unread, f)
					continue
				}
				t.by[readings[i].Verdict]++
				if readings[i].Before == isFalse {
					t.wrong++
				}
			}
		}
	}
	return t, nil
}

func (t tally) print(w io.Writer, name string, commits int) {
	others := t.by[isTrue] + t.by[isArguable] + t.by[isFalse] + t.by[unread]
	rate := 0.0
	if t.components > 0 {
		rate = 100 * float64(t.by[isFalse]) / float64(t.components)
	}
	fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %d | %d | %d | %.1f | %d |\n", name, commits, t.components, t.mistakes, others,
		t.by[isTrue], t.by[isArguable], t.by[isFalse], rate, t.wrong)
}
