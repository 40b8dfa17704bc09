package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// The kinds that are watched. Source: argo-cd, pkg/apis/application/v1alpha1.
const (
	Group   = "argoproj.io"
	Version = "v1alpha1"
)

// Applications is the resource of Applications.
func Applications() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: "applications"}
}

// ApplicationSets is the resource of ApplicationSets.
func ApplicationSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: "applicationsets"}
}

// Projects is the resource of AppProjects.
func Projects() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: "appprojects"}
}

// Ref names an object of Argo CD.
type Ref struct{ Namespace, Name string }

// String prints "namespace/name".
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// Resource is the Application of that name.
func (r Ref) Resource() finding.Resource {
	return finding.Resource{Group: Group, Kind: "Application", Namespace: r.Namespace, Name: r.Name}
}

// RefreshAnnotation asks the controller to compare again; it removes it in the
// patch that writes the comparison. Source: argo-cd, AnnotationKeyRefresh.
const RefreshAnnotation = "argocd.argoproj.io/refresh"

// Application is what matters of an Application. The field names are those of
// Argo CD's API.
type Application struct {
	Ref             Ref
	UID             string
	ResourceVersion string
	Labels          map[string]string
	Annotations     map[string]string
	Finalizers      []string
	Deleting        bool
	// Set is the ApplicationSet that owns it; empty where none does.
	Set string
	Spec
	// Operation is the operation that is asked for or runs; nil where none is.
	Operation *Operation
	Status    Status
}

// Spec is the spec of an Application.
type Spec struct {
	Project           string           `json:"project"`
	Destination       Destination      `json:"destination"`
	Source            map[string]any   `json:"source"`
	Sources           []map[string]any `json:"sources"`
	SourceHydrator    map[string]any   `json:"sourceHydrator"`
	IgnoreDifferences []any            `json:"ignoreDifferences"`
	SyncPolicy        SyncPolicy       `json:"syncPolicy"`
}

// Destination is where an Application goes.
type Destination struct {
	Server    string `json:"server"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// SyncPolicy is the sync policy of an Application. Automated and Retry are kept
// as they are written.
type SyncPolicy struct {
	Automated   map[string]any `json:"automated"`
	SyncOptions []string       `json:"syncOptions"`
	Retry       map[string]any `json:"retry"`
	Namespace   map[string]any `json:"managedNamespaceMetadata"`
}

// OnlyAutomated reports whether nothing but the automated sync is said.
func (p SyncPolicy) OnlyAutomated() bool {
	return p.Automated != nil && len(p.SyncOptions) == 0 && p.Retry == nil && p.Namespace == nil
}

// IsAutomated reports whether Argo CD syncs by itself.
func (p SyncPolicy) IsAutomated() bool {
	enabled, written := p.Automated["enabled"].(bool)
	return p.Automated != nil && (!written || enabled)
}

// Prunes reports whether the automated sync deletes what is not rendered any
// more.
func (p SyncPolicy) Prunes() bool { prune, _ := p.Automated["prune"].(bool); return prune }

// SelfHeals reports whether the automated sync undoes changes of live objects.
func (p SyncPolicy) SelfHeals() bool {
	heal, _ := p.Automated["selfHeal"].(bool)
	return heal && p.IsAutomated()
}

// AllSources are the sources in order: spec.sources, else spec.source.
func (s Spec) AllSources() []map[string]any {
	if len(s.Sources) > 0 {
		return s.Sources
	}
	if s.Source != nil {
		return []map[string]any{s.Source}
	}
	return nil
}

// MultiSource reports whether revisions are lists.
func (s Spec) MultiSource() bool { return len(s.Sources) > 0 }

// Operation is an operation that was asked for.
type Operation struct {
	Sync        *SyncOperation `json:"sync"`
	InitiatedBy Initiator      `json:"initiatedBy"`
	Info        []Info         `json:"info"`
	Retry       struct {
		Limit int64 `json:"limit"`
	} `json:"retry"`
}

// SyncOperation is a sync that was asked for.
type SyncOperation struct {
	Revision  string   `json:"revision"`
	Revisions []string `json:"revisions"`
	DryRun    bool     `json:"dryRun"`
	// Resources are those that a partial sync is about.
	Resources []any `json:"resources"`
}

// Initiator is who asked for an operation.
type Initiator struct {
	Username  string `json:"username"`
	Automated bool   `json:"automated"`
}

// String names the initiator for people.
func (i Initiator) String() string {
	switch {
	case i.Username != "":
		return i.Username
	case i.Automated:
		return "automated sync"
	}
	return "an unknown user"
}

// Info is a pair that whoever asks for an operation may leave with it.
type Info struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Value is an info of an operation; empty where it is not there.
func (o *Operation) Value(name string) string {
	if o == nil {
		return ""
	}
	for _, i := range o.Info {
		if i.Name == name {
			return i.Value
		}
	}
	return ""
}

// Status is the status of an Application.
type Status struct {
	Sync           SyncStatus      `json:"sync"`
	Health         Health          `json:"health"`
	Resources      []Resource      `json:"resources"`
	Conditions     []Condition     `json:"conditions"`
	ReconciledAt   time.Time       `json:"reconciledAt"`
	OperationState *OperationState `json:"operationState"`
}

// SyncStatus is the last comparison.
type SyncStatus struct {
	Status     string     `json:"status"`
	Revision   string     `json:"revision"`
	Revisions  []string   `json:"revisions"`
	ComparedTo ComparedTo `json:"comparedTo"`
}

// ComparedTo is the part of the spec that the comparison was made with.
type ComparedTo struct {
	Source            map[string]any   `json:"source"`
	Sources           []map[string]any `json:"sources"`
	Destination       Destination      `json:"destination"`
	IgnoreDifferences []any            `json:"ignoreDifferences"`
}

// Health is the health of an Application or of one of its objects.
type Health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
	// LastTransitionTime is when it changed last; Argo CD writes it since 3.0.
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// Resource is one object of an Application. Health is empty where Argo CD keeps
// it outside the Application, which is the default since 3.0.
type Resource struct {
	Group           string `json:"group"`
	Version         string `json:"version"`
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	Status          string `json:"status"`
	Health          Health `json:"health"`
	Hook            bool   `json:"hook"`
	RequiresPruning bool   `json:"requiresPruning"`
	// RequiresDeletionConfirmation is set where a person must confirm its end.
	RequiresDeletionConfirmation bool `json:"requiresDeletionConfirmation"`
}

// Resource names the object.
func (r Resource) Resource() finding.Resource {
	return finding.Resource{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// Condition is an error or a warning of the controller.
type Condition struct {
	Type               string    `json:"type"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

// OperationState is the operation that runs or ran last.
type OperationState struct {
	Operation  Operation   `json:"operation"`
	Phase      string      `json:"phase"`
	Message    string      `json:"message"`
	SyncResult *SyncResult `json:"syncResult"`
	StartedAt  time.Time   `json:"startedAt"`
	FinishedAt time.Time   `json:"finishedAt"`
	RetryCount int64       `json:"retryCount"`
}

// The phases of an operation. Source: gitops-engine, pkg/sync/common.
const (
	Running     = "Running"
	Terminating = "Terminating"
	Failed      = "Failed"
	Error       = "Error"
	Succeeded   = "Succeeded"
)

// The sync states of a comparison.
const (
	Synced    = "Synced"
	OutOfSync = "OutOfSync"
)

// Ended reports whether the operation is over. One that waits for a retry is
// Running and has a finishedAt.
func (s *OperationState) Ended() bool {
	return s != nil && (s.Phase == Succeeded || s.Phase == Failed || s.Phase == Error)
}

// Value is an info of the operation; empty where it is not there.
func (s *OperationState) Value(name string) string {
	if s == nil {
		return ""
	}
	return s.Operation.Value(name)
}

// IsTerminating reports whether the operation is being ended early.
func (s *OperationState) IsTerminating() bool { return s != nil && s.Phase == Terminating }

// SyncResult is what a sync did.
type SyncResult struct {
	Resources []Result         `json:"resources"`
	Revision  string           `json:"revision"`
	Revisions []string         `json:"revisions"`
	Source    map[string]any   `json:"source"`
	Sources   []map[string]any `json:"sources"`
}

// Result is what a sync did to one object.
type Result struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	Message   string `json:"message"`
	HookType  string `json:"hookType"`
	HookPhase string `json:"hookPhase"`
	SyncPhase string `json:"syncPhase"`
}

