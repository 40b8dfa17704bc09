package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/report"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/kube/smoke"
)

// group is a part of the platform that is waited for as one: a band, or a sync
// wave.
type group struct {
	name       string
	components []model.Component
}

// groups are the parts of a platform in the order of its ladder.
func groups(all []model.Component, bands []plan.Band, wanted []Path) []group {
	var out []group
	for _, c := range all {
		if !c.Enabled || c.PreArgo {
			continue
		}
		name := "wave " + c.Order()
		switch {
		case c.Order() == "":
			name = "no place"
		case len(c.Waves) == 0 && c.Phase == model.NoPhase:
			name = c.Order() // a RollingSync step
		}
		if c.Phase != model.NoPhase && len(c.Waves) == 0 {
			name = "phase " + c.Order()
			if i := slices.IndexFunc(bands, func(b plan.Band) bool { return b.From <= c.Phase && c.Phase <= b.To }); i >= 0 {
				name = bands[i].Name
			}
		}
		if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(p Path) bool { return p.Path == name }) {
			continue
		}
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, group{name: name})
		}
		last := &out[len(out)-1]
		last.components = append(last.components, c)
	}
	return out
}

// lookEvery is how often the Applications are looked at while nothing is told of
// them: grace and the end of the time pass without an event.
const lookEvery = time.Second

// rootGroup stands for what was applied by hand.
const rootGroup = "root"

// stagePlatform waits for the bands and their smokes in the order of the ladder.
func (r *run) stagePlatform(ctx context.Context, s *report.BootstrapStage) error {
	w := r.options.Config.Wait
	list := groups(r.sources.platform.Components, r.sources.platform.Ladder.Bands, w.Bands)
	if w.Skip || r.options.DryRun {
		s.State = report.StageSkipped
		s.Message = "the configuration waits for nothing"
		if !w.Skip {
			s.Message = fmt.Sprintf("would wait for %s", names(list))
		}
		return nil
	}
	if w.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Timeout)
		defer cancel()
	}
	f := &follower{run: r, stage: s, since: map[string]moment{}, refs: map[string]status.Ref{}}
	if err := f.open(ctx); err != nil {
		return err
	}
	defer f.watcher.Close()
	// A parent that applies its children wave by wave is done after them.
	if f.root = f.roots(); len(f.root.components) > 0 {
		list = append(list, f.root)
	}
	// What was green may cease to be while the rest comes up: the last round finds
	// all of it green.
	for sure := false; !sure; {
		sure = true
		for _, g := range list {
			waited, err := f.await(ctx, g)
			if err != nil {
				return err
			}
			sure = sure && !waited
		}
	}
	s.Message = fmt.Sprintf("%d Applications are Healthy: %s", f.count(list), names(list))
	return nil
}

func names(list []group) string {
	var out []string
	for _, g := range list {
		out = append(out, g.name)
	}
	return strings.Join(out, ", ")
}

// follower waits for Applications.
type follower struct {
	run     *run
	stage   *report.BootstrapStage
	watcher *status.Watcher
	refs    map[string]status.Ref
	// since is when what keeps an Application was first seen.
	since map[string]moment
	// smoked are the groups whose smokes have held.
	smoked map[string]bool
	// root are the Applications that were applied by hand.
	root group
	told string
}

type moment struct {
	what string
	at   time.Time
}

// open begins to watch the Applications, which have the names of their
// components, and those that were applied by hand.
func (f *follower) open(ctx context.Context) error {
	f.smoked = map[string]bool{}
	for _, c := range f.run.sources.platform.Components {
		if c.Enabled && !c.PreArgo {
			f.refs[c.Name] = status.Ref{Namespace: f.run.sources.namespace, Name: c.Name}
		}
	}
	for _, o := range f.run.sources.root {
		if o.GetKind() == "Application" {
			f.refs[o.GetName()] = status.Ref{Namespace: o.GetNamespace(), Name: o.GetName()}
		}
	}
	var err error
	f.watcher, err = status.New(status.Config{
		REST: f.run.access.REST, Namespace: f.run.sources.namespace, Applications: f.refs, Mode: status.Follow, Clock: f.run.options.Clock,
	})
	if err != nil {
		return err
	}
	if err := f.watcher.Start(ctx); err != nil {
		f.watcher.Close()
		return fmt.Errorf("watch the Applications: %w", err)
	}
	return nil
}

// roots are the Applications that were applied by hand.
func (f *follower) roots() group {
	g := group{name: rootGroup}
	for _, o := range f.run.sources.root {
		if o.GetKind() == "Application" {
			g.components = append(g.components, model.Component{Name: o.GetName(), Position: o.Origin.Position()})
		}
	}
	return g
}

// await waits until all of a group is Healthy and its smokes hold. waited is set
// where that was not so at once.
func (f *follower) await(ctx context.Context, g group) (waited bool, err error) {
	r := f.run
	for {
		waiting, hopeless := f.look(g)
		if len(waiting) == 0 {
			break
		}
		waited = true
		f.stage.Waiting = waiting
		f.tell(g, waiting)
		if hopeless {
			return waited, &WaitError{Waiting: waiting, For: "Healthy"}
		}
		if err := engine.Pause(ctx, r.options.Clock, lookEvery); err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return waited, &WaitError{Waiting: waiting, Late: true, For: "Healthy"}
			}
			return waited, err
		}
	}
	f.stage.Waiting = []report.BootstrapWait{}
	if r.options.Config.Wait.NoSmokes || (f.smoked[g.name] && !waited) {
		return waited, nil
	}
	var suites []smoke.Suite
	for _, c := range g.components {
		if len(c.Smoke) > 0 {
			suites = append(suites, smoke.Suite{Component: c.Name, Checks: c.Smoke})
		}
	}
	if err := r.smokes(ctx, f.stage, suites, r.options.Config.Wait.Grace); err != nil {
		return waited, fmt.Errorf("smokes of %s: %w", g.name, err)
	}
	f.smoked[g.name] = true
	r.note("%s: all %d Healthy", g.name, len(g.components))
	return waited, nil
}

