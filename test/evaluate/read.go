package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
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
	// isMended was false, and is not found any more.
	isMended verdict = "mended"
	unread   verdict = "unread"
)

// reading is what a reader made of errors and warnings beside the mistakes of the
// cases. The first that fits a finding counts.
type reading struct {
	Repository string `json:"repository"`
	Rule       string `json:"rule"`
	// Component, Provider and Resource are patterns of path.Match; none fits all.
	Component string  `json:"component"`
	Provider  string  `json:"provider"`
	Resource  string  `json:"resource"`
	Verdict   verdict `json:"verdict"`
	Why       string  `json:"why"`
}

func (r reading) fits(repository string, f finding.Finding) bool {
	return r.Repository == repository && r.Rule == f.Rule && fits(r.Component, f.Component) && fits(r.Provider, f.Provider) && fits(r.Resource, f.Resource.String())
}

func fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	// A slash is nothing special here.
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(text, "/", "|"))
	return err == nil && ok
}

// tally counts the different findings of a repository at all commits of its cases.
type tally struct {
	commits    map[string]bool
	components int // at the commit that has most
	mistakes   int // those of the cases
	by         map[verdict]int
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
		if r.Repository == repository && r.Verdict == isMended {
			t.by[isMended]++
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
				if slices.ContainsFunc(expected, func(e expect) bool { return e.matches(f) }) {
					t.mistakes++
					continue
				}
				v := unread
				if i := slices.IndexFunc(readings, func(r reading) bool { return r.Verdict != isMended && r.fits(repository, f) }); i >= 0 {
					v = readings[i].Verdict
				} else {
					t.unread = append(t.unread, f)
				}
				t.by[v]++
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
		t.by[isTrue], t.by[isArguable], t.by[isFalse], rate, t.by[isMended])
}