// Resource names the object.
func (r Result) Resource() finding.Resource {
	return finding.Resource{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
}

// InProgress reports whether an operation runs, waits for its retry, or was
// asked for.
func (a *Application) InProgress() bool {
	s := a.Status.OperationState
	return a.Operation != nil || s != nil && !s.Ended()
}

// Current is the operation that is in progress: the one that was asked for, else
// the one that runs.
func (a *Application) Current() *Operation {
	switch {
	case a.Operation != nil:
		return a.Operation
	case a.InProgress():
		return &a.Status.OperationState.Operation
	}
	return nil
}

// AppliedSpec reports whether the last operation synced the sources that the spec
// has now.
func (a *Application) AppliedSpec() bool {
	s := a.Status.OperationState
	return s != nil && s.SyncResult != nil && sameSources(a.Spec, s.SyncResult.Source, s.SyncResult.Sources)
}

// Started reports whether the controller has taken up the operation in progress.
// Between the request and that, the state of an earlier operation may still be
// there.
func (a *Application) Started() bool {
	s := a.Status.OperationState
	return s != nil && !s.Ended()
}

// wire is an Application as the API server has it.
type wire struct {
	Spec      Spec       `json:"spec"`
	Operation *Operation `json:"operation"`
	Status    Status     `json:"status"`
}

// Parse reads an Application. It fails where a field is not of the type that
// Argo CD's API gives it.
func Parse(obj *unstructured.Unstructured) (*Application, error) {
	var w wire
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &w); err != nil {
		return nil, fmt.Errorf("read Application %s/%s: %w", obj.GetNamespace(), obj.GetName(), err)
	}
	a := &Application{
		Ref: Ref{obj.GetNamespace(), obj.GetName()}, UID: string(obj.GetUID()), ResourceVersion: obj.GetResourceVersion(),
		Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), Finalizers: obj.GetFinalizers(),
		Deleting: obj.GetDeletionTimestamp() != nil,
		Spec:     w.Spec, Operation: w.Operation, Status: w.Status,
	}
	for _, owner := range obj.GetOwnerReferences() {
		if owner.Kind == "ApplicationSet" && strings.HasPrefix(owner.APIVersion, Group+"/") {
			a.Set = owner.Name
		}
	}
	return a, nil
}
