package health

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/kube/health/script"
)

// ArgoCM is the name of the ConfigMap that holds Argo CD's settings.
const ArgoCM = "argocd-cm"

type (
	// Script is a health script that the settings of Argo CD bring.
	Script = script.Script
	// Problem is something in those settings that is not used as it is written.
	Problem = script.Problem
)

// FromArgoCM reads the health scripts in the data of argocd-cm, as
// script.FromArgoCM, in a worker.
func FromArgoCM(ctx context.Context, data map[string]string) ([]Script, []Problem, error) {
	about := map[string]string{}
	for key, value := range data {
		if strings.HasPrefix(key, script.Customizations) {
			about[key] = value
		}
	}
	if len(about) == 0 {
		return nil, nil, nil
	}
	return evaluate.ArgoCM(ctx, about)
}

// customs are the scripts of argocd-cm.
type customs struct {
	scripts []Script
	// patterns are the scripts without their text.
	patterns []Script

	mu    sync.Mutex
	known map[schema.GroupKind]matched
}

// matched is the index of the script of a kind, negative for none.
type matched struct {
	index int
	err   error
}

// WithScripts adds scripts that go before those that Argo CD ships, the first
// that matches before the others. They run in workers.
func WithScripts(scripts []Script) Option {
	return func(a *Assessor) {
		a.custom = &customs{scripts: scripts, known: map[schema.GroupKind]matched{}}
		for _, s := range scripts {
			a.custom.patterns = append(a.custom.patterns, Script{Group: s.Group, Kind: s.Kind})
		}
	}
}

// lookup returns the script that the settings have for a kind, nil for none.
func (c *customs) lookup(ctx context.Context, gk schema.GroupKind) (runner, error) {
	if c == nil || len(c.scripts) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	m, ok := c.known[gk]
	c.mu.Unlock()
	if !ok {
		m.index, m.err = evaluate.Match(ctx, c.patterns, gk.Group, gk.Kind)
		if ctx.Err() == nil {
			c.mu.Lock()
			c.known[gk] = m
			c.mu.Unlock()
		}
	}
	if m.err != nil || m.index < 0 || m.index >= len(c.scripts) {
		return nil, m.err
	}
	return foreign{c.scripts[m.index].Source, c.scripts[m.index].Lua}, nil
}
