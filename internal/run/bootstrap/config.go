package bootstrap

import (
	"time"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Config is a bootstrap configuration, read. Paths are relative to the root of
// the platform, those of secret values to the folder of the file.
type Config struct {
	// File is the path of the configuration as it was given.
	File string
	// Platform is the folder of the platform, relative to the folder of the
	// configuration; empty for the platform that the configuration lies in.
	Platform    string
	Environment string
	// EnvFile has values of environment variables that are not set; relative to the
	// folder of the file. It need not be there. Empty for none.
	EnvFile Path
	// Timeout bounds the whole run.
	Timeout      time.Duration
	Cluster      Cluster
	PreArgo      PreArgo
	ArgoCD       ArgoCD
	Repositories []Repository
	PullSecrets  []PullSecret
	Secrets      []Secret
	Root         Root
	Wait         Wait
	PortForward  PortForward
}

// Cluster says where the platform goes.
type Cluster struct {
	// Kubeconfig and Context choose the cluster where no flag does.
	Kubeconfig, Context string
	Create              *Create
}

// Create makes the cluster where it does not exist.
type Create struct {
	Tool string // k3d or kind
	Name string
	// Config is a configuration file of the tool, relative to the root of the
	// platform; empty for none.
	Config string
	// Args are further arguments of its command create.
	Args     []string
	Position finding.Position
}

// PreArgo is about the entries of preArgo in ladder.yaml.
type PreArgo struct {
	Skip bool
}

// ArgoCD says how Argo CD is installed.
type ArgoCD struct {
	Namespace string
	// Skip leaves an installation alone that somebody else looks after; it is
	// waited for.
	Skip bool
	// Manifest or Chart is what is installed.
	Manifest *Manifest
	Chart    *Chart
	// Settings are files of ConfigMaps that are laid over those of the
	// installation.
	Settings []Path
	Timeout  time.Duration
	Position finding.Position
}

// Path is a path and the place that names it.
type Path struct {
	Path     string
	Position finding.Position
}

// Manifest is a file of YAML.
type Manifest struct {
	// Path or URL is set.
	Path, URL string
	// Digest is "sha256:" and 64 hexadecimal digits; needed for a URL.
	Digest   string
	Position finding.Position
}

// Chart is a Helm chart.
type Chart struct {
	// Path of a folder of the repository, or URL of an archive, or RepoURL with
	// Name and Version.
	Path, URL              string
	RepoURL, Name, Version string
	Digest                 string
	ReleaseName            string
	ValueFiles             []Path
	Values                 map[string]any
	Position               finding.Position
}

// Value is a text from an environment variable, a file, or, where it is no
// secret, the configuration.
type Value struct {
	Env, File, Text string
	// Field names the value in messages.
	Field    string
	Position finding.Position
}

// Set reports whether the value is written.
func (v Value) Set() bool { return v.Env != "" || v.File != "" || v.Text != "" }

// Repository is a repository Secret of Argo CD, or a template of credentials for
// all repositories below an address.
type Repository struct {
	Name string
	URL  string
	// Template makes it repo-creds.
	Template bool
	Type     string // git, helm or oci
	Project  string
	// Fields are the values by the key of the Secret, in the order of the keys.
	Fields   []Field
	Insecure bool
	// EnableOCI is set for a Helm registry.
	EnableOCI bool
	Position  finding.Position
}

// Field is one key of a Secret.
type Field struct {
	Key   string
	Value Value
}

// PullSecret is a Secret of type kubernetes.io/dockerconfigjson in several
// namespaces.
type PullSecret struct {
	Name       string
	Namespaces []string
	// Config is a whole .dockerconfigjson; else Registries make one.
	Config     Value
	Registries []Registry
	Position   finding.Position
}

// Registry is an account at a registry of images.
type Registry struct {
	Server             string
	Username, Password Value
}

// Secret is any other Secret that the platform needs before Argo CD runs.
type Secret struct {
	Name, Namespace string
	Type            string
	Labels          map[string]string
	Data            []Field
	Position        finding.Position
}

// Root says what is applied when Argo CD runs.
type Root struct {
	// Paths are files and folders of the repository; empty for the folder that
	// ladder generate writes.
	Paths []Path
	// Generate takes what ladder generate would write, without the files.
	Generate bool
	// RepoURL and Revision replace those of ladder.yaml in what is generated.
	RepoURL, Revision string
	Position          finding.Position
}

// Wait says what the run waits for.
type Wait struct {
	// Skip waits for nothing.
	Skip bool
	// Bands are the last to wait for, all where empty.
	Bands []Path
	// NoSmokes leaves the smoke checks out.
	NoSmokes bool
	// Grace is how long an Application may be Degraded, or its sync have failed,
	// without a change, until the run gives up.
	Grace   time.Duration
	Timeout time.Duration
}

// PortForward is how the web page of Argo CD is reached from here.
type PortForward struct {
	Service   string
	Port      int // of the Service
	LocalPort int
}

// The defaults of a configuration.
const (
	DefaultTimeout     = 45 * time.Minute
	DefaultArgoTimeout = 10 * time.Minute
	DefaultGrace       = 5 * time.Minute
	DefaultNamespace   = "argocd"
	DefaultService     = "argocd-server"
	DefaultServicePort = 443
	DefaultLocalPort   = 8443
)
