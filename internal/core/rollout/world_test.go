package rollout

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	revision    = "r2"
	oldRevision = "r1"
)

var epoch = time.Unix(1_700_000_000, 0).UTC()

// nature is how a simulated component behaves.
type nature struct {
	syncTakes, readyTakes int // seconds
	failFirst             int // syncs that fail before one works; never: all
	finalError            bool
	sickFirst             int // attempts that never become Healthy; never: all
	sickness              Health
	finalSickness         bool
	flaps                 int
	before                string // revision it is Healthy at before the rollout; "" absent
}

const never = 1 << 30

// bad reports whether the component can never become Healthy.
func (n nature) bad(limit int) bool {
	return n.failFirst == never || n.sickFirst == never || n.failFirst > 0 && n.finalError ||
		limit >= 0 && n.failFirst+n.sickFirst > limit
}

// scene is a rollout and what happens to it.
type scene struct {
	spec    Spec
	natures []nature
	// calm scenes have nothing that depends on timing, so that their end can be
	// predicted: no flaps, no tight timeouts, no abort.
	calm bool
	// earlier is what earlier rollouts applied; leaving is how what vanished of it
	// behaves when it is deleted, in the order of spec.Remove.
	earlier []Applied
	leaving []leaving
	crashes float64 // probability per event
	noise   float64 // probability of duplicates, stale and late observations
	users   bool    // pauses, aborts, retries
}

func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// drawScene makes a random rollout of 1 to 40 components.
func drawScene(r *rand.Rand) scene {
	n := 1 + r.IntN(12)
	if chance(r, 0.12) {
		n = 1 + r.IntN(40)
	}
	steps := 1 + r.IntN(min(n, 6))
	s := scene{calm: chance(r, 0.35), users: chance(r, 0.5)}
	if chance(r, 0.5) {
		s.crashes = 0.02 + 0.1*r.Float64()
	}
	if chance(r, 0.6) {
		s.noise = 0.3 * r.Float64()
	}
	spec := Spec{
		Revision: revision, Policy: Policies()[r.IntN(3)], OnFailure: []FailurePolicy{Halt, Continue}[r.IntN(2)],
		Steps: make([]StepSpec, steps), Components: make([]ComponentSpec, n),
	}
	if chance(r, 0.5) {
		spec.MaxInFlight = 1 + r.IntN(4)
	}
	if !s.calm && chance(r, 0.15) {
		spec.Timeout = time.Duration(20+r.IntN(400)) * time.Second
	}
	for k := range spec.Steps {
		spec.Steps[k] = StepSpec{Label: fmt.Sprintf("%d", 100+10*k)}
		switch {
		case chance(r, 0.4):
			spec.Steps[k].Limit = 1 + r.IntN(3)
		case chance(r, 0.06):
			spec.Steps[k].Limit = -1
		case chance(r, 0.06):
			spec.Steps[k].Approval = true
		}
	}
	density := r.Float64() * 0.4
	for i := range spec.Components {
		c := ComponentSpec{
			Name: fmt.Sprintf("c%02d", i), Step: i * steps / n, Rank: time.Duration(r.IntN(5)),
			Timeout: time.Duration(15+r.IntN(90)) * time.Second,
			Retry:   RetrySpec{Limit: r.IntN(4), Duration: time.Duration(r.IntN(5)) * time.Second, Factor: 2, MaxDuration: 7 * time.Second},
		}
		if spec.Policy == Edges {
			c.Step = r.IntN(steps)
		}
		if s.calm {
			c.Timeout = time.Hour
		} else {
			if chance(r, 0.2) {
				c.DegradedGrace = time.Duration(1+r.IntN(20)) * time.Second
			}
			if chance(r, 0.2) {
				c.Retry.MaxTimeouts = 1
			}
			if spec.Timeout > 0 && chance(r, 0.2) {
				c.Retry.Limit = -1
			}
			if spec.Timeout > 0 && chance(r, 0.2) {
				c.Timeout = 0
			}
		}
		for j := range i {
			if chance(r, density) && (spec.Policy == Edges || spec.Components[j].Step <= c.Step) {
				c.Requires = append(c.Requires, spec.Components[j].Name)
			}
		}
		spec.Components[i] = c
	}
	if spec.Policy == Edges {
		fallBack(r, spec)
	}
	s.spec = spec
	troubles := r.Float64() * 0.3
	for i := range n {
		nature := drawNature(r, s.calm, troubles)
		if s.calm && nature.bad(spec.Components[i].Retry.Limit) && nature.sickFirst != never {
			nature.failFirst = never // a crash may swallow a failure that counts
		}
		s.natures = append(s.natures, nature)
	}
	drawEarlier(r, &s)
	return s
}

// leaving is how a component behaves when it is deleted.
type leaving struct {
	takes      int // seconds
	failFirst  int // attempts that fail before one works; never: all
	finalError bool
	hangFirst  int // attempts that do not come to an end by themselves
}

func (l leaving) bad(limit int) bool {
	return l.failFirst == never || l.failFirst > 0 && l.finalError || limit >= 0 && l.failFirst > limit
}