// tell says how far a group is, when that has changed.
func (f *follower) tell(g group, waiting []report.BootstrapWait) {
	text := fmt.Sprintf("%s: %d to wait for; %s: %s", g.name, len(waiting), waiting[0].What, waiting[0].Reason)
	if text != f.told {
		f.told = text
		f.run.note("%s", text)
	}
}

// look finds what of a group is not Healthy. hopeless is set where something has
// been wrong for longer than the grace, without a change.
func (f *follower) look(g group) (waiting []report.BootstrapWait, hopeless bool) {
	now := f.run.options.Clock.Now()
	all := g.components
	if g.name != rootGroup && slices.ContainsFunc(all, func(c model.Component) bool { return f.watcher.Application(f.refs[c.Name]) == nil }) {
		// What keeps the parent keeps the children from being made.
		all = slices.Concat(f.root.components, all)
	}
	for _, c := range all {
		j := f.watcher.Judge(f.refs[c.Name])
		if j.Health == rollout.Healthy && j.Code == status.None || isRoot(f.root, c.Name) && j.Code == status.ObjectHealth {
			delete(f.since, c.Name)
			continue
		}
		reason := f.reason(c.Name, j)
		wrong := j.Final || j.Health == rollout.Degraded || isWrong(j.Code)
		if m := f.since[c.Name]; !wrong {
			delete(f.since, c.Name)
		} else if m.what != reason {
			f.since[c.Name] = moment{reason, now}
		} else if now.Sub(m.at) >= f.run.options.Config.Wait.Grace {
			hopeless = true
		}
		waiting = append(waiting, report.BootstrapWait{What: "Application " + c.Name, Reason: reason, Declared: declared(c.Position)})
	}
	return waiting, hopeless
}

// isRoot reports whether an Application was applied by hand. As a parent it is as
// healthy as its children, which are asked themselves.
func isRoot(root group, name string) bool {
	return slices.ContainsFunc(root.components, func(c model.Component) bool { return c.Name == name })
}

// isWrong reports whether Argo CD does not go on without somebody's help.
func isWrong(code status.Code) bool {
	switch code {
	case status.InvalidSpec, status.CannotCompare, status.OperationFailed, status.AutoSyncOff:
		return true
	default:
		return false
	}
}

// reason words why an Application is not Healthy, with its root cause.
func (f *follower) reason(name string, j status.Judgement) string {
	causes := f.watcher.Why(name)
	if len(causes) == 0 {
		return cmp.Or(j.Message, "is "+string(j.Health))
	}
	text := cmp.Or(causes[len(causes)-1].Message, j.Message, "is "+string(j.Health))
	if len(causes) > 1 {
		text += " (" + causes[0].String() + ")"
	}
	return text
}

func (f *follower) count(list []group) int {
	n := 0
	for _, g := range list {
		n += len(g.components)
	}
	return n
}

// smokeInterval is the pause between two rounds of smoke checks.
const smokeInterval = 2 * time.Second

// smokes asks smoke checks until all hold, as long as ctx allows, or until the
// patience is over, where it is set: what they are about is Healthy then.
func (r *run) smokes(ctx context.Context, s *report.BootstrapStage, suites []smoke.Suite, patience time.Duration) error {
	suites = slices.DeleteFunc(suites, func(s smoke.Suite) bool { return len(s.Checks) == 0 })
	if len(suites) == 0 {
		return nil
	}
	client, err := smoke.Connect(r.access.REST, r.options.Clock.Now)
	if err != nil {
		return err
	}
	left, late := patience, false
	if deadline, ok := ctx.Deadline(); ok && (patience <= 0 || time.Until(deadline) < patience) {
		left, late = time.Until(deadline), true
	}
	told := ""
	answers, _, err := smoke.RunSuites(ctx, client, suites, smoke.Options{
		Simulated: r.access.Simulated, Now: r.options.Clock.Now, Dial: smoke.Forwarder(r.access.REST, client),
	}, smoke.Waiting{Timeout: left, Interval: smokeInterval, Clock: r.options.Clock, Round: func(answers []smoke.Answer) {
		if waiting := failing(answers); len(waiting) > 0 && waiting[0].Reason != told {
			told = waiting[0].Reason
			r.note("%d of %d smoke checks hold; %s: %s", len(answers)-len(waiting), len(answers), waiting[0].What, told)
		}
	}})
	waiting := failing(answers)
	if len(waiting) == 0 {
		return err
	}
	s.Waiting = waiting
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &WaitError{Waiting: waiting, Late: late || err != nil, For: "as declared"}
}

func failing(answers []smoke.Answer) []report.BootstrapWait {
	var out []report.BootstrapWait
	for _, a := range answers {
		if !a.OK {
			out = append(out, report.BootstrapWait{What: a.Component + ": " + a.Check.String(), Reason: a.Message, Declared: declared(a.Check.Position)})
		}
	}
	return out
}
