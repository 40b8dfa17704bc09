package main

// Request is a repository, and what is applied by hand of it.
type Request struct {
	// Address is that of a local Git repository, file://. Own are the addresses by
	// which its Applications know it, without scheme, user and ".git".
	Address string   `json:"address"`
	Own     []string `json:"own"`
	// Namespace is Argo CD's.
	Namespace string `json:"namespace"`
	// NewGlobbing is the setting
	// applicationsetcontroller.enable.new.git.file.globbing.
	NewGlobbing bool `json:"newGlobbing"`
	// KubeVersion and APIVersions are those of the target.
	KubeVersion string   `json:"kubeVersion"`
	APIVersions []string `json:"apiVersions"`
	// BuildOptions are kustomize.buildOptions, Versions those of kustomize that sources
	// may ask for; all of them are one program.
	BuildOptions string    `json:"buildOptions"`
	Versions     []string  `json:"versions"`
	Clusters     []Cluster `json:"clusters"`
	// Roots are the objects that are applied by hand.
	Roots []map[string]any `json:"roots"`
}

// Cluster is one that Argo CD knows.
type Cluster struct {
	Name        string            `json:"name"`
	Server      string            `json:"server"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Result is what Argo CD makes of it.
type Result struct {
	Applications []Application `json:"applications"`
	// Failures are those of ApplicationSets.
	Failures []Failure `json:"failures"`
}

// Failure is why an ApplicationSet yields nothing, or less.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Application is one that Argo CD would have.
type Application struct {
	Name string `json:"name"`
	// Set is the ApplicationSet that generates it, Parent the Application that
	// applies it or its ApplicationSet; empty where there is none.
	Set    string         `json:"set"`
	Parent string         `json:"parent"`
	Spec   map[string]any `json:"spec"`
	// Types are how its sources are rendered; empty for one of another repository.
	Types []string `json:"types"`
	// Objects are those of its sources in the repository.
	Objects []map[string]any `json:"objects"`
	// Elsewhere is set where a source is not in the repository, Failure where one
	// cannot be rendered.
	Elsewhere bool   `json:"elsewhere"`
	Failure   string `json:"failure"`
}
