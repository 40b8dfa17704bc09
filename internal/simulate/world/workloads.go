package world

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollout-ladder/ladder/internal/simulate/rule"
)

// Workload is a Deployment, StatefulSet or DaemonSet that may be a controller.
type Workload struct {
	Kind, Namespace, Name string
	// Available workloads have at least one ready pod.
	Available bool
	Object    metav1.Object

	template *corev1.PodTemplateSpec
}

// Workloads knows every workload and tells when one becomes available or
// ceases to be.
type Workloads struct {
	mu       sync.Mutex
	all      map[string]Workload
	version  int
	found    map[string]finding
	listener []func(Workload)
}

type finding struct {
	version  int
	workload Workload
	ok       bool
}

// NewWorkloads adds its handlers to the world.
func NewWorkloads(w *World) *Workloads {
	s := &Workloads{all: map[string]Workload{}, found: map[string]finding{}}
	w.Deployments.Watch(func(o *appsv1.Deployment, deleted bool) {
		s.see(Workload{"Deployment", o.Namespace, o.Name, o.Status.ReadyReplicas > 0, o, &o.Spec.Template}, deleted)
	})
	w.StatefulSets.Watch(func(o *appsv1.StatefulSet, deleted bool) {
		s.see(Workload{"StatefulSet", o.Namespace, o.Name, o.Status.ReadyReplicas > 0, o, &o.Spec.Template}, deleted)
	})
	w.DaemonSets.Watch(func(o *appsv1.DaemonSet, deleted bool) {
		s.see(Workload{"DaemonSet", o.Namespace, o.Name, o.Status.NumberReady > 0, o, &o.Spec.Template}, deleted)
	})
	return s
}

// Listen calls f whenever a workload appears, becomes available, ceases to be
// or goes. Call it before the world starts.
func (s *Workloads) Listen(f func(Workload)) { s.listener = append(s.listener, f) }

func (s *Workloads) see(w Workload, deleted bool) {
	key := w.Kind + "/" + w.Namespace + "/" + w.Name
	s.mu.Lock()
	old, known := s.all[key]
	if deleted {
		delete(s.all, key)
		w.Available = false
	} else {
		s.all[key] = w
	}
	changed := !known || deleted || old.Available != w.Available
	if changed {
		s.version++
	}
	s.mu.Unlock()
	if changed {
		for _, f := range s.listener {
			f(w)
		}
	}
}

// Find returns the workload that one of the selectors matches: an available one
// before others, then the first by namespace and name. The key names the
// selectors, for the memory of earlier answers.
func (s *Workloads) Find(key string, selectors []rule.Selector) (Workload, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.found[key]; ok && f.version == s.version {
		return f.workload, f.ok
	}
	var matches []Workload
	for _, w := range s.all {
		if Matches(w, selectors) {
			matches = append(matches, w)
		}
	}
	slices.SortFunc(matches, func(a, b Workload) int {
		if a.Available != b.Available {
			if a.Available {
				return -1
			}
			return 1
		}
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind))
	})
	f := finding{version: s.version}
	if len(matches) > 0 {
		f.workload, f.ok = matches[0], true
	}
	s.found[key] = f
	return f.workload, f.ok
}

// Matches reports whether one of the selectors matches.
func Matches(w Workload, selectors []rule.Selector) bool {
	return slices.ContainsFunc(selectors, func(s rule.Selector) bool { return matches(w, s) })
}

func matches(w Workload, s rule.Selector) bool {
	if s.Kind != "" && s.Kind != w.Kind || s.Namespace != "" && s.Namespace != w.Namespace {
		return false
	}
	if s.Name != "" {
		if ok, err := path.Match(s.Name, w.Name); err != nil || !ok {
			return false
		}
	}
	for k, v := range s.Labels {
		if w.Object.GetLabels()[k] != v && w.template.Labels[k] != v {
			return false
		}
	}
	if s.Image != "" && !slices.ContainsFunc(w.template.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, s.Image) }) {
		return false
	}
	return s.Mentions == "" || mentions(w, s.Mentions)
}

func mentions(w Workload, text string) bool {
	if strings.Contains(w.Name, text) {
		return true
	}
	for _, c := range w.template.Spec.Containers {
		for _, a := range append(slices.Clone(c.Command), c.Args...) {
			if strings.Contains(a, text) {
				return true
			}
		}
		for _, e := range c.Env {
			if strings.Contains(e.Value, text) {
				return true
			}
		}
	}
	return false
}
