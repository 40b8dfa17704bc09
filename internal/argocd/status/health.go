package status

import (
	"cmp"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// healthOf reads a health status; what is not known is Unknown. Source:
// gitops-engine, pkg/health.
func healthOf(status string) rollout.Health {
	switch h := rollout.Health(status); h {
	case rollout.Healthy, rollout.Progressing, rollout.Degraded, rollout.Suspended, rollout.Missing:
		return h
	default:
		return rollout.Unknown
	}
}

// health judges an Application that is synced at a revision.
func (a *Application) health(revision string) Judgement {
	j := Judgement{Health: healthOf(a.Status.Health.Status), Revision: revision, Since: a.Status.Health.LastTransitionTime}
	if j.Health == rollout.Healthy {
		return j
	}
	j.Code = ObjectHealth
	j.Message = "its health is " + orUnknown(a.Status.Health.Status)
	if a.Status.Health.Message != "" {
		j.Message += ": " + a.Status.Health.Message
	}
	if r, ok := a.worstResource(nil); ok {
		j.Object, j.Message = r.Resource(), r.words()
	}
	return j
}

// healthBehindHead judges an Application at the revision of its last sync, when
// the comparison is with a newer one: objects that only the newer one has do not
// count.
func (a *Application) healthBehindHead(revision string) Judgement {
	applied := map[string]bool{}
	for _, r := range a.Status.OperationState.SyncResult.Resources {
		applied[r.Resource().String()] = true
	}
	j := a.health(revision)
	if j.Health != rollout.Missing {
		return j
	}
	counts := func(r Resource) bool { return applied[r.Resource().String()] }
	if worst, ok := a.worstResource(counts); ok {
		j.Health, j.Object, j.Message = healthOf(worst.Health.Status), worst.Resource(), worst.words()
		return j
	}
	inline := false
	for _, r := range a.Status.Resources {
		inline = inline || r.Health.Status != ""
	}
	if inline {
		return Judgement{Health: rollout.Healthy, Revision: revision, Since: j.Since}
	}
	j.Code, j.Message = Hidden, "its health is Missing; objects of a newer revision may hide the health of those that are there"
	return j
}

func (r Resource) words() string {
	words := r.Resource().Human() + ": " + r.Health.Status
	if r.Health.Message != "" {
		words = r.Resource().Human() + ": " + r.Health.Message
	}
	return words
}

// worstResource is the first of the objects with the worst health, where Argo CD
// keeps it in the Application; false where all that count are Healthy.
func (a *Application) worstResource(counts func(Resource) bool) (Resource, bool) {
	var worst Resource
	found := false
	for _, r := range a.Status.Resources {
		if r.Health.Status == "" || healthOf(r.Health.Status) == rollout.Healthy || counts != nil && !counts(r) {
			continue
		}
		if !found || health.Worse(healthOf(r.Health.Status), healthOf(worst.Health.Status)) {
			worst, found = r, true
		}
	}
	return worst, found
}

// describe words a judgement for a sentence about the Application.
func (j Judgement) describe() string {
	return cmp.Or(j.Message, fmt.Sprintf("is %s", j.Health))
}
