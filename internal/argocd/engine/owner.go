package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// owners are what would undo the hold of an Application, or start its sync out of
// turn: they are held as well, parents from the top down, then ApplicationSets.
type owners struct {
	parents []*status.Application
	sets    []*status.Set
	refused []Refusal
	seen    map[status.Ref]bool
	seenSet map[status.Ref]bool
}

const automatedField = "/spec/syncPolicy/automated"

// own finds the owners that must be held for an Application.
func (e *Engine) own(ctx context.Context, o *owners, a *status.Application) {
	switch {
	case a.Set != "":
		e.ownSet(ctx, o, a)
	case e.needsHold(a):
		e.ownParent(ctx, o, a.Ref, a.Labels, a.Annotations, func(parent *status.Application) bool {
			return leaves(parent, "Application", a.Ref.Name, automatedField)
		})
	}
}

// ownSet looks at the ApplicationSet that owns an Application.
func (e *Engine) ownSet(ctx context.Context, o *owners, a *status.Application) {
	ref := status.Ref{Namespace: a.Ref.Namespace, Name: a.Set}
	set := e.watcher.Set(ref)
	if set == nil {
		o.refused = append(o.refused, Refusal{
			Application: a.Ref, Owner: "ApplicationSet " + a.Set, Reason: fmt.Sprintf("ApplicationSet %s, which makes them, cannot be seen", a.Set),
			WayOut: "allow get, list, watch and patch of applicationsets.argoproj.io",
		})
		return
	}
	leavesHold := set.Leaves(a.Ref.Name, automatedField) && slices.Contains(set.Preserved, status.HeldAnnotation)
	starts, undoes := set.Rolling && !set.Stopped(), e.needsHold(a) && !leavesHold
	if o.seenSet[ref] || !set.Updates() || !starts && !undoes {
		return
	}
	o.seenSet[ref] = true
	if !set.Rolling && e.policyIsForced(ctx) {
		o.refused = append(o.refused, Refusal{
			Application: a.Ref, Owner: "ApplicationSet " + a.Set,
			Reason: fmt.Sprintf("their automated sync would start them out of turn, and ApplicationSet %s would undo its being held", a.Set),
			WayOut: fmt.Sprintf("give the ApplicationSet spec.ignoreApplicationDifferences: [{jsonPointers: [%s]}] and spec.preservedFields: {annotations: [%s]}; or take automated out of its template",
				automatedField, status.HeldAnnotation),
		})
		return
	}
	o.sets = append(o.sets, set)
	field := "/spec/syncPolicy/applicationsSync"
	if set.Rolling {
		field = "/spec/strategy"
	}
	e.ownParent(ctx, o, ref, set.Labels, set.Annotations, func(parent *status.Application) bool {
		return leaves(parent, "ApplicationSet", set.Ref.Name, field)
	})
}

// ownParent looks at the Application that applies an object, and at those above
// it. Parents come after what they apply in the list.
func (e *Engine) ownParent(ctx context.Context, o *owners, of status.Ref, labels, annotations map[string]string, leaves func(*status.Application) bool) {
	at, ok := e.parentOf(of, labels, annotations, e.instanceLabel(ctx))
	if !ok || o.seen[at] {
		return
	}
	parent := e.watcher.Application(at)
	if parent == nil {
		var err error
		if parent, err = e.get(ctx, at); err != nil {
			o.refused = append(o.refused, Refusal{Application: of, Owner: "Application " + at.Name,
				Reason: fmt.Sprintf("Application %s, which applies them, cannot be read: %v", at.Name, err), WayOut: "allow get and patch of applications.argoproj.io in its namespace"})
			return
		}
	}
	if parent == nil || !parent.SyncPolicy.IsAutomated() || leaves(parent) {
		return
	}
	o.seen[at] = true
	e.own(ctx, o, parent)
	o.parents = append(o.parents, parent)
}

// trackingAnnotation is where Argo CD marks who applies an object, unless it is told to
// do so in a label. Source: argo-cd, util/argo/resource_tracking.go.
const trackingAnnotation = "argocd.argoproj.io/tracking-id"

