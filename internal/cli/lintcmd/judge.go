package lintcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/cli/flags"
	"github.com/rollout-ladder/ladder/internal/cli/progress"
	"github.com/rollout-ladder/ladder/internal/cli/source"
	"github.com/rollout-ladder/ladder/internal/cli/stream"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/patch"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// preferred is the environment that is linted where several exist and none is
// named, as every other command does.
const preferred = "dev"

// judgement is what lint found in the environments of a platform.
type judgement struct {
	tree         *repofs.Tree
	environments []string
	inputs       []lint.Input
	settings     lint.Options
	unrendered   []report.Unrendered
	// complete is set when every environment was judged by every rule.
	complete bool
	// broken are the environments that cannot be read, where others can.
	broken error
	// aside says which environments were not linted; it follows the verdict.
	aside string

	findings   []finding.Finding
	suppressed []lint.Suppressed
	known      int
}

// judge loads and lints the environments that the arguments mean.
func judge(ctx context.Context, streams *stream.Streams, global *flags.Global, o *Options) (*judgement, error) {
	options := source.KeysOnly(o.Source)
	display := progress.New(streams, global, time.Now)
	defer display.Close()
	options.Progress, options.Environment = display.Counted, ""
	display.Stage("reading " + o.reading())
	platform, err := analysis.Look(ctx, o.Path, options)
	if err != nil {
		return nil, o.placed(err)
	}
	defer platform.Close()
	existing := platform.Environments()
	chosen := choose(existing, o.Environment)
	if o.revision != nil {
		chosen = slices.DeleteFunc(slices.Clone(existing), func(e string) bool { return !slices.Contains(o.environments, e) })
	}
	if len(chosen) == 0 {
		return &judgement{}, nil // a revision before there were any of these
	}
	j := &judgement{complete: len(chosen) == len(existing) && len(o.Rules) == 0}
	loaded, err := j.load(ctx, o, platform, chosen)
	display.Close()
	if err != nil {
		return nil, err
	}
	if o.Environment == "" && o.revision == nil && len(chosen) < len(existing) {
		others := slices.DeleteFunc(slices.Clone(existing), func(e string) bool { return slices.Contains(chosen, e) })
		j.aside = fmt.Sprintf("only %s is linted, not %s; -e all lints and compares them", strings.Join(chosen, ", "), strings.Join(others, ", "))
	}
	p := loaded[0].Platform
	j.tree = p.Tree()
	j.settings = lint.Options{Rules: lint.All(), Only: o.Rules, Levels: p.Lint.Rules}
	for _, r := range loaded {
		if o.revision != nil {
			if err := o.revision.Lacking(r.Platform); err != nil {
				return nil, err
			}
		}
		in := r.Lint()
		in.Findings = append(withoutUnrendered(in.Findings, r.Unrendered), failures(r, j.tree)...)
		j.inputs = append(j.inputs, in)
		j.environments = append(j.environments, in.Environment)
		for _, u := range session.Unrendered(r) {
			u.Environment = in.Environment
			j.unrendered = append(j.unrendered, u)
		}
		found := lint.Run(in, j.settings)
		precise(r, found)
		j.findings = append(j.findings, found...)
	}
	j.misnamed(p)
	j.compare(p)
	j.suppress(p)
	j.patch()
	finding.Sort(j.findings)
	return j, ctx.Err()
}

// precise gives the evidence of findings the lines of its fields, side by side.
func precise(r *analysis.Result, found []finding.Finding) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(found, 64) {
		group.Go(func() error {
			for i := range part {
				part[i].Evidence = r.Precise(part[i].Evidence)
			}
			return nil
		})
	}
	_ = group.Wait() // nothing fails
}

// choose returns the environments that a name means: all of them, or the only
// one, or dev.
func choose(existing []string, name string) []string {
	switch {
	case name == flags.All:
		return existing
	case name != "":
		return []string{name}
	case slices.Contains(existing, preferred):
		return []string{preferred}
	default:
		return existing
	}
}