// drawEarlier draws what earlier rollouts applied: some of the components, and
// some that are not part of the ladder any more.
func drawEarlier(r *rand.Rand, s *scene) {
	if !chance(r, 0.5) {
		return
	}
	density := r.Float64() * 0.6
	vanished := map[string]bool{}
	add := func(name string) {
		a := Applied{Component: name, Sequence: len(s.earlier) + 1}
		for _, before := range s.earlier {
			if chance(r, density) {
				a.Requires = append(a.Requires, before.Component)
			}
		}
		if len(a.Requires) == 0 && len(s.earlier) > 0 && chance(r, 0.5) {
			a.Requires = []string{s.earlier[r.IntN(len(s.earlier))].Component}
		}
		s.earlier = append(s.earlier, a)
	}
	stay := 0
	for k := range 1 + r.IntN(8) {
		for stay < len(s.spec.Components) && chance(r, 0.3) {
			add(s.spec.Components[stay].Name)
			stay++
		}
		name := fmt.Sprintf("v%02d", k)
		vanished[name] = true
		add(name)
	}
	s.spec.Remove = Removals(s.earlier, func(name string) bool { return !vanished[name] })
	troubles := r.Float64() * 0.4
	for i := range s.spec.Remove {
		spec := &s.spec.Remove[i]
		spec.Timeout = time.Duration(15+r.IntN(60)) * time.Second
		spec.Retry = RetrySpec{Limit: r.IntN(4), Duration: time.Duration(r.IntN(5)) * time.Second, Factor: 2, MaxDuration: 7 * time.Second}
		l := leaving{takes: r.IntN(9)}
		if chance(r, troubles) {
			l.failFirst, l.finalError = 1+r.IntN(3), chance(r, 0.2)
			if chance(r, 0.2) {
				l.failFirst = never
			}
		}
		switch {
		case s.calm:
			spec.Timeout = time.Hour
			if l.bad(spec.Retry.Limit) {
				l.failFirst = never // a crash may swallow a failure that counts
			}
		case chance(r, troubles):
			l.hangFirst = 1 + r.IntN(4)
			if chance(r, 0.3) {
				spec.Retry.MaxTimeouts = 1
			}
		}
		s.leaving = append(s.leaving, l)
	}
}

// fallBack lets some components of a spec under Edges wait for earlier steps, as
// long as nobody they wait for waits for them.
func fallBack(r *rand.Rand, spec Spec) {
	first := make([]int, len(spec.Components)) // least step of the transitive dependants
	for i := range first {
		first[i] = len(spec.Steps)
	}
	for i := len(spec.Components) - 1; i >= 0; i-- {
		c := &spec.Components[i]
		if len(c.Requires) == 0 {
			c.After = min(c.Step, first[i])
		}
		for j := range i {
			for _, name := range c.Requires {
				if spec.Components[j].Name == name {
					first[j] = min(first[j], c.Step, first[i])
				}
			}
		}
	}
}

func drawNature(r *rand.Rand, calm bool, troubles float64) nature {
	n := nature{syncTakes: r.IntN(6), readyTakes: r.IntN(12), sickness: Progressing}
	switch {
	case chance(r, 0.1):
		n.before = revision
	case chance(r, 0.3):
		n.before = oldRevision
	}
	if chance(r, troubles) {
		n.failFirst = 1 + r.IntN(3)
		n.finalError = chance(r, 0.1)
		if chance(r, 0.2) {
			n.failFirst = never
		}
	}
	if chance(r, troubles/2) {
		n.sickFirst = 1 + r.IntN(2)
		n.sickness = []Health{Progressing, Degraded, Missing, Suspended}[r.IntN(4)]
		n.finalSickness = n.sickness == Degraded && chance(r, 0.4)
		if chance(r, 0.3) {
			n.sickFirst = never
		}
	}
	if !calm && chance(r, troubles/2) {
		n.syncTakes = 10 + r.IntN(100) // may hang beyond its timeout
	}
	if !calm && chance(r, troubles) {
		n.flaps = 1 + r.IntN(3)
	}
	return n
}

// happening is something that comes to pass at a time of the simulated world.
type happening struct {
	at  int // seconds since epoch
	seq int
	// ours happenings belong to the process that runs the rollout and die with
	// it; the others belong to the cluster or to people.
	ours bool
	do   func()
}

type happenings []happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// thing is a component in the simulated cluster.
type thing struct {
	nature
	revision string // what is applied
	health   Health
	syncs    int // that ended
	applied  int // syncs that worked, the attempts that can be sick
	life     int // changes when a planned change of health no longer holds
	final    bool
}

// leaver is a component in the simulated cluster that is not part of the ladder
// any more.
type leaver struct {
	leaving
	gone         bool
	begun, ended int // deletions
}

// world is the simulated cluster, its watchers and its people.
type world struct {
	r       *rand.Rand
	scene   scene
	now     int
	seq     int
	queue   happenings
	things  []thing
	leavers []leaver
	names   map[string]int // of things and leavers
	// deliver hands an event to the rollout.
	deliver func(Event)
}

