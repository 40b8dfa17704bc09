package schema

import "github.com/invopop/jsonschema"

// BootstrapFile is the configuration of ladder bootstrap.
type BootstrapFile struct {
	Platform     string                `json:"platform" jsonschema_description:"The folder of the platform, relative to the folder of this file. Default: the platform that this file lies in."`
	Environment  string                `json:"environment" jsonschema_description:"Default: the only one, else dev."`
	EnvFile      string                `json:"envFile" jsonschema_description:"A file of NAME=value lines, such as .env, for variables that are not set. It need not be there. Relative to the folder of this file."`
	Timeout      Duration              `json:"timeout" jsonschema_description:"Bounds the whole run. Default: 45m."`
	Cluster      *BootstrapCluster     `json:"cluster" jsonschema_description:"Default: the current context of the kubeconfig."`
	PreArgo      *BootstrapPreArgo     `json:"preArgo" jsonschema_description:"About the entries of preArgo in ladder.yaml."`
	ArgoCD       BootstrapArgoCD       `json:"argocd" jsonschema:"required" jsonschema_description:"How Argo CD is installed."`
	Repositories []BootstrapRepository `json:"repositories" jsonschema_description:"Repository Secrets of Argo CD."`
	PullSecrets  []BootstrapPullSecret `json:"pullSecrets" jsonschema_description:"Secrets of type kubernetes.io/dockerconfigjson."`
	Secrets      []BootstrapSecret     `json:"secrets" jsonschema_description:"Other Secrets that the platform needs first."`
	Root         *BootstrapRoot        `json:"root" jsonschema_description:"What is applied when Argo CD runs. Default: the root of the folder that ladder generate writes."`
	Wait         *BootstrapWait        `json:"wait"`
	PortForward  *BootstrapPortForward `json:"portForward" jsonschema_description:"How --port-forward reaches the web page of Argo CD."`
}

// JSONSchemaExtend allows an empty value for every optional section.
func (BootstrapFile) JSONSchemaExtend(s *jsonschema.Schema) { nullable(s) }

// BootstrapCluster says where the platform goes.
type BootstrapCluster struct {
	Kubeconfig string           `json:"kubeconfig"`
	Context    string           `json:"context"`
	Create     *BootstrapCreate `json:"create" jsonschema_description:"Makes the cluster where it does not exist."`
}

// BootstrapCreate makes a cluster.
type BootstrapCreate struct {
	Tool   string   `json:"tool" jsonschema:"required,enum=k3d,enum=kind"`
	Name   string   `json:"name" jsonschema:"required,pattern=^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"`
	Config string   `json:"config" jsonschema_description:"A configuration file of the tool, relative to the root of the platform."`
	Args   []string `json:"args" jsonschema_description:"Further arguments of its command create."`
}

// BootstrapPreArgo is about what comes before Argo CD.
type BootstrapPreArgo struct {
	Skip bool `json:"skip" jsonschema:"default=false" jsonschema_description:"Somebody else applies it, such as the machine configuration."`
}

// BootstrapArgoCD installs Argo CD.
type BootstrapArgoCD struct {
	Namespace string             `json:"namespace" jsonschema_description:"Default: that of ladder.yaml, else argocd."`
	Skip      bool               `json:"skip" jsonschema_description:"Argo CD is there already; it is only waited for."`
	Manifest  *BootstrapManifest `json:"manifest" jsonschema_description:"A manifest, such as the install.yaml of a release."`
	Chart     *BootstrapChart    `json:"chart" jsonschema_description:"A Helm chart."`
	Settings  []string           `json:"settings" jsonschema_description:"Files of ConfigMaps that are laid over those of the installation."`
	Timeout   Duration           `json:"timeout" jsonschema_description:"Until its workloads are available. Default: 10m."`
}

// JSONSchemaExtend asks for one way.
func (BootstrapArgoCD) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"manifest"}}, {Required: []string{"chart"}}, {Required: []string{"skip"}}}
}

// BootstrapManifest is a file of YAML.
type BootstrapManifest struct {
	Path   string `json:"path" jsonschema_description:"A file or folder, relative to the root of the platform."`
	URL    string `json:"url" jsonschema_description:"Downloaded; needs a digest."`
	Digest Digest `json:"digest"`
}

// JSONSchemaExtend asks for a path, or a URL with its digest.
func (BootstrapManifest) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"path"}}, {Required: []string{"url", "digest"}}}
}

// Digest is that of something that is downloaded.
type Digest struct{}

// JSONSchema is the form of sha256sum.
func (Digest) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^sha256:[0-9a-f]{64}$", Description: "sha256: and the 64 digits that sha256sum prints."}
}

// BootstrapChart is a Helm chart.
type BootstrapChart struct {
	Path        string   `json:"path" jsonschema_description:"A chart of the repository, relative to the root of the platform."`
	URL         string   `json:"url" jsonschema_description:"The archive of a chart; needs a digest."`
	RepoURL     string   `json:"repoURL" jsonschema_description:"A chart repository; needs name, version and digest."`
	Name        string   `json:"name"`
	Version     Text     `json:"version"`
	Digest      Digest   `json:"digest"`
	ReleaseName string   `json:"releaseName" jsonschema:"default=argocd"`
	ValueFiles  []string `json:"valueFiles" jsonschema_description:"Relative to the root of the platform; later ones win."`
	Values      Anything `json:"values" jsonschema_description:"Win over every file."`
}

// JSONSchemaExtend asks for one place.
func (BootstrapChart) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"path"}}, {Required: []string{"url", "digest"}}, {Required: []string{"repoURL", "name", "version", "digest"}}}
}

