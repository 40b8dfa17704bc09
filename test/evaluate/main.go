package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// testCase is one mistake that somebody mended.
type testCase struct {
	Repository string `json:"repository"`
	Bad        string `json:"bad"`
	Good       string `json:"good"`
	Class      string `json:"class"`
	Fact       string `json:"fact"`
	// Scenario in test/scenarios is the same in a few lines.
	Scenario string `json:"scenario"`
	Expect   expect `json:"expect"`
	// Order names two components of the environment: the order that is computed
	// from the edges must have the first before the second at both commits, as far
	// as both are there and the second still requires it.
	Order       []string `json:"order"`
	Environment string   `json:"environment"`
	// Released is set where the repair took the requirement away.
	Released bool `json:"released"`
}

// expect says which finding is the mistake: any of the rules, with texts that
// component, provider and resource contain.
type expect struct {
	Rules     []string `json:"rules"`
	Component string   `json:"component"`
	Provider  string   `json:"provider"`
	Resource  string   `json:"resource"`
}

func (e expect) matches(f finding.Finding) bool {
	return slices.Contains(e.Rules, f.Rule) && strings.Contains(f.Component, e.Component) &&
		(e.Provider == "" || strings.Contains(f.Provider, e.Provider)) && strings.Contains(f.Resource.String(), e.Resource)
}

// linted is what `ladder lint --format json` says.
type linted struct {
	Findings []finding.Finding `json:"findings"`
	Summary  struct {
		Components int             `json:"components"`
		Unrendered int             `json:"unrendered"`
		Coverage   report.Coverage `json:"coverage"`
	} `json:"summary"`
	seconds float64
}

// coverage is the columns that say how much was read: components, Applications that
// were read of those that were found, parts that were not rendered, assumptions.
func (l *linted) coverage() string {
	c := l.Summary.Coverage
	return fmt.Sprintf("%d | %d of %d | %d | %d", l.Summary.Components, c.Applications.Read, c.Applications.Found, l.Summary.Unrendered, len(c.Assumptions))
}

func main() {
	cases := flag.String("cases", "test/evaluate/cases.yaml", "the cases")
	repositories := flag.String("repositories", "", "folder of clones, owner+name; missing ones are cloned")
	binary := flag.String("ladder", "bin/ladder", "the command")
	only := flag.String("only", "", "only cases whose repository contains this text")
	verbose := flag.Bool("findings", false, "list every finding at the bad commit")
	survey := flag.String("survey", "", "lint the newest commit of these repositories instead, owner/name separated by commas")
	readings := flag.String("read", "", "count instead what else is found, by what readers said of it in this file")
	flag.Parse()
	if *readings != "" {
		if err := readAll(context.Background(), os.Stdout, *cases, *readings, *repositories, *binary, *only); err != nil {
			fmt.Fprintln(os.Stderr, "evaluate:", err)
			os.Exit(1)
		}
		return
	}
	if *survey != "" {
		if err := surveyAll(context.Background(), os.Stdout, strings.Split(*survey, ","), *repositories, *binary, *verbose); err != nil {
			fmt.Fprintln(os.Stderr, "evaluate:", err)
			os.Exit(1)
		}
		return
	}
	if err := evaluate(context.Background(), os.Stdout, *cases, *repositories, *binary, *only, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "evaluate:", err)
		os.Exit(1)
	}
}

// readYAML reads a list of entries, and refuses a field that no entry has.
func readYAML[T any](file string) ([]T, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var entries []T
	if err := yaml.UnmarshalStrict(data, &entries); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return entries, nil
}

func evaluate(ctx context.Context, w io.Writer, file, repositories, binary, only string, verbose bool) error {
	cases, err := readYAML[testCase](file)
	if err != nil {
		return err
	}
	e, err := newEvaluator(repositories, binary)
	if err != nil {
		return err
	}
	defer e.close()
	fmt.Fprintln(w, "| repository | commit | class | mistake | found | absent at the other commit | computed order | components | read | not rendered | assumed | errors | warnings | seconds |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, c := range cases {
		if !strings.Contains(c.Repository, only) {
			continue
		}
		bad, err := e.lint(ctx, c.Repository, c.Bad)
		if err != nil {
			return err
		}
		good, err := e.lint(ctx, c.Repository, c.Good)
		if err != nil {
			return err
		}
		order, err := e.order(ctx, c)
		if err != nil {
			return err
		}
		found, absent := pick(bad.Findings, c.Expect), pick(good.Findings, c.Expect)
		fmt.Fprintf(w, "| %s | `%.8s` | %s | %s | %s | %s | %s | %s | %d | %d | %.1f |\n", c.Repository, c.Bad, c.Class, c.Fact,
			describe(found), describeAbsent(absent), order, bad.coverage(),
			count(bad.Findings, finding.Error), count(bad.Findings, finding.Warning), bad.seconds)
		if verbose {
			list(w, bad.Findings)
		}
	}
	return nil
}

func list(w io.Writer, all []finding.Finding) {
	for _, f := range all {
		fmt.Fprintf(w, "    %s %s %s [%s] %s -> %s: %s (%s)\n", f.Severity, f.Rule, f.Scope, f.Environment, f.Component, f.Provider, f.Message, f.Position)
	}
}

