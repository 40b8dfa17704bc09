package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
)

// Cause is one link of the chain that keeps an Application from being Healthy at
// the revision.
type Cause struct {
	Code        Code             `json:"code"`
	Application string           `json:"application"` // "namespace/name"
	Object      finding.Resource `json:"object,omitzero"`
	Message     string           `json:"message"`
	Since       time.Time        `json:"since,omitzero"`
}

// String prints "application: message".
func (c Cause) String() string {
	_, name, _ := strings.Cut(c.Application, "/")
	return name + ": " + c.Message
}

// Fleet is what Explain looks at: the Applications and the ApplicationSets that
// own them.
type Fleet interface {
	Application(Ref) *Application
	Set(Ref) *Set
	Judge(Ref) Judgement
}

// maxCauses bounds a chain; what is beyond waits for what is in it.
const maxCauses = 12

// Explain says why an Application is not Healthy at the revision, the root cause
// first and the Application itself last. It is empty where it is.
func Explain(f Fleet, at Ref) []Cause {
	e := explainer{fleet: f, seen: map[Ref]bool{}}
	e.explain(at)
	return e.causes
}

type explainer struct {
	fleet  Fleet
	seen   map[Ref]bool
	causes []Cause
}

func (e *explainer) explain(at Ref) {
	if e.seen[at] || len(e.causes) >= maxCauses {
		return
	}
	e.seen[at] = true
	a, j := e.fleet.Application(at), e.fleet.Judge(at)
	if j.Code == None && j.Health == rollout.Healthy {
		return
	}
	if a != nil && a.Set != "" {
		if set := e.fleet.Set(Ref{at.Namespace, a.Set}); set != nil {
			e.explainSet(a, set, &j)
		}
	}
	if windows, ok := e.fleet.(interface{ Forbidden(*Application) string }); ok && a != nil && (j.Code == NotSynced || j.Code == OtherRevision) && a.SyncPolicy.IsAutomated() {
		if why := windows.Forbidden(a); why != "" {
			j.Code, j.Message = WindowClosed, why
		}
	}
	e.causes = append(e.causes, Cause{Code: j.Code, Application: at.String(), Object: j.Object, Message: j.describe(), Since: j.Since})
}

// explainSet adds what an ApplicationSet makes an Application wait for.
func (e *explainer) explainSet(a *Application, set *Set, j *Judgement) {
	if set.Problem != "" {
		e.causes = append(e.causes, Cause{
			Code: InvalidSpec, Application: a.Ref.String(), Message: fmt.Sprintf("ApplicationSet %s cannot generate: %s", set.Ref.Name, words(set.Problem)),
			Object: set.Resource(), Since: set.ProblemSince,
		})
	}
	if message, since, blockers, ok := WaitsInSet(e.fleet, a, set, *j); ok {
		for _, b := range blockers {
			e.explain(b)
		}
		j.Code, j.Message, j.Since = WaitsForStep, message, since
	}
}

// WaitsInSet says what RollingSync makes an Application wait for: Applications of
// an earlier step, or others of its step. It is false for one that does not wait.
func WaitsInSet(f Fleet, a *Application, set *Set, j Judgement) (message string, since time.Time, blockers []Ref, waits bool) {
	if !set.Rolling || !slices.Contains([]Code{NotSynced, OtherRevision, AutoSyncOff, NotThere}, j.Code) {
		return "", time.Time{}, nil, false
	}
	own, listed := set.Progress[a.Ref.Name]
	switch {
	case !listed:
		return fmt.Sprintf("is not in a step of ApplicationSet %s yet", set.Ref.Name), time.Time{}, nil, true
	case own.Step < 1 || own.Step > len(set.Steps):
		return fmt.Sprintf("no step of ApplicationSet %s selects it, so that nothing syncs it", set.Ref.Name), own.Since, nil, true
	case own.Status == "Pending" || own.Status == "Progressing":
		return fmt.Sprintf("is %s in step %d of ApplicationSet %s", strings.ToLower(own.Status), own.Step, set.Ref.Name), own.Since, nil, true
	}
	var names []string
	earliest := own.Step
	for name, p := range set.Progress {
		ref := Ref{a.Ref.Namespace, name}
		if p.Step < 1 || p.Step >= own.Step {
			continue
		}
		// Source: argo-cd, buildAppSyncMap and isApplicationHealthy: both the status
		// of the set and the Application itself must say so.
		if p.Status == "Healthy" && settled(f.Application(ref)) {
			continue
		}
		if p.Step < earliest {
			earliest, blockers, names = p.Step, nil, nil
		}
		if p.Step == earliest {
			blockers, names = append(blockers, ref), append(names, name)
		}
	}
	slices.Sort(names)
	slices.SortFunc(blockers, func(a, b Ref) int { return strings.Compare(a.Name, b.Name) })
	place := fmt.Sprintf("waits for step %d of ApplicationSet %s", own.Step, set.Ref.Name)
	switch limit := set.Steps[own.Step-1].MaxUpdate; {
	case len(names) > 0:
		const few = 3
		more := ""
		if len(names) > few {
			more = fmt.Sprintf(" and %d more", len(names)-few)
			names = names[:few]
		}
		return fmt.Sprintf("%s: %s%s of step %d not Healthy", place, strings.Join(names, ", "), more, earliest), own.Since, blockers, true
	case set.Steps[own.Step-1].Stopped():
		return place + ", whose maxUpdate is 0", own.Since, nil, true
	case limit != "":
		return fmt.Sprintf("%s, which syncs %s at once", place, limit), own.Since, nil, true
	}
	return place, own.Since, nil, true
}

// settled is what RollingSync takes for healthy.
func settled(a *Application) bool {
	if a == nil {
		return false
	}
	s := a.Status
	return s.Health.Status == string(rollout.Healthy) && s.Sync.Status != OutOfSync && (s.OperationState == nil || s.OperationState.Phase == Succeeded)
}

// maxWords bounds a message of Argo CD, in bytes.
const maxWords = 600

// words makes a message of Argo CD one line of bounded length, without the
// credentials of addresses.
func words(message string) string {
	message = strings.Join(strings.Fields(confidential.Invalid(finding.Redact(message))), " ")
	if len(message) <= maxWords {
		return message
	}
	end := maxWords
	for end > 0 && message[end]&0xC0 == 0x80 { // not inside a character
		end--
	}
	return message[:end] + " ..."
}
