package generate

// The objects of Argo CD as far as they are generated. Names of fields are those
// of its API. Source: Argo CD, pkg/apis/application/v1alpha1.

// Argo CD's own words.
const (
	argoGroup           = "argoproj.io"
	apiVersion          = argoGroup + "/v1alpha1"
	kindApplication     = "Application"
	kindSet             = "ApplicationSet"
	waveAnnotation      = "argocd.argoproj.io/sync-wave"
	optionsAnnotation   = "argocd.argoproj.io/sync-options"
	resourcesFinalizer  = "resources-finalizer.argocd.argoproj.io"
	valuesRef           = "values"
	rollingSync         = "RollingSync"
	reverseOrder        = "Reverse"
	operatorIn          = "In"
	operatorNotIn       = "NotIn"
	optionCreate        = "CreateNamespace"
	optionServerSide    = "ServerSideApply"
	optionRespectIgnore = "RespectIgnoreDifferences"
	optionPruneLast     = "PruneLast"
	optionSkipDryRun    = "SkipDryRunOnMissingResource"
)

// compareOptions has the API server say what a sync would change, instead of Argo
// CD guess it: what the server adds to lists (claims of a StatefulSet, routes of
// the Gateway API) is no difference then. Otherwise an Application stays out of sync
// for ever, and RollingSync, which wants those of earlier steps synced, stops
// there. Source: Argo CD, "Diff strategies"; seen with v3.2.11.
const (
	compareAnnotation = "argocd.argoproj.io/compare-options"
	compareOptions    = "ServerSideDiff=true"
)

// Fields of descriptors that the generator looks for by name.
const (
	fieldDomain     = "domain"
	fieldTier       = "tier"
	fieldType       = "componentType"
	fieldDependency = "dependencyPhase"
)

// The annotations of generated Applications that say what descriptors do.
const (
	annotationPrefix    = "ladder.rollout-ladder.dev/"
	annotationType      = annotationPrefix + "component-type"
	annotationRequires  = annotationPrefix + "requires"
	annotationValidates = annotationPrefix + "validates"
	annotationTimeout   = annotationPrefix + "timeout"
	// annotationApplications says of an ApplicationSet whether it generates some
	// Applications or none: a wave behind it waits for some.
	annotationApplications = annotationPrefix + "applications"
)

// Metadata is the part of an object's metadata that is generated.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
}

// Application is an Argo CD Application.
type Application struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   Metadata        `json:"metadata"`
	Spec       ApplicationSpec `json:"spec"`
}

// ApplicationSpec has either Source or Sources.
type ApplicationSpec struct {
	Project           string             `json:"project"`
	Destination       Destination        `json:"destination"`
	Source            *Source            `json:"source,omitempty"`
	Sources           []Source           `json:"sources,omitempty"`
	SyncPolicy        *SyncPolicy        `json:"syncPolicy,omitempty"`
	IgnoreDifferences []IgnoreDifference `json:"ignoreDifferences,omitempty"`
}

// Destination is a namespace of a cluster, which has an address or a name.
type Destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace,omitempty"`
}

// Source is one source of an Application.
type Source struct {
	RepoURL        string     `json:"repoURL"`
	TargetRevision string     `json:"targetRevision,omitempty"`
	Path           string     `json:"path,omitempty"`
	Chart          string     `json:"chart,omitempty"`
	Ref            string     `json:"ref,omitempty"`
	Helm           *Helm      `json:"helm,omitempty"`
	Kustomize      *Kustomize `json:"kustomize,omitempty"`
	Directory      *Directory `json:"directory,omitempty"`
}

// Helm says how a chart is rendered.
type Helm struct {
	ReleaseName             string          `json:"releaseName,omitempty"`
	ValueFiles              []string        `json:"valueFiles,omitempty"`
	IgnoreMissingValueFiles bool            `json:"ignoreMissingValueFiles,omitempty"`
	ValuesObject            map[string]any  `json:"valuesObject,omitempty"`
	Values                  string          `json:"values,omitempty"`
	Parameters              []HelmParameter `json:"parameters,omitempty"`
	FileParameters          []FileParameter `json:"fileParameters,omitempty"`
	SkipCrds                bool            `json:"skipCrds,omitempty"`
	SkipTests               bool            `json:"skipTests,omitempty"`
	SkipSchema              bool            `json:"skipSchemaValidation,omitempty"`
	Namespace               string          `json:"namespace,omitempty"`
	KubeVersion             string          `json:"kubeVersion,omitempty"`
	APIVersions             []string        `json:"apiVersions,omitempty"`
}

// HelmParameter is one of Helm's --set, or --set-string.
type HelmParameter struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	ForceString bool   `json:"forceString,omitempty"`
}

// FileParameter is one of Helm's --set-file.
type FileParameter struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Kustomize is set over a kustomization.
type Kustomize struct {
	NamePrefix            string             `json:"namePrefix,omitempty"`
	NameSuffix            string             `json:"nameSuffix,omitempty"`
	Namespace             string             `json:"namespace,omitempty"`
	Images                []string           `json:"images,omitempty"`
	Replicas              []KustomizeReplica `json:"replicas,omitempty"`
	CommonLabels          map[string]string  `json:"commonLabels,omitempty"`
	CommonAnnotations     map[string]string  `json:"commonAnnotations,omitempty"`
	LabelWithoutSelector  bool               `json:"labelWithoutSelector,omitempty"`
	LabelIncludeTemplates bool               `json:"labelIncludeTemplates,omitempty"`
	Patches               []any              `json:"patches,omitempty"`
	Components            []string           `json:"components,omitempty"`
}