// SecretValue is a value that is never written in the file.
type SecretValue struct {
	Env  string `json:"env" jsonschema_description:"The name of an environment variable."`
	File string `json:"file" jsonschema_description:"A path, relative to the folder of this file."`
}

// JSONSchemaExtend asks for one of the two.
func (SecretValue) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"env"}}, {Required: []string{"file"}}}
}

// PlainValue is a value that may be written in the file.
type PlainValue struct{}

// JSONSchema allows text, and what SecretValue does.
func (PlainValue) JSONSchema() *jsonschema.Schema {
	env, file := jsonschema.NewProperties(), jsonschema.NewProperties()
	env.Set("env", &jsonschema.Schema{Type: "string"})
	file.Set("file", &jsonschema.Schema{Type: "string"})
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "string"}, {Type: "number"},
		{Type: "object", Properties: env, Required: []string{"env"}, AdditionalProperties: jsonschema.FalseSchema},
		{Type: "object", Properties: file, Required: []string{"file"}, AdditionalProperties: jsonschema.FalseSchema},
	}}
}

// BootstrapRepository is a repository Secret of Argo CD.
type BootstrapRepository struct {
	Name                       string       `json:"name" jsonschema:"required" jsonschema_description:"The name of the Secret."`
	URL                        string       `json:"url" jsonschema:"required" jsonschema_description:"Without credentials."`
	Type                       string       `json:"type" jsonschema:"enum=git,enum=helm,enum=oci,default=git"`
	Template                   bool         `json:"template" jsonschema_description:"Credentials for every repository below the address (repo-creds)."`
	Project                    string       `json:"project"`
	Insecure                   bool         `json:"insecure"`
	EnableOCI                  bool         `json:"enableOCI"`
	Username                   PlainValue   `json:"username"`
	Password                   *SecretValue `json:"password"`
	BearerToken                *SecretValue `json:"bearerToken"`
	SSHPrivateKey              *SecretValue `json:"sshPrivateKey"`
	GithubAppID                PlainValue   `json:"githubAppID"`
	GithubAppInstallationID    PlainValue   `json:"githubAppInstallationID"`
	GithubAppPrivateKey        *SecretValue `json:"githubAppPrivateKey"`
	GithubAppEnterpriseBaseURL PlainValue   `json:"githubAppEnterpriseBaseUrl"`
	GCPServiceAccountKey       *SecretValue `json:"gcpServiceAccountKey"`
	TLSClientCertData          PlainValue   `json:"tlsClientCertData"`
	TLSClientCertKey           *SecretValue `json:"tlsClientCertKey"`
}

// BootstrapPullSecret lets pods pull images.
type BootstrapPullSecret struct {
	Name       string              `json:"name" jsonschema:"required"`
	Namespaces []string            `json:"namespaces" jsonschema:"required,minItems=1" jsonschema_description:"Made where they do not exist."`
	Registries []BootstrapRegistry `json:"registries"`
	Config     *SecretValue        `json:"config" jsonschema_description:"A whole .dockerconfigjson."`
}

// JSONSchemaExtend asks for one of the two.
func (BootstrapPullSecret) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"registries"}}, {Required: []string{"config"}}}
}

// BootstrapRegistry is an account at a registry.
type BootstrapRegistry struct {
	Server   string      `json:"server" jsonschema:"required"`
	Username PlainValue  `json:"username" jsonschema:"required"`
	Password SecretValue `json:"password" jsonschema:"required"`
}

// BootstrapSecret is any other Secret.
type BootstrapSecret struct {
	Name      string                 `json:"name" jsonschema:"required"`
	Namespace string                 `json:"namespace" jsonschema:"required" jsonschema_description:"Made where it does not exist."`
	Type      string                 `json:"type" jsonschema:"default=Opaque"`
	Labels    Texts                  `json:"labels"`
	Data      map[string]SecretValue `json:"data" jsonschema:"required,minProperties=1"`
}

// BootstrapRoot says what Argo CD finds everything by.
type BootstrapRoot struct {
	Paths    []string `json:"paths" jsonschema_description:"Files and folders that are applied by hand, relative to the root of the platform."`
	Generate bool     `json:"generate" jsonschema_description:"Takes what ladder generate would write."`
	RepoURL  string   `json:"repoURL" jsonschema_description:"Instead of that of ladder.yaml, with generate."`
	Revision string   `json:"revision" jsonschema_description:"Instead of that of ladder.yaml, with generate."`
}

// BootstrapWait says what the run waits for.
type BootstrapWait struct {
	Skip    bool     `json:"skip" jsonschema_description:"Waits for nothing after the root is applied."`
	Bands   []string `json:"bands" jsonschema_description:"The bands to wait for. Default: all."`
	Smokes  bool     `json:"smokes" jsonschema:"default=true" jsonschema_description:"Runs the smoke checks of each band."`
	Grace   Duration `json:"grace" jsonschema_description:"How long something may be wrong without a change until the run gives up. Default: 5m."`
	Timeout Duration `json:"timeout" jsonschema_description:"Default: what is left of the whole."`
}

// BootstrapPortForward names the web page of Argo CD.
type BootstrapPortForward struct {
	Service   string `json:"service" jsonschema:"default=argocd-server"`
	Port      int    `json:"port" jsonschema:"minimum=1,maximum=65535,default=443"`
	LocalPort int    `json:"localPort" jsonschema:"minimum=1,maximum=65535,default=8443"`
}
