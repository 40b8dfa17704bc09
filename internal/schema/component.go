package schema

import "github.com/invopop/jsonschema"

// Descriptor is component.yaml.
type Descriptor struct {
	Name              string             `json:"name" jsonschema:"required,minLength=1,maxLength=253" jsonschema_description:"The name of the component and of its Application; unique in the environment."`
	Project           string             `json:"project" jsonschema:"default=default" jsonschema_description:"The AppProject."`
	Domain            string             `json:"domain" jsonschema_description:"The owner of the band. Default: the first folder below components/, else the band of the phase."`
	Tier              string             `json:"tier" jsonschema:"deprecated=true" jsonschema_description:"The older name of domain."`
	Namespace         string             `json:"namespace" jsonschema_description:"The destination namespace."`
	RolloutPhase      Phase              `json:"rolloutPhase" jsonschema_description:"The place in the ladder, 0 to 999."`
	Wave              Phase              `json:"wave" jsonschema:"deprecated=true" jsonschema_description:"The older name of rolloutPhase; wave35 is phase 035."`
	ComponentType     string             `json:"componentType" jsonschema:"enum=namespaces,enum=crds,enum=operator,enum=secrets,enum=config,enum=runtime,enum=bootstrap,enum=smoke" jsonschema_description:"The role, which decides the slot. Default: the slot of the phase where it is certain, else runtime."`
	Enabled           bool               `json:"enabled" jsonschema:"default=true" jsonschema_description:"false keeps the place of the component and does not roll it out; so does the file name component.disabled.yaml."`
	Gate              string             `json:"gate" jsonschema_description:"One sentence: what is true when the component is Healthy."`
	Labels            Texts              `json:"labels" jsonschema_description:"Labels of the Application."`
	Requires          Required           `json:"requires" jsonschema_description:"What must be Healthy first: names of components, or capabilities kind/namespace/name or kind/name."`
	DependsOn         Required           `json:"dependsOn" jsonschema:"deprecated=true" jsonschema_description:"The older name of requires, as are dependencies, depends_on and needs; all of them count."`
	Validates         []string           `json:"validates" jsonschema_description:"The components that a smoke validates."`
	Chart             *ChartSource       `json:"chart" jsonschema_description:"A Helm chart, in the repository or in a chart repository."`
	Kustomize         *KustomizeSource   `json:"kustomize" jsonschema_description:"A kustomization of the repository."`
	Manifests         *ManifestsSource   `json:"manifests" jsonschema_description:"A folder or file of plain YAML."`
	Path              string             `json:"path" jsonschema_description:"Without chart, kustomize and manifests: a folder that is a chart, a kustomization or plain YAML, as Argo CD tells them apart. Default: the folder of the descriptor."`
	Values            any                `json:"values" jsonschema:"oneof_type=object;array" jsonschema_description:"For a chart at path: a list of value files, or the values themselves."`
	SyncOptions       SyncOptions        `json:"syncOptions"`
	SyncWave          *int               `json:"syncWave" jsonschema_description:"The sync wave of the Application in an app-of-apps."`
	IgnoreDifferences []IgnoreDifference `json:"ignoreDifferences" jsonschema_description:"Fields that Argo CD does not compare."`
	Timeout           Duration           `json:"timeout" jsonschema_description:"How long the component may take to become Healthy."`
	Retry             *Retry             `json:"retry"`
	Health            []HealthCheck      `json:"health" jsonschema_description:"Extra readiness checks."`
	Smoke             Smoke              `json:"smoke" jsonschema_description:"Declarative smoke checks, or a map that may ask for the Helm tests of the chart."`
}

// JSONSchemaExtend keeps fields that Ladder does not know, and allows an empty
// value ("syncWave:") for every optional one.
func (Descriptor) JSONSchemaExtend(s *jsonschema.Schema) {
	s.AdditionalProperties = nil
	nullable(s)
}

// nullable allows null for every optional property: "key:" says nothing.
func nullable(s *jsonschema.Schema) {
	required := map[string]bool{}
	for _, r := range s.Required {
		required[r] = true
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		if required[p.Key] {
			continue
		}
		described := p.Value.Description
		inner := *p.Value
		inner.Description = ""
		p.Value = &jsonschema.Schema{Description: described, AnyOf: []*jsonschema.Schema{&inner, {Type: "null"}}}
	}
}

