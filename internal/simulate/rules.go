package simulate

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/rollout-ladder/ladder/internal/operators"
	"github.com/rollout-ladder/ladder/internal/simulate/rule"
	"github.com/rollout-ladder/ladder/internal/simulate/rule/confined"
	"github.com/rollout-ladder/ladder/internal/simulate/settings"
)

// LoadRules takes rule documents of the user, which come first, and those of the operators
// that are known. Those of the user are read and evaluated in workers. The error of a
// document that cannot be used is a *rule.ParseError.
func LoadRules(ctx context.Context, own []settings.Rules) (*rule.Set, error) {
	set := &rule.Set{}
	for _, r := range own {
		if err := set.AddElsewhere(ctx, confined.Rules{}, r.Name, []byte(r.Text)); err != nil {
			return nil, err
		}
	}
	for _, r := range operators.Simulation() {
		if err := set.AddTested(r.Name, []byte(r.Text)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// ruleBook holds the rules that are in force.
type ruleBook struct {
	log *slog.Logger

	mu  sync.Mutex
	own []settings.Rules
	set *rule.Set
}

func (b *ruleBook) get() *rule.Set {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.set
}

// load compiles the rules and reports whether they are others than before.
// Documents that cannot be used leave the rules what they were: whoever wrote
// the configuration has checked them with LoadRules.
func (b *ruleBook) load(ctx context.Context, own []settings.Rules) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.set != nil && slices.Equal(own, b.own) {
		return false
	}
	set, err := LoadRules(ctx, own)
	if err != nil {
		b.log.Error("simulated world: the rules stay what they were", "error", err)
		if b.set != nil {
			return false
		}
		if set, err = LoadRules(ctx, nil); err != nil {
			set = &rule.Set{}
		}
	}
	b.own, b.set = slices.Clone(own), set
	return true
}