// clock is the time: seconds, and nanoseconds that never stand still.
func (w *world) clock() time.Time {
	w.seq++
	return epoch.Add(time.Duration(w.now)*time.Second + time.Duration(w.seq))
}

func (w *world) in(seconds int, ours bool, do func()) {
	w.seq++
	heap.Push(&w.queue, happening{at: w.now + seconds, seq: w.seq, ours: ours, do: do})
}

// advance lets the next thing happen; false when nothing is left to happen.
func (w *world) advance() bool {
	if len(w.queue) == 0 {
		return false
	}
	h := heap.Pop(&w.queue).(happening)
	w.now = max(w.now, h.at)
	h.do()
	return true
}

// die takes away everything that belongs to the process.
func (w *world) die() {
	kept := w.queue[:0]
	for _, h := range w.queue {
		if !h.ours {
			kept = append(kept, h)
		}
	}
	clear(w.queue[len(kept):])
	w.queue = kept
	heap.Init(&w.queue)
}

// watch reports everything as it is now, as an engine does first.
func (w *world) watch() {
	for i := range w.things {
		w.report(i)
	}
}

func (w *world) report(i int) {
	t := &w.things[i]
	seen := Observed{
		Component: w.scene.spec.Components[i].Name, Health: t.health, Revision: t.revision,
		Message: string(t.health), Final: t.final, At: w.clock(),
	}
	lag := 0
	if !w.scene.calm && chance(w.r, 0.5) {
		lag = w.r.IntN(4) // longer than settle, so that a guess may be wrong
	}
	w.in(lag, true, func() { w.deliver(seen) })
	if chance(w.r, w.scene.noise) {
		w.in(lag+w.r.IntN(10), true, func() { w.deliver(seen) })
	}
	if chance(w.r, w.scene.noise) {
		stale := seen
		stale.At = seen.At.Add(-time.Duration(1+w.r.IntN(5)) * time.Second)
		stale.Health = []Health{Healthy, Degraded, Progressing}[w.r.IntN(3)]
		stale.Final = false
		stale.Revision = oldRevision
		w.in(lag, true, func() { w.deliver(stale) })
	}
}

// become changes the health of a component.
func (w *world) become(i int, h Health, final bool) {
	w.things[i].health, w.things[i].final = h, final
	w.report(i)
}

// sync carries out one attempt.
func (w *world) sync(i, attempt int) {
	t := &w.things[i]
	takes := t.syncTakes
	fails := t.syncs < t.failFirst
	name := w.scene.spec.Components[i].Name
	w.in(takes, true, func() {
		t.syncs++
		finished := SyncFinished{Component: name, Attempt: attempt}
		if fails {
			finished.Error, finished.Final = "refused", t.finalError
		} else {
			w.apply(i)
		}
		w.deliver(finished)
		if chance(w.r, w.scene.noise) {
			w.in(w.r.IntN(10), true, func() { w.deliver(finished) })
		}
	})
}

// remove carries out one attempt to delete a component.
func (w *world) remove(i, attempt int) {
	l := &w.leavers[i]
	name := w.scene.spec.Remove[i].Name
	l.begun++
	if l.begun <= l.hangFirst && !l.gone {
		seen := Observed{Component: name, Health: Progressing, Message: "waits for its finalizer", At: w.clock()}
		w.in(w.r.IntN(3), true, func() { w.deliver(seen) })
		return
	}
	fails := l.ended < l.failFirst && !l.gone
	w.in(l.takes, true, func() {
		l.ended++
		finished := RemoveFinished{Component: name, Attempt: attempt}
		if fails {
			finished.Error, finished.Final = "refused", l.finalError
		} else {
			l.gone = true
		}
		w.deliver(finished)
		if chance(w.r, w.scene.noise) {
			w.in(w.r.IntN(10), true, func() { w.deliver(finished) })
		}
	})
}

// apply changes the cluster as a sync that works does.
func (w *world) apply(i int) {
	t := &w.things[i]
	sick := t.applied < t.sickFirst
	t.applied++
	if t.revision == revision && t.health == Healthy && !sick {
		return // nothing to change
	}
	t.life++
	life := t.life
	t.revision = revision
	w.become(i, Progressing, false)
	w.in(t.readyTakes, false, func() {
		if t.life != life {
			return
		}
		if sick {
			w.become(i, t.sickness, t.finalSickness)
			return
		}
		w.become(i, Healthy, false)
		w.flap(i)
	})
}

// flap lets a Healthy component fall ill for a while, as often as its nature
// says; now and then somebody else applies another revision.
func (w *world) flap(i int) {
	t := &w.things[i]
	if t.flaps == 0 {
		return
	}
	t.flaps--
	life := t.life
	w.in(w.r.IntN(30), false, func() {
		if t.life != life || t.health != Healthy {
			return
		}
		if chance(w.r, 0.2) {
			t.revision = "r3"
		}
		w.become(i, []Health{Degraded, Progressing, Missing, Unknown}[w.r.IntN(4)], false)
		w.in(w.r.IntN(25), false, func() {
			if t.life != life {
				return
			}
			t.revision = revision
			w.become(i, Healthy, false)
			w.flap(i)
		})
	})
}
