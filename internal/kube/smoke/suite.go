package smoke

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// Suite are the checks of one component.
type Suite struct {
	Component string
	Checks    []model.Check
}

// Answer is the last answer of one check of a suite.
type Answer struct {
	Component string
	Result
	// Attempts is how often the check was asked, Took how long the last answer
	// took.
	Attempts int
	Took     time.Duration
}

// Waiting says how long checks are asked again until they hold. The zero value
// asks once.
type Waiting struct {
	// Timeout bounds the whole; 0 asks every check once.
	Timeout time.Duration
	// Interval is the pause between two rounds; 0 means 2 seconds.
	Interval time.Duration
	// Clock is the source of time; nil means the system's.
	Clock clock.Clock
	// Round is told the answers after every round, if it is set.
	Round func([]Answer)
}

const (
	defaultInterval = 2 * time.Second
	// concurrentChecks is how many checks are asked at once.
	concurrentChecks = 8
)

// RunSuites asks every check, and with a timeout those that do not hold again
// until they do; once all of them have held, all are asked once more, since one
// may have ceased to. It answers in the order of the suites and their checks.
// late is set where the time ran out. The error is that of ctx, with the answers
// so far.
func RunSuites(ctx context.Context, client Client, suites []Suite, options Options, w Waiting) (answers []Answer, late bool, err error) {
	if w.Clock == nil {
		w.Clock = clock.RealClock{}
	}
	if w.Interval <= 0 {
		w.Interval = defaultInterval
	}
	for _, s := range suites {
		for _, check := range s.Checks {
			answers = append(answers, Answer{Component: s.Component, Result: Result{Check: check, Message: "was not asked"}})
		}
	}
	until := w.Clock.Now().Add(w.Timeout)
	for sure := false; ; {
		asked := ask(ctx, client, answers, options, w.Clock)
		if w.Round != nil {
			w.Round(answers)
		}
		if ctx.Err() != nil {
			return answers, false, ctx.Err()
		}
		sure = sure || asked == len(answers)
		switch holds := allHold(answers); {
		case w.Timeout <= 0, holds && sure:
			return answers, false, nil
		case holds:
			sure = true
			reset(answers)
			continue
		}
		sure = false
		left := until.Sub(w.Clock.Now())
		if left <= 0 {
			return answers, true, nil
		}
		select {
		case <-ctx.Done():
			return answers, false, ctx.Err()
		case <-w.Clock.After(min(w.Interval, left)):
		}
	}
}

// ask asks the checks that do not hold, several at once, and returns how many
// there were.
func ask(ctx context.Context, client Client, answers []Answer, options Options, now clock.Clock) (asked int) {
	var group errgroup.Group
	group.SetLimit(concurrentChecks)
	for i := range answers {
		if answers[i].OK {
			continue
		}
		asked++
		group.Go(func() error {
			started := now.Now()
			answers[i].Result = Run(ctx, client, []model.Check{answers[i].Check}, options)[0]
			answers[i].Attempts++
			answers[i].Took = now.Now().Sub(started)
			return nil
		})
	}
	_ = group.Wait() // no check returns an error
	return asked
}

func allHold(answers []Answer) bool {
	for _, a := range answers {
		if !a.OK {
			return false
		}
	}
	return true
}

// reset has every check asked again.
func reset(answers []Answer) {
	for i := range answers {
		answers[i].OK = false
	}
}
