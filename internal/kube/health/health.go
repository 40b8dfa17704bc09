package health

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// Status is the health of one object and why.
type Status struct {
	Health  rollout.Health
	Message string
}

// Assessor assesses objects. The zero value is not usable; call New.
type Assessor struct {
	scripts *scripts
	now     func() time.Time
	// custom are the scripts of argocd-cm.
	custom *customs
	// checks are the descriptor checks by group and kind, in the order written.
	checks map[schema.GroupKind][]check
}

// Option configures an Assessor.
type Option func(*Assessor)

// WithClock sets the clock that scripts see through os.time; the default is the
// system clock.
func WithClock(now func() time.Time) Option {
	return func(a *Assessor) { a.now = now }
}

// New returns an Assessor.
func New(options ...Option) *Assessor {
	a := &Assessor{scripts: newScripts(), now: time.Now, checks: map[schema.GroupKind][]check{}}
	for _, option := range options {
		option(a)
	}
	return a
}

// With returns an Assessor that also applies the readiness checks that a descriptor
// declares. It shares the compiled scripts of a, so one can be had per component. An
// expression or script that does not compile is an error that names its position. ctx
// bounds how long it may take to compile them.
func (a *Assessor) With(ctx context.Context, checks []model.HealthCheck) (*Assessor, error) {
	if len(checks) == 0 {
		return a, nil
	}
	b := &Assessor{scripts: a.scripts, now: a.now, custom: a.custom, checks: map[schema.GroupKind][]check{}}
	for gk, cs := range a.checks {
		b.checks[gk] = append([]check(nil), cs...)
	}
	if err := b.addChecks(ctx, checks); err != nil {
		return nil, err
	}
	return b, nil
}

// IgnoreAnnotation keeps an object out of the health of its component. Source:
// Argo CD, "Ignoring child resource health check in Applications".
const IgnoreAnnotation = "argocd.argoproj.io/ignore-healthcheck"

// Ignored reports whether an object asks not to count.
func Ignored(obj *unstructured.Unstructured) bool {
	return obj.GetAnnotations()[IgnoreAnnotation] == "true"
}

// Assess returns the health of a live object. Where ctx ends in the middle of it
// the health means nothing.
func (a *Assessor) Assess(ctx context.Context, obj *unstructured.Unstructured) Status {
	if obj.GetDeletionTimestamp() != nil {
		return Status{rollout.Progressing, "is being deleted"}
	}
	gk := obj.GroupVersionKind().GroupKind()
	checks := a.checks[gk]
	base, replaced := a.override(ctx, checks, obj)
	if !replaced {
		base = a.base(ctx, gk, obj)
	}
	if base.Health != rollout.Healthy {
		return base
	}
	for _, c := range checks {
		if s := c.extra(ctx, obj); s.Health != rollout.Healthy {
			return s
		}
	}
	return base
}

// override runs the first descriptor script on the kind: like a script in
// argocd-cm it replaces what Argo CD ships.
func (a *Assessor) override(ctx context.Context, checks []check, obj *unstructured.Unstructured) (Status, bool) {
	for _, c := range checks {
		if c.script != nil {
			return a.runScript(ctx, c.script, obj), true
		}
	}
	return Status{}, false
}

// base assesses an object without the checks of a descriptor.
func (a *Assessor) base(ctx context.Context, gk schema.GroupKind, obj *unstructured.Unstructured) Status {
	script, err := a.custom.lookup(ctx, gk)
	if err != nil {
		return Status{rollout.Unknown, fmt.Sprintf("the patterns of argocd-cm cannot be matched: %v", err)}
	}
	if script != nil {
		return a.runScript(ctx, script, obj)
	}
	// CRDs can be megabytes of schema; the built-in assessment reads only their
	// conditions, so it goes before Argo CD's script of the same meaning.
	if gk.Group == "apiextensions.k8s.io" && gk.Kind == "CustomResourceDefinition" {
		return crdHealth(obj)
	}
	if script := a.scripts.lookup(gk); script != nil {
		if s, stale := staleStatus(obj); stale {
			return s
		}
		return a.runScript(ctx, script, obj)
	}
	if assess := builtin(gk); assess != nil {
		return assess(obj)
	}
	if s, stale := staleStatus(obj); stale {
		return s
	}
	return generic(obj)
}

// generic asks kstatus. Source: kstatus, "Statuses".
func generic(obj *unstructured.Unstructured) Status {
	result, err := status.Compute(obj)
	if err != nil {
		return Status{rollout.Unknown, fmt.Sprintf("status cannot be read: %v", err)}
	}
	switch result.Status {
	case status.CurrentStatus:
		return Status{Health: rollout.Healthy}
	case status.FailedStatus:
		return Status{rollout.Degraded, result.Message}
	case status.InProgressStatus, status.TerminatingStatus:
		return Status{rollout.Progressing, result.Message}
	default:
		return Status{rollout.Unknown, result.Message}
	}
}

// rank orders health from the best to the worst. Source: gitops-engine,
// pkg/health, healthOrder.
func rank(h rollout.Health) int {
	switch h {
	case rollout.Healthy:
		return 0
	case rollout.Suspended:
		return 1
	case rollout.Progressing:
		return 2
	case rollout.Missing:
		return 3
	case rollout.Degraded:
		return 4
	default:
		return 5
	}
}

// Worse reports whether a is worse than b.
func Worse(a, b rollout.Health) bool { return rank(a) > rank(b) }