// surveyAll lints the newest commits of repositories that no case is about.
func surveyAll(ctx context.Context, w io.Writer, names []string, repositories, binary string, verbose bool) error {
	e, err := newEvaluator(repositories, binary)
	if err != nil {
		return err
	}
	defer e.close()
	fmt.Fprintln(w, "| repository | components | read | not rendered | assumed | errors | warnings | by rule | seconds |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, name := range names {
		l, err := e.lint(ctx, name, "HEAD")
		if err != nil {
			fmt.Fprintf(w, "| %s | refused: %s | | | | | | | |\n", name, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", " "))
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %d | %d | %s | %.1f |\n", name, l.coverage(),
			count(l.Findings, finding.Error), count(l.Findings, finding.Warning), byRule(l.Findings), l.seconds)
		if verbose {
			list(w, l.Findings)
		}
	}
	return nil
}

// byRule counts errors and warnings by rule.
func byRule(all []finding.Finding) string {
	n := map[string]int{}
	for _, f := range all {
		if f.Severity != finding.Info {
			n[f.Rule]++
		}
	}
	var parts []string
	for _, rule := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%d `%s`", n[rule], rule))
	}
	return strings.Join(parts, ", ")
}

type evaluator struct {
	binary, repositories, scratch string
	seen                          map[string]*linted
}

func newEvaluator(repositories, binary string) (*evaluator, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "ladder-evaluate-")
	if err != nil {
		return nil, err
	}
	return &evaluator{binary: binary, repositories: repositories, scratch: scratch, seen: map[string]*linted{}}, nil
}

func (e *evaluator) close() { _ = os.RemoveAll(e.scratch) }

// lint checks a commit out and lints it, offline: what cannot be fetched is not
// judged.
func (e *evaluator) lint(ctx context.Context, repository, commit string) (*linted, error) {
	key := repository + "@" + commit
	if l, ok := e.seen[key]; ok {
		return l, nil
	}
	folder, err := e.checkOut(ctx, repository, commit)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, e.binary, "lint", folder, "-e", "all", "--offline", "--format", "json", "--fail-on", "none", "--progress", "none")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("lint %s: %w\n%s", key, err, stderr.String())
	}
	l := &linted{seconds: time.Since(began).Seconds()}
	if err := json.Unmarshal(stdout.Bytes(), l); err != nil {
		return nil, fmt.Errorf("lint %s: %w", key, err)
	}
	for _, f := range l.Findings { // cases and readings name each by itself
		l.Findings = append(l.Findings, f.Also...)
	}
	e.seen[key] = l
	return l, os.RemoveAll(folder)
}

// order says whether the order computed from the edges is right at both commits,
// whatever the numbers of the repository say.
func (e *evaluator) order(ctx context.Context, c testCase) (string, error) {
	if len(c.Order) != 2 {
		return "-", nil
	}
	commits := []string{c.Bad, c.Good}
	if c.Released {
		commits = commits[:1]
	}
	for _, commit := range commits {
		folder, err := e.checkOut(ctx, c.Repository, commit)
		if err != nil {
			return "", err
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, e.binary, "plan", folder, "-e", c.Environment, "--policy", "edges", "--offline", "--format", "json", "--progress", "none")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		// The order may contradict the numbers, which is the answer no.
		if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
			return "", fmt.Errorf("plan %s@%s: %w\n%s", c.Repository, commit, err, stderr.String())
		}
		var planned struct {
			Order []string `json:"order"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &planned); err != nil {
			return "", fmt.Errorf("plan %s@%s: %w", c.Repository, commit, err)
		}
		first, second := slices.Index(planned.Order, c.Order[0]), slices.Index(planned.Order, c.Order[1])
		if first < 0 || second < 0 || first > second {
			return "wrong at `" + commit[:8] + "`", nil
		}
		if err := os.RemoveAll(folder); err != nil {
			return "", err
		}
	}
	return "right", nil
}

func (e *evaluator) checkOut(ctx context.Context, repository, commit string) (string, error) {
	clone := filepath.Join(e.repositories, strings.ReplaceAll(repository, "/", "+"))
	if bare := filepath.Join(clone, "repo"); isFolder(bare) {
		clone = bare
	}
	if !isFolder(clone) {
		if err := git(ctx, "clone", "--quiet", "https://github.com/"+repository, clone); err != nil {
			return "", err
		}
	}
	folder := filepath.Join(e.scratch, strings.ReplaceAll(repository, "/", "+")+"-"+commit[:min(len(commit), 8)])
	if err := git(ctx, "clone", "--quiet", "--shared", "--no-checkout", clone, folder); err != nil {
		return "", err
	}
	return folder, git(ctx, "-C", folder, "-c", "advice.detachedHead=false", "checkout", "--quiet", commit)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func git(ctx context.Context, args ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return errors.Join(fmt.Errorf("git %s: %w", strings.Join(args, " "), err), errors.New(stderr.String()))
	}
	return nil
}

// pick chooses the findings that are the mistake, errors first.
func pick(all []finding.Finding, e expect) []finding.Finding {
	var found []finding.Finding
	for _, f := range all {
		if e.matches(f) {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b finding.Finding) int { return cmp.Compare(a.Severity.Rank(), b.Severity.Rank()) })
	return found
}

func describe(found []finding.Finding) string {
	if len(found) == 0 {
		return "no"
	}
	f := found[0]
	text := fmt.Sprintf("%s `%s` %s", f.Severity, f.Rule, f.Component)
	if f.Provider != "" && f.Provider != f.Component {
		text += " → " + f.Provider
	}
	if len(found) > 1 {
		text += fmt.Sprintf(" and %d more", len(found)-1)
	}
	return text
}

func describeAbsent(found []finding.Finding) string {
	if len(found) == 0 {
		return "yes"
	}
	return "no: " + describe(found)
}

func count(all []finding.Finding, s finding.Severity) int {
	n := 0
	for _, f := range all {
		if f.Severity == s {
			n++
		}
	}
	return n
}
