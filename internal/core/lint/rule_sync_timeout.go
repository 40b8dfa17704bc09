package lint

import (
	"fmt"

	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleSyncTimeout = "sync-timeout-too-short"

// syncTimeoutTooShort finds hooks, and Jobs that a later wave waits for, which may run longer
// than a sync of this installation. Argo CD ends the sync first, deletes a hook that still
// runs, and applies nothing that comes later. Source: argo-cd, controller/appcontroller.go,
// processRequestedAppOperation; gitops-engine, pkg/sync, Terminate.
func syncTimeoutTooShort(in Input) []finding.Finding {
	after, known := in.Argo.Settings.SyncTimeout.Ends()
	if !known {
		return nil
	}
	preArgo := map[string]bool{}
	for i := range in.Components {
		preArgo[in.Components[i].Name] = in.Components[i].PreArgo
	}
	last := map[string]dependency.Place{}
	for i := range in.Objects {
		o := &in.Objects[i]
		if o.Place.Hook < syncFail && o.Place.Compare(last[o.Component]) > 0 {
			last[o.Component] = o.Place
		}
	}
	var out []finding.Finding
	for i := range in.Objects {
		o := &in.Objects[i]
		if o.Deadline <= after || preArgo[o.Component] || !o.Place.IsHook && o.Place.Compare(last[o.Component]) >= 0 {
			continue
		}
		f := finding.Finding{
			Rule: ruleSyncTimeout, Severity: finding.Warning, Scope: finding.Rule, Component: o.Component, Resource: o.Resource, Position: o.Position, Basis: finding.Rendered,
			Message: fmt.Sprintf("%s may run for %s (activeDeadlineSeconds), but Argo CD ends a sync after %s", o.Resource.Human(), o.Deadline, after),
		}
		if o.Place.IsHook {
			f.Message += " and deletes the hooks that still run"
		} else {
			f.Message += ", so that the later sync waves may never be applied"
		}
		f.Evidence = append(f.Evidence, where(in.Argo.Settings.SyncTimeout.Position, "these settings of Argo CD end a sync after %s", after))
		f.Fix.Summary = fmt.Sprintf("raise controller.sync.timeout.seconds in argocd-cmd-params-cm to more than %d, or lower activeDeadlineSeconds", int(o.Deadline.Seconds()))
		out = append(out, f)
	}
	return out
}