// parentOf is the Application that applies an object.
func (e *Engine) parentOf(of status.Ref, labels, annotations map[string]string, instanceLabel string) (status.Ref, bool) {
	name, _, tracked := strings.Cut(annotations[trackingAnnotation], ":")
	if !tracked {
		name = labels[instanceLabel]
	}
	if name == "" || name == of.Name {
		return status.Ref{}, false
	}
	// One outside of Argo CD's namespace is written namespace_name.
	if namespace, rest, outside := strings.Cut(name, "_"); outside {
		return status.Ref{Namespace: namespace, Name: rest}, true
	}
	return status.Ref{Namespace: e.config.Namespace, Name: name}, true
}

// leaves reports whether a parent leaves a field of an object as it is live.
func leaves(parent *status.Application, kind, name, field string) bool {
	if !slices.Contains(parent.SyncPolicy.SyncOptions, "RespectIgnoreDifferences=true") {
		return false
	}
	matches := func(pattern any, value string) bool {
		p, _ := pattern.(string)
		return p == "*" || p == value
	}
	for _, entry := range parent.IgnoreDifferences {
		d, _ := entry.(map[string]any)
		if !matches(d["group"], status.Group) || !matches(d["kind"], kind) {
			continue
		}
		if n, _ := d["name"].(string); n != "" && n != name {
			continue
		}
		set := status.Set{Ignored: []status.IgnoredDifference{{JSONPointers: texts(d["jsonPointers"]), JQPathExpressions: texts(d["jqPathExpressions"])}}}
		if set.Leaves(name, field) {
			return true
		}
	}
	return false
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// policyIsForced reports whether the ApplicationSet controller lets no set have a
// policy of its own. Where its settings cannot be read the default is assumed.
// Source: argo-cd, cmd/argocd-applicationset-controller, --policy.
func (e *Engine) policyIsForced(ctx context.Context) bool {
	parameters := e.settings(ctx, "argocd-cmd-params-cm")
	return parameters["applicationsetcontroller.policy"] != "" && parameters["applicationsetcontroller.enable.policy.override"] != "true"
}

// instanceLabel is the label in which Argo CD marks who applies an object, where it is
// told to. Where its settings cannot be read the default is assumed.
func (e *Engine) instanceLabel(ctx context.Context) string {
	e.labelling.Lock()
	defer e.labelling.Unlock()
	if e.label == "" {
		e.label = status.InstanceLabel(e.settings(ctx, "argocd-cm"))
	}
	return e.label
}

// settings are what one of Argo CD's ConfigMaps has, nil where it cannot be read.
func (e *Engine) settings(ctx context.Context, configMap string) map[string]string {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	o, err := e.client.Resource(configMaps).Namespace(e.config.Namespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	data, _, err := unstructured.NestedStringMap(o.Object, "data")
	if err != nil {
		return nil
	}
	return data
}

// settlePatience is how long owners may take to bring what they make to the
// commit, before they are held.
const settlePatience = time.Minute

// settleParent waits until a parent has applied what the repository says, so that
// the specs of what it applies are of the commit.
func (e *Engine) settleParent(ctx context.Context, parent *status.Application) error {
	return e.compareParent(ctx, parent, "Synced", func(a *status.Application) bool { return a.Status.Sync.Status == status.Synced })
}

// outlastComparison waits until a parent that is held has been compared once more, and
// syncs no longer: a comparison that began before may yet sync it. It need not be Synced,
// since it is held.
func (e *Engine) outlastComparison(ctx context.Context, parent *status.Application) error {
	return e.compareParent(ctx, parent, "compared", func(*status.Application) bool { return true })
}

// compareParent has a parent compared, and waits until that is over and is enough. what
// says what it is then.
func (e *Engine) compareParent(ctx context.Context, parent *status.Application, what string, enough func(*status.Application) bool) error {
	if err := e.refresh(ctx, parent.Ref); err != nil {
		return err
	}
	bounded, cancel := e.within(ctx, settlePatience)
	defer cancel()
	err := e.watcher.Await(bounded, parent.Ref, func(a *status.Application, _ status.Judgement) bool {
		if a == nil {
			return true
		}
		_, asked := a.Annotations[status.RefreshAnnotation]
		return !asked && !a.InProgress() && a.IsCompared() && enough(a)
	})
	if err != nil && ctx.Err() == nil {
		return &RefusedError{Refusals: []Refusal{{
			Application: parent.Ref, Reason: fmt.Sprintf("it makes Applications of the rollout, and is not %s after %s", what, settlePatience), WayOut: "see why it does not sync, and begin again",
		}}}
	}
	return err
}

// settleSet has an ApplicationSet generate again, so that the specs of its
// Applications are of the commit.
func (e *Engine) settleSet(ctx context.Context, ref status.Ref) error {
	asked, err := e.patchSet(ctx, ref, map[string]any{"metadata": map[string]any{"annotations": map[string]any{status.SetRefreshAnnotation: "true"}}})
	if err != nil {
		return err
	}
	bounded, cancel := e.within(ctx, settlePatience)
	defer cancel()
	err = e.watcher.AwaitSet(bounded, ref, func(s *status.Set) bool {
		if s == nil {
			return true
		}
		_, waits := s.Annotations[status.SetRefreshAnnotation]
		return newer(s.ResourceVersion, asked.ResourceVersion) && !waits
	})
	if err != nil && ctx.Err() == nil {
		return &RefusedError{Refusals: []Refusal{{
			Application: ref, Owner: "ApplicationSet " + ref.Name,
			Reason: fmt.Sprintf("ApplicationSet %s did not generate again within %s", ref.Name, settlePatience), WayOut: "see whether the ApplicationSet controller runs, and begin again",
		}}}
	}
	return err
}

// holdSet keeps the controller of an ApplicationSet from starting syncs
// (RollingSync: no step may update) or from bringing Applications back to the
// template (no updates at all).
func (e *Engine) holdSet(ctx context.Context, s *status.Set) error {
	if !s.Rolling {
		if err := e.settleSet(ctx, s.Ref); err != nil {
			return err
		}
		s = e.watcher.Set(s.Ref)
	}
	for s != nil {
		switch {
		case s.Stopped(): // by a process that died, whose request has come late
			return e.settleSet(ctx, s.Ref)
		case !s.Updates():
			return nil
		}
		record, spec := hold{Run: e.config.Run}, map[string]any{}
		if s.Rolling {
			spec["strategy"] = map[string]any{"rollingSync": map[string]any{"steps": stopped(s, &record)}}
		} else {
			record.Policy = &s.SyncPolicy
			spec["syncPolicy"] = map[string]any{"applicationsSync": createOnly}
		}
		_, err := e.patchSet(ctx, s.Ref, map[string]any{
			"metadata": map[string]any{"resourceVersion": s.ResourceVersion, "annotations": map[string]any{status.HeldAnnotation: record.text()}},
			"spec":     spec,
		})
		if err == nil && s.Rolling {
			return e.settleSet(ctx, s.Ref)
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		if s, err = e.getSet(ctx, s.Ref); err != nil {
			return err
		}
	}
	return nil
}

// createOnly is the policy of an ApplicationSet whose Applications are left as
// they are. Source: argo-cd, ApplicationsSyncPolicyCreateOnly.
const createOnly = "create-only"

// releaseSet gives an ApplicationSet back what it was. Where somebody has changed
// it meanwhile, theirs stays.
func (e *Engine) releaseSet(ctx context.Context, ref status.Ref) error {
	for {
		s, err := e.getSet(ctx, ref)
		if err != nil || s == nil {
			return err
		}
		held, err := readHold(s.Resource(), s.Annotations)
		if err != nil || held == nil {
			return err
		}
		patch := map[string]any{"metadata": map[string]any{
			"resourceVersion": s.ResourceVersion, "annotations": map[string]any{status.HeldAnnotation: nil},
		}}
		switch {
		case held.Policy != nil && s.SyncPolicy == createOnly:
			var policy any = *held.Policy
			if policy == "" {
				policy = nil
			}
			patch["spec"] = map[string]any{"syncPolicy": map[string]any{"applicationsSync": policy}}
		case len(held.Steps) > 0 && s.Stopped() && len(s.Steps) == len(held.Steps):
			patch["spec"] = map[string]any{"strategy": map[string]any{"rollingSync": map[string]any{"steps": held.Steps}}}
		}
		if _, err = e.patchSet(ctx, ref, patch); !apierrors.IsConflict(err) {
			return err
		}
	}
}