// ChartSource is a Helm chart.
type ChartSource struct {
	Path                    string      `json:"path" jsonschema_description:"The folder of a chart of the repository, relative to the root of the platform."`
	RepoURL                 string      `json:"repoURL" jsonschema_description:"The chart repository of a remote chart."`
	Name                    string      `json:"name" jsonschema_description:"The name of a remote chart."`
	Version                 Text        `json:"version" jsonschema_description:"The version of a remote chart."`
	ReleaseName             string      `json:"releaseName" jsonschema_description:"Default: the name of the component."`
	ValueFiles              []ValueFile `json:"valueFiles" jsonschema_description:"Layers of values, later ones win."`
	IgnoreMissingValueFiles bool        `json:"ignoreMissingValueFiles" jsonschema_description:"Makes every value file optional."`
	Values                  Anything    `json:"values" jsonschema_description:"Inline values, which win over every file."`
	Parameters              Texts       `json:"parameters" jsonschema_description:"Helm's --set, which wins over values."`
	SkipCRDs                bool        `json:"skipCrds" jsonschema_description:"Leaves out the crds/ folder of the chart."`
}

// JSONSchemaExtend asks for a chart, and allows the path alone.
func (ChartSource) JSONSchemaExtend(s *jsonschema.Schema) {
	needOne(s, []string{"path"}, []string{"repoURL", "name"})
	orPath(s)
}

// ValueFile is one layer of values.
type ValueFile struct {
	Path     string `json:"path" jsonschema:"required" jsonschema_description:"Relative to the root of the platform; $values/ means the root as well."`
	Optional bool   `json:"optional" jsonschema_description:"The file may be missing."`
}

// JSONSchemaExtend allows the path alone.
func (ValueFile) JSONSchemaExtend(s *jsonschema.Schema) { orPath(s) }

// KustomizeSource is a kustomization.
type KustomizeSource struct {
	Path string `json:"path" jsonschema:"required" jsonschema_description:"The folder of the kustomization, relative to the root of the platform."`
}

// JSONSchemaExtend allows the path alone.
func (KustomizeSource) JSONSchemaExtend(s *jsonschema.Schema) { orPath(s) }

// ManifestsSource is plain YAML.
type ManifestsSource struct {
	Path    string `json:"path" jsonschema:"required" jsonschema_description:"A folder or file, relative to the root of the platform."`
	Recurse bool   `json:"recurse" jsonschema_description:"Descends into sub-folders."`
}

// JSONSchemaExtend allows the path alone.
func (ManifestsSource) JSONSchemaExtend(s *jsonschema.Schema) { orPath(s) }

// IgnoreDifference is Argo CD's ignoreDifferences entry.
type IgnoreDifference struct {
	Group                 string   `json:"group"`
	Kind                  string   `json:"kind"`
	Name                  string   `json:"name"`
	Namespace             string   `json:"namespace"`
	JSONPointers          []string `json:"jsonPointers"`
	JQPathExpressions     []string `json:"jqPathExpressions"`
	ManagedFieldsManagers []string `json:"managedFieldsManagers"`
}

// Retry is Argo CD's syncPolicy.retry.
type Retry struct {
	Limit   int      `json:"limit" jsonschema_description:"Retries after the first attempt; negative means without end."`
	Backoff *Backoff `json:"backoff"`
}

// Backoff says how soon a failed sync is tried again.
type Backoff struct {
	Duration    Duration `json:"duration" jsonschema_description:"The wait before the first retry."`
	Factor      float64  `json:"factor" jsonschema:"minimum=1" jsonschema_description:"Multiplies the wait after every retry."`
	MaxDuration Duration `json:"maxDuration" jsonschema_description:"The longest wait."`
}

// HealthCheck is an extra readiness check on a kind.
type HealthCheck struct {
	APIVersion string `json:"apiVersion" jsonschema_description:"Names the group, as in a manifest."`
	Group      string `json:"group"`
	Kind       string `json:"kind" jsonschema:"required"`
	CEL        string `json:"cel" jsonschema_description:"A boolean expression over object; true means Healthy."`
	Lua        string `json:"lua" jsonschema_description:"An Argo CD health script that returns {status, message}."`
}

// JSONSchemaExtend asks for one of the two languages.
func (HealthCheck) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"cel"}}, {Required: []string{"lua"}}}
}
