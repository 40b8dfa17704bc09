package status

import (
	"fmt"
	"time"

	"github.com/gobwas/glob"
	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Project is what matters of an AppProject: when it lets Applications sync.
type Project struct {
	Ref     Ref
	Windows []Window
}

// Window is one sync window of an AppProject. The field names are those of Argo
// CD's API.
type Window struct {
	Kind         string   `json:"kind"` // allow or deny
	Schedule     string   `json:"schedule"`
	Duration     string   `json:"duration"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	Clusters     []string `json:"clusters"`
	TimeZone     string   `json:"timeZone"`
	AndOperator  bool     `json:"andOperator"`
}

// ParseProject reads an AppProject.
func ParseProject(obj *unstructured.Unstructured) (*Project, error) {
	var w struct {
		Spec struct {
			SyncWindows []Window `json:"syncWindows"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &w); err != nil {
		return nil, fmt.Errorf("read AppProject %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	return &Project{Ref: Ref{obj.GetNamespace(), obj.GetName()}, Windows: w.Spec.SyncWindows}, nil
}

// Forbids says which sync windows keep the automated sync of an Application from
// starting now; empty where none does. Source: argo-cd,
// pkg/apis/application/v1alpha1, SyncWindows.CanSync.
func (p *Project) Forbids(a *Application, now time.Time) string {
	allows, allowed := "", false
	for _, w := range p.Windows {
		if !w.matches(a) {
			continue
		}
		active, err := w.isActive(now)
		switch {
		case err != nil:
			return fmt.Sprintf("a sync window of project %s is invalid: %v", p.Ref.Name, err)
		case w.Kind == "deny" && active:
			return fmt.Sprintf("a sync window of project %s forbids automated sync (%s for %s)", p.Ref.Name, w.Schedule, w.Duration)
		case w.Kind == "allow" && active:
			allowed = true
		case w.Kind == "allow":
			allows = fmt.Sprintf("project %s allows automated sync only in its windows (%s for %s)", p.Ref.Name, w.Schedule, w.Duration)
		}
	}
	if allowed {
		return ""
	}
	return allows
}

// matches reports whether a window is about an Application.
func (w Window) matches(a *Application) bool {
	any := func(patterns []string, values ...string) bool {
		for _, p := range patterns {
			g, err := glob.Compile(p)
			for _, v := range values {
				if err == nil && v != "" && g.Match(v) {
					return true
				}
			}
		}
		return false
	}
	matched, written := false, false
	for _, list := range []struct {
		patterns []string
		values   []string
	}{
		{w.Applications, []string{a.Ref.Name}}, {w.Clusters, []string{a.Destination.Name, a.Destination.Server}}, {w.Namespaces, []string{a.Destination.Namespace}},
	} {
		if len(list.patterns) == 0 {
			continue
		}
		is := any(list.patterns, list.values...)
		if is && !w.AndOperator {
			return true
		}
		matched, written = is && (matched || !written), true
	}
	return w.AndOperator && matched
}

// isActive reports whether a window is open. A time zone that is not known is UTC.
func (w Window) isActive(now time.Time) (bool, error) {
	schedule, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(w.Schedule)
	if err != nil {
		return false, fmt.Errorf("schedule %q: %w", w.Schedule, err)
	}
	duration, err := time.ParseDuration(w.Duration)
	if err != nil {
		return false, fmt.Errorf("duration %q: %w", w.Duration, err)
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		zone = time.UTC
	}
	_, offset := now.In(zone).Zone()
	local := now.UTC().Add(time.Duration(offset) * time.Second)
	return schedule.Next(local.Add(-duration)).Before(local), nil
}
