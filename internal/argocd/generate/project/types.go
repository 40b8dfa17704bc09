package project

// AppProject is Argo CD's object, as far as it is generated. Source: Argo CD,
// pkg/apis/application/v1alpha1, types.go and app_project_types.go.
type AppProject struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata is the part of an object's metadata that is generated.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
}

// Spec is what a project allows. The lists of kinds are always written: Argo CD
// allows every namespaced kind where the list is missing.
type Spec struct {
	Description                string        `json:"description,omitempty"`
	SourceRepos                []string      `json:"sourceRepos"`
	Destinations               []Destination `json:"destinations"`
	ClusterResourceWhitelist   []GroupKind   `json:"clusterResourceWhitelist"`
	NamespaceResourceWhitelist []GroupKind   `json:"namespaceResourceWhitelist"`
	Roles                      []Grant       `json:"roles,omitempty"`
	SyncWindows                []Window      `json:"syncWindows,omitempty"`
	OrphanedResources          *Orphaned     `json:"orphanedResources,omitempty"`
}

// Destination is a namespace of a cluster, which has an address or a name.
type Destination struct {
	Server    string `json:"server,omitempty"`
	Name      string `json:"name,omitempty"`
	Namespace string `json:"namespace"`
}

// GroupKind names a kind; the core group is empty.
type GroupKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
}

// Grant is a role as the project has it, with its policies in Casbin's form.
type Grant struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Policies    []string `json:"policies,omitempty"`
	Groups      []string `json:"groups,omitempty"`
}

// Window is a sync window of the project.
type Window struct {
	Kind         string   `json:"kind"`
	Schedule     string   `json:"schedule"`
	Duration     string   `json:"duration"`
	Applications []string `json:"applications,omitempty"`
	Namespaces   []string `json:"namespaces,omitempty"`
	Clusters     []string `json:"clusters,omitempty"`
	ManualSync   bool     `json:"manualSync,omitempty"`
	TimeZone     string   `json:"timeZone,omitempty"`
	Description  string   `json:"description,omitempty"`
}

// Orphaned has Argo CD watch the namespaces of the project for what no
// Application has.
type Orphaned struct {
	Warn bool `json:"warn"`
}