// KustomizeReplica sets the replicas of a workload.
type KustomizeReplica struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// Directory says which files of a folder of plain YAML are taken.
type Directory struct {
	Recurse bool   `json:"recurse,omitempty"`
	Include string `json:"include,omitempty"`
	Exclude string `json:"exclude,omitempty"`
}

// SyncPolicy says how and when an Application is synced.
type SyncPolicy struct {
	Automated   *Automated `json:"automated,omitempty"`
	SyncOptions []string   `json:"syncOptions,omitempty"`
	Retry       *Retry     `json:"retry,omitempty"`

	ManagedNamespaceMetadata *NamespaceMetadata `json:"managedNamespaceMetadata,omitempty"`
}

// NamespaceMetadata is what Argo CD gives the namespace that it creates for an Application.
type NamespaceMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Automated is what Argo CD does by itself. In an ApplicationSet with RollingSync
// the controller switches it off and syncs itself, pruning where Prune is set.
// Source: Argo CD, applicationset/progressivesync, SyncDesiredApplications.
type Automated struct {
	Prune    bool `json:"prune"`
	SelfHeal bool `json:"selfHeal,omitempty"`
}

// Retry says how often a failed sync is tried again; a Limit below 0 is none. With
// Refresh it is tried at the newest revision. Source: Argo CD 3.2, user guide,
// "Automatic Retry Refresh".
type Retry struct {
	Limit   int      `json:"limit"`
	Refresh bool     `json:"refresh,omitempty"`
	Backoff *Backoff `json:"backoff,omitempty"`
}

// Backoff says how soon.
type Backoff struct {
	Duration    string `json:"duration,omitempty"`
	Factor      int64  `json:"factor,omitempty"`
	MaxDuration string `json:"maxDuration,omitempty"`
}

// IgnoreDifference names fields that are not Argo CD's to compare.
type IgnoreDifference struct {
	Group                 string   `json:"group,omitempty"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name,omitempty"`
	Namespace             string   `json:"namespace,omitempty"`
	JSONPointers          []string `json:"jsonPointers,omitempty"`
	JQPathExpressions     []string `json:"jqPathExpressions,omitempty"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers,omitempty"`
}

// ApplicationSet is an Argo CD ApplicationSet.
type ApplicationSet struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Metadata   Metadata           `json:"metadata"`
	Spec       ApplicationSetSpec `json:"spec"`
}

// ApplicationSetSpec generates Applications with Go templates.
type ApplicationSetSpec struct {
	GoTemplate        bool        `json:"goTemplate"`
	GoTemplateOptions []string    `json:"goTemplateOptions"`
	Generators        []Generator `json:"generators"`
	Template          Template    `json:"template"`
	TemplatePatch     string      `json:"templatePatch,omitempty"`
	Strategy          Strategy    `json:"strategy"`
}

// Generator makes parameters of the files of a repository, or of a list.
type Generator struct {
	Git      *GitGenerator  `json:"git,omitempty"`
	List     *ListGenerator `json:"list,omitempty"`
	Selector *Selector      `json:"selector,omitempty"`
}

// GitGenerator makes one set of parameters of each file.
type GitGenerator struct {
	RepoURL  string    `json:"repoURL"`
	Revision string    `json:"revision"`
	Files    []GitFile `json:"files"`
}

// GitFile is a pattern of files.
type GitFile struct {
	Path string `json:"path"`
}

// ListGenerator has the parameters written out.
type ListGenerator struct {
	Elements []Element `json:"elements"`
}

// Element is one Application of a list, as far as it differs from the others.
type Element struct {
	Name        string            `json:"name"`
	Project     string            `json:"project"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Namespace   string            `json:"namespace"`
	Spec        ElementSpec       `json:"spec"`
}

// ElementSpec is the part of spec that differs.
type ElementSpec struct {
	Source            *Source            `json:"source,omitempty"`
	Sources           []Source           `json:"sources,omitempty"`
	SyncPolicy        *SyncPolicy        `json:"syncPolicy,omitempty"`
	IgnoreDifferences []IgnoreDifference `json:"ignoreDifferences,omitempty"`
}

// Selector chooses among sets of parameters.
type Selector struct {
	MatchExpressions []Expression `json:"matchExpressions"`
}

// Template is that of the generated Applications.
type Template struct {
	Metadata Metadata        `json:"metadata"`
	Spec     ApplicationSpec `json:"spec"`
}

// Strategy is RollingSync.
type Strategy struct {
	Type          string  `json:"type"`
	DeletionOrder string  `json:"deletionOrder"`
	RollingSync   Rolling `json:"rollingSync"`
}

// Rolling are the steps of RollingSync.
type Rolling struct {
	Steps []RollingStep `json:"steps"`
}

// RollingStep matches Applications by their labels; MaxUpdate is a number, a
// percentage as text, or nil for no limit.
type RollingStep struct {
	MatchExpressions []Expression `json:"matchExpressions"`
	MaxUpdate        any          `json:"maxUpdate,omitempty"`
}

// Expression matches a label.
type Expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// Kustomization lists the files that are applied.
type Kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
}
