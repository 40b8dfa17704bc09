package schema

import "github.com/invopop/jsonschema"

// LadderFile is ladder.yaml.
type LadderFile struct {
	Layout       string                 `json:"layout" jsonschema:"enum=single,enum=tiers,enum=app-of-apps,default=single" jsonschema_description:"The shape of the Argo CD objects."`
	Bands        []Band                 `json:"bands" jsonschema_description:"Ranges of phases owned by domains; they must not overlap."`
	Steps        []Step                 `json:"steps" jsonschema_description:"The steps in the order in which they run. Default: one per phase in use."`
	Waves        []Wave                 `json:"waves" jsonschema_description:"What people are told of sync waves (layout app-of-apps)."`
	Tiers        []string               `json:"tiers" jsonschema_description:"The tiers in parent order (layout tiers)."`
	Environments map[string]Environment `json:"environments"`
	Defaults     *Defaults              `json:"defaults"`
	Durations    *Durations             `json:"durations" jsonschema_description:"Expected times from start to Healthy."`
	PreArgo      []PreArgo              `json:"preArgo" jsonschema_description:"Manifests that are applied before Argo CD exists."`
	Simulation   *Simulation            `json:"simulation"`
	Repository   *Repository            `json:"repository"`
	Generators   *Generators            `json:"generators"`
	Catalogue    []CatalogueItem        `json:"catalogue" jsonschema_description:"What charts provide that are not rendered: glob patterns of files of entries, or entries."`
	Lint         *Lint                  `json:"lint"`
	Parity       *Parity                `json:"parity"`
	ArgoCD       *ArgoCD                `json:"argocd" jsonschema_description:"What the generated objects of Argo CD say."`
}

// Band is a range of phases.
type Band struct {
	Name  string   `json:"name" jsonschema:"required"`
	From  Phase    `json:"from" jsonschema:"required"`
	To    Phase    `json:"to" jsonschema:"required" jsonschema_description:"The last phase of the band."`
	Types []string `json:"types" jsonschema:"enum=namespaces,enum=crds,enum=operator,enum=secrets,enum=config,enum=runtime,enum=bootstrap,enum=smoke" jsonschema_description:"The types of components that may stand in the band. Default: all."`
}

// Step is one step of the ladder.
type Step struct {
	Phases    []Phase   `json:"phases" jsonschema:"required,minItems=1"`
	MaxUpdate MaxUpdate `json:"maxUpdate" jsonschema_description:"Default: that of the slot of the first phase."`
	Tier      string    `json:"tier" jsonschema_description:"The tier of the step (layout tiers)."`
	Title     string    `json:"title" jsonschema_description:"What the step is called."`
	Purpose   string    `json:"purpose" jsonschema_description:"What it is for."`
	Gate      string    `json:"gate" jsonschema_description:"One sentence: what is true before the next step."`
}

// Wave tells of a sync wave.
type Wave struct {
	Wave    int    `json:"wave" jsonschema:"required"`
	Title   string `json:"title"`
	Purpose string `json:"purpose"`
	Gate    string `json:"gate" jsonschema_description:"One sentence: what is true before the next wave."`
}

// Environment is one overlay of the platform.
type Environment struct {
	Values      []string     `json:"values" jsonschema_description:"Layers of values for every chart component, in order. {{environment}}, {{domain}}, {{name}} and {{namespace}} are filled in; missing files are left out."`
	KubeVersion Text         `json:"kubeVersion" jsonschema_description:"The Kubernetes version of the target."`
	APIVersions []string     `json:"apiVersions" jsonschema_description:"API versions that the target has besides Kubernetes' own."`
	Components  []string     `json:"components" jsonschema_description:"Folders of descriptors; a descriptor in a later one replaces those of the same name. Default: environments/<name>/components."`
	Path        string       `json:"path" jsonschema_description:"The folder of the overlay, in a repository of Argo CD Applications."`
	Destination *Destination `json:"destination" jsonschema_description:"The cluster of the environment. Default: argocd.destination."`
}

// Defaults are those of every component.
type Defaults struct {
	Timeout     Duration `json:"timeout"`
	Retry       *Retry   `json:"retry"`
	MaxInFlight int      `json:"maxInFlight" jsonschema:"minimum=1" jsonschema_description:"The cap over all steps under the policy edges."`
}

// Durations are expected times.
type Durations struct {
	Types      *TypeDurations      `json:"types"`
	Components map[string]Duration `json:"components"`
}

// TypeDurations are expected times by type.
type TypeDurations struct {
	Namespaces Duration `json:"namespaces"`
	CRDs       Duration `json:"crds"`
	Operator   Duration `json:"operator"`
	Secrets    Duration `json:"secrets"`
	Config     Duration `json:"config"`
	Runtime    Duration `json:"runtime"`
	Bootstrap  Duration `json:"bootstrap"`
	Smoke      Duration `json:"smoke"`
}

