package status

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Set is what matters of an ApplicationSet.
type Set struct {
	Ref             Ref
	ResourceVersion string
	Labels          map[string]string
	Annotations     map[string]string
	// Rolling is set where its controller starts the syncs, step by step.
	Rolling bool
	Steps   []SetStep
	// Progress is where its Applications stand, by name; only RollingSync has it.
	Progress map[string]SetProgress
	// Ignored are the differences of generated Applications that its controller
	// leaves as they are; Preserved the annotations.
	Ignored   []IgnoredDifference
	Preserved []string
	// SyncPolicy says whether its controller updates Applications: "", "sync" and
	// "create-update" do.
	SyncPolicy string
	// Problem is why it could not generate, in its controller's words.
	Problem      string
	ProblemSince time.Time
}

// SetRefreshAnnotation asks the ApplicationSet controller to generate again; it
// removes it when it has. Source: argo-cd, AnnotationApplicationSetRefresh.
const SetRefreshAnnotation = "argocd.argoproj.io/application-set-refresh"

// SetStep is one step of RollingSync.
type SetStep struct {
	// Written is the step as it is written.
	Written map[string]any
	// MaxUpdate as written; empty means no limit.
	MaxUpdate string
}

// Stopped reports whether the step starts nothing. Source: argo-cd,
// updateApplicationSetApplicationStatusProgress.
func (s SetStep) Stopped() bool { return s.MaxUpdate == "0" || s.MaxUpdate == "0%" }

// SetProgress is where one Application stands in a RollingSync.
type SetProgress struct {
	// Status is Waiting, Pending, Progressing or Healthy.
	Status string
	// Step counts from 1; -1 where no step selects it, so that it is never synced.
	Step  int
	Since time.Time
}

// IgnoredDifference is one entry of spec.ignoreApplicationDifferences.
type IgnoredDifference struct {
	Name              string   `json:"name"`
	JSONPointers      []string `json:"jsonPointers"`
	JQPathExpressions []string `json:"jqPathExpressions"`
}

// Resource is the ApplicationSet.
func (s *Set) Resource() finding.Resource {
	return finding.Resource{Group: Group, Kind: "ApplicationSet", Namespace: s.Ref.Namespace, Name: s.Ref.Name}
}

// Updates reports whether the controller brings Applications back to the
// template.
func (s *Set) Updates() bool {
	return s.SyncPolicy == "" || s.SyncPolicy == "sync" || s.SyncPolicy == "create-update"
}

// Leaves reports whether the controller leaves a change of a field of an
// Application, such as "/spec/syncPolicy/automated", as it is.
func (s *Set) Leaves(application, pointer string) bool {
	if !s.Updates() {
		return true
	}
	path := strings.ReplaceAll(pointer, "/", ".")
	return slices.ContainsFunc(s.Ignored, func(d IgnoredDifference) bool {
		if d.Name != "" && d.Name != application {
			return false
		}
		return slices.ContainsFunc(d.JSONPointers, func(p string) bool { return p == pointer || strings.HasPrefix(pointer, p+"/") }) ||
			slices.ContainsFunc(d.JQPathExpressions, func(p string) bool {
				p = strings.TrimSpace(p)
				return p == path || strings.HasPrefix(path, p+".") && p != "."
			})
	})
}

// Stopped reports whether no step starts anything.
func (s *Set) Stopped() bool {
	return s.Rolling && !slices.ContainsFunc(s.Steps, func(step SetStep) bool { return !step.Stopped() })
}

type wireSet struct {
	Spec struct {
		Strategy struct {
			Type        string `json:"type"`
			RollingSync *struct {
				Steps []map[string]any `json:"steps"`
			} `json:"rollingSync"`
		} `json:"strategy"`
		IgnoreApplicationDifferences []IgnoredDifference `json:"ignoreApplicationDifferences"`
		PreservedFields              struct {
			Annotations []string `json:"annotations"`
		} `json:"preservedFields"`
		SyncPolicy struct {
			ApplicationsSync string `json:"applicationsSync"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Status struct {
		ApplicationStatus []struct {
			Application        string    `json:"application"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
			Message            string    `json:"message"`
			Status             string    `json:"status"`
			Step               string    `json:"step"`
		} `json:"applicationStatus"`
		Conditions []struct {
			Type               string    `json:"type"`
			Status             string    `json:"status"`
			Message            string    `json:"message"`
			LastTransitionTime time.Time `json:"lastTransitionTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// ParseSet reads an ApplicationSet.
func ParseSet(obj *unstructured.Unstructured) (*Set, error) {
	var w wireSet
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &w); err != nil {
		return nil, fmt.Errorf("read ApplicationSet %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	s := &Set{
		Ref: Ref{obj.GetNamespace(), obj.GetName()}, ResourceVersion: obj.GetResourceVersion(), Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(),
		Ignored: w.Spec.IgnoreApplicationDifferences, Preserved: w.Spec.PreservedFields.Annotations,
		SyncPolicy: w.Spec.SyncPolicy.ApplicationsSync, Progress: map[string]SetProgress{},
	}
	if rolling := w.Spec.Strategy.RollingSync; w.Spec.Strategy.Type == "RollingSync" && rolling != nil {
		s.Rolling = len(rolling.Steps) > 0
		for _, step := range rolling.Steps {
			limit := ""
			if step["maxUpdate"] != nil {
				limit = fmt.Sprint(step["maxUpdate"])
			}
			s.Steps = append(s.Steps, SetStep{Written: step, MaxUpdate: limit})
		}
	}
	for _, p := range w.Status.ApplicationStatus {
		step, err := strconv.Atoi(p.Step)
		if err != nil {
			step = -1
		}
		s.Progress[p.Application] = SetProgress{Status: p.Status, Step: step, Since: p.LastTransitionTime}
	}
	for _, c := range w.Status.Conditions {
		if c.Type == "ErrorOccurred" && c.Status == "True" {
			s.Problem, s.ProblemSince = c.Message, c.LastTransitionTime
		}
	}
	return s, nil
}

// InstanceLabel is the label in which Argo CD marks who applies an object, where it is
// told to, by the data of argocd-cm. Source: argo-cd, util/settings, GetAppInstanceLabelKey.
func InstanceLabel(settings map[string]string) string {
	return cmp.Or(settings[argo.InstanceLabelKey], argo.InstanceLabel)
}