// load reads and renders environments. Where several are meant and some cannot be
// read, the others are linted all the same.
func (j *judgement) load(ctx context.Context, o *Options, platform *analysis.Repository, chosen []string) ([]*analysis.Result, error) {
	var loaded []*analysis.Result
	for _, e := range chosen {
		one, err := platform.Load(ctx, e)
		switch {
		case err == nil:
			loaded = append(loaded, one)
		case len(chosen) > 1 && len(repo.InputErrors(err)) > 0:
			j.complete = false
			j.broken = errors.Join(j.broken, fmt.Errorf("environment %s: %w", e, err))
		default:
			return nil, o.placed(err)
		}
	}
	if len(loaded) == 0 {
		return nil, o.placed(j.broken)
	}
	return loaded, nil
}

// misnamed reports settings in ladder.yaml for rules that do not exist.
func (j *judgement) misnamed(p *repo.Platform) {
	ids := lint.IDs(j.settings.Rules)
	var found []finding.Finding
	for _, id := range slices.Sorted(maps.Keys(p.Lint.Rules)) {
		if slices.Contains(ids, id) {
			continue
		}
		f := finding.Finding{
			Rule: ladderfile.RuleUnknown, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared,
			Environment: p.Environment, Position: finding.Position{File: ladderfile.Name},
			Message: fmt.Sprintf("lint.rules names %q, which is no rule", id),
			Fix:     finding.Fix{Summary: cmp.Or(yamldoc.Meant(id, ids), "ladder explain lists the rules")},
		}
		found = append(found, f)
	}
	j.findings = append(j.findings, lint.Settle(found, j.settings)...)
}

// compare adds the differences between environments. They are overlays of the
// same components where the platform says so: by descriptors, or by naming its
// environments in ladder.yaml. In any other repository they may be clusters that
// have little in common.
func (j *judgement) compare(p *repo.Platform) {
	overlays := len(p.Ladder.Environments) > 0 || len(j.inputs[0].Argo.Applications) == 0
	if len(j.inputs) < 2 || !overlays {
		return
	}
	found, hidden, unused := lint.Parity(j.inputs, acceptances(p))
	j.findings = append(j.findings, lint.Settle(found, j.settings)...)
	j.suppressed = append(j.suppressed, hidden...)
	if j.complete {
		j.findings = append(j.findings, lint.Settle(idle(unused), j.settings)...)
	}
}

// patch turns the edits that findings propose into diffs.
func (j *judgement) patch() {
	read := j.reader()
	for i, f := range j.findings {
		if len(f.Fix.Edits) == 0 {
			continue
		}
		if diff, err := patch.Diff(read, f.Fix.Edits); err == nil {
			j.findings[i].Fix.Patch = diff
		}
	}
}

// reader reads each file once.
func (j *judgement) reader() patch.Read {
	type result struct {
		content []byte
		err     error
	}
	known := map[string]result{}
	return func(file string) ([]byte, error) {
		r, ok := known[file]
		if !ok {
			r.content, r.err = j.tree.Read(file)
			known[file] = r
		}
		return r.content, r.err
	}
}

// components of all environments.
func (j *judgement) components() []model.Component {
	var list []model.Component
	for _, in := range j.inputs {
		list = append(list, in.Components...)
	}
	return list
}

// document is what is reported, down to a severity.
func (j *judgement) document(o *Options) report.Lint {
	l := report.Lint{
		Environments: j.environments, Suppressed: j.suppressed, Known: j.known, Baseline: o.NewFrom, Unrendered: j.unrendered, Coverage: j.coverage(),
		Rules: j.settings.Rules, Version: o.Version, Folder: ".", Way: source.Way(o.Path),
	}
	if rel, err := filepath.Rel(j.tree.Repository, j.tree.Root); err == nil {
		l.Folder = filepath.ToSlash(rel)
	}
	for _, in := range j.inputs {
		l.Edges += plan.Pairs(in.Edges)
		l.Components = slices.Grow(l.Components, len(in.Components))
		for _, c := range in.Components {
			if !c.Enabled {
				l.Disabled++
			}
			l.Components = append(l.Components, report.ListedComponent{
				Name: c.Name, Environment: in.Environment, Order: c.Order(), Source: c.Position.File,
			})
		}
	}
	repairs := lint.OneReason(lint.OneRepair(j.findings))
	l.Findings = make([]finding.Finding, 0, len(repairs))
	for _, f := range repairs {
		if f.Severity.Rank() > finding.Severity(o.Severity).Rank() {
			l.Milder++
			continue
		}
		l.Findings = append(l.Findings, f)
	}
	return l
}