// PreArgo is a component that is applied before Argo CD exists.
type PreArgo struct {
	Name          string           `json:"name" jsonschema:"required"`
	Path          string           `json:"path" jsonschema_description:"A chart, a kustomization or plain YAML: it is read by what lies there."`
	Chart         *ChartSource     `json:"chart"`
	Kustomize     *KustomizeSource `json:"kustomize"`
	Manifests     *ManifestsSource `json:"manifests"`
	Namespace     string           `json:"namespace"`
	ComponentType string           `json:"componentType" jsonschema:"enum=namespaces,enum=crds,enum=operator,enum=secrets,enum=config,enum=runtime,enum=bootstrap,enum=smoke"`
	Requires      Required         `json:"requires"`
	Enabled       bool             `json:"enabled"`
	Timeout       Duration         `json:"timeout"`
	Smoke         Smoke            `json:"smoke"`
	Environments  []string         `json:"environments" jsonschema_description:"Default: all."`
}

// Simulation extends the simulated world.
type Simulation struct {
	Rules []string `json:"rules" jsonschema_description:"Glob patterns of rule files, relative to the root of the platform."`
}

// Repository says what a repository of Argo CD's is, where its files do not.
type Repository struct {
	Aliases []string `json:"aliases" jsonschema_description:"Addresses of this repository that Applications use."`
	Roots   []string `json:"roots" jsonschema_description:"Files and folders that are applied by hand, relative to the root of the platform. Default: they are found."`
	// Snapshot is what a cluster knows.
	Snapshot string `json:"snapshot" jsonschema_description:"A file of ladder snapshot, relative to the root of the platform: the clusters and settings of Argo CD are those in it."`
}

// Generators are what generators of ApplicationSets learn outside the
// repository.
type Generators struct {
	Clusters                []Cluster    `json:"clusters" jsonschema_description:"The clusters that Argo CD knows, besides the one it runs in."`
	PullRequests            []Parameters `json:"pullRequests"`
	ScmProvider             []Parameters `json:"scmProvider"`
	Plugin                  []Parameters `json:"plugin"`
	ClusterDecisionResource []Parameters `json:"clusterDecisionResource"`
}

// Cluster is a cluster that Argo CD knows.
type Cluster struct {
	Name        string            `json:"name" jsonschema:"required,minLength=1"`
	Server      string            `json:"server" jsonschema_description:"The address of its API server."`
	Project     string            `json:"project"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Parameters are one set of parameters that a generator makes.
type Parameters struct {
	ApplicationSet string         `json:"applicationSet" jsonschema_description:"The ApplicationSet that has them. Default: all."`
	Parameters     map[string]any `json:"parameters" jsonschema:"required,minProperties=1"`
}

// Lint holds the settings of the lint rules.
type Lint struct {
	Rules    map[string]LintLevel `json:"rules" jsonschema_description:"The severity of a rule, or off."`
	Suppress []Suppression        `json:"suppress" jsonschema_description:"Findings that are not shown, with the reason."`
}

// Suppression hides findings.
type Suppression struct {
	Rule      string `json:"rule" jsonschema:"required"`
	Component string `json:"component" jsonschema_description:"Default: every component."`
	Reason    string `json:"reason" jsonschema:"required,minLength=1"`
}

// CatalogueItem is a pattern of files, or an entry as ladder catalogue record
// prints it.
type CatalogueItem struct{}

// JSONSchema allows both.
func (CatalogueItem) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object"}}}
}

// Parity says which differences between environments are meant.
type Parity struct {
	Accept []Acceptance `json:"accept"`
}

// Acceptance accepts a difference.
type Acceptance struct {
	Component    string   `json:"component" jsonschema_description:"Default: every component."`
	Environments []string `json:"environments" jsonschema_description:"The environments on one side of the difference. Default: any."`
	Reason       string   `json:"reason" jsonschema:"required,minLength=1"`
}

// LintLevel is a severity, or off, which YAML 1.1 reads as false.
type LintLevel struct{}

// JSONSchema lists the levels.
func (LintLevel) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Enum: []any{"error", "warning", "info", "off", false}}
}

// JSONSchemaExtend allows an empty value for every section.
func (LadderFile) JSONSchemaExtend(s *jsonschema.Schema) { nullable(s) }

// JSONSchemaExtend allows "name:" without anything.
func (Environment) JSONSchemaExtend(s *jsonschema.Schema) {
	object := *s
	*s = jsonschema.Schema{AnyOf: []*jsonschema.Schema{&object, {Type: "null"}}}
}

// JSONSchemaExtend asks for a source.
func (PreArgo) JSONSchemaExtend(s *jsonschema.Schema) {
	needOne(s, []string{"path"}, []string{"chart"}, []string{"kustomize"}, []string{"manifests"}, []string{"smoke"})
}
