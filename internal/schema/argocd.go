package schema

import "github.com/invopop/jsonschema"

// ArgoCD says what the generated objects of Argo CD say.
type ArgoCD struct {
	RepoURL            string              `json:"repoURL" jsonschema_description:"The address of this repository, without credentials. Default: that of the remote origin."`
	TargetRevision     string              `json:"targetRevision" jsonschema_description:"The branch, tag or commit. Default: the branch that is checked out."`
	Namespace          string              `json:"namespace" jsonschema:"default=argocd" jsonschema_description:"The namespace of Argo CD."`
	Destination        *Destination        `json:"destination" jsonschema_description:"The cluster. Default: the one that Argo CD runs in."`
	Project            string              `json:"project" jsonschema_description:"The AppProject of every component. Default: the component's own, else the name of its domain."`
	Out                string              `json:"out" jsonschema:"default=argocd" jsonschema_description:"The folder that is generated, relative to the root of the platform; files land in a folder per environment below it, or where {{environment}} says."`
	Names              *ArgoCDNames        `json:"names" jsonschema_description:"What the generated objects are called."`
	Labels             *ArgoCDLabels       `json:"labels" jsonschema_description:"The keys of the labels of generated Applications."`
	Files              *ArgoCDFiles        `json:"files" jsonschema_description:"Folders of generated files, below that of the environment."`
	SyncPolicy         *SyncPolicy         `json:"syncPolicy"`
	OrphanedResources  Orphaned            `json:"orphanedResources"`
	Roles              []Role              `json:"roles" jsonschema_description:"Roles of AppProjects."`
	SyncWindows        []SyncWindow        `json:"syncWindows" jsonschema_description:"When Applications may sync, or may not."`
	Smoke              *SmokeJob           `json:"smoke" jsonschema_description:"The Job that runs the checks of a smoke."`
	ResourceExclusions []ResourceExclusion `json:"resourceExclusions" jsonschema_description:"Kinds that Argo CD leaves alone."`
}

// ArgoCDNames are templates of names.
type ArgoCDNames struct {
	Root            string `json:"root" jsonschema:"default={{platform}}-{{environment}}" jsonschema_description:"The root Application."`
	RootProject     string `json:"rootProject" jsonschema_description:"The AppProject of the Applications that bring the others. Default: the name of the root Application."`
	ApplicationSets Naming `json:"applicationSets" jsonschema_description:"By tier, or for all with {{tier}}. Default: that of the root Application, in tiers {{tier}}-{{environment}}."`
	Projects        Naming `json:"projects" jsonschema_description:"By the project of components, or for all with {{project}}. Default: the project of the component."`
}

// Naming is one template, or one for each.
type Naming struct{}

// JSONSchema allows both.
func (Naming) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "string"}}}}
}

// ArgoCDLabels are keys of labels.
type ArgoCDLabels struct {
	Phase       string `json:"phase" jsonschema:"default=rollout-phase"`
	Part        string `json:"part" jsonschema:"default=rollout-part" jsonschema_description:"The part of a step that has an order inside."`
	Domain      string `json:"domain" jsonschema:"default=domain"`
	Tier        string `json:"tier" jsonschema:"default=tier"`
	Type        string `json:"componentType" jsonschema:"default=componentType"`
	Dependency  string `json:"dependencyPhase" jsonschema:"default=dependencyPhase"`
	Environment string `json:"environment" jsonschema:"default=environment"`
}

// ArgoCDFiles are folders.
type ArgoCDFiles struct {
	Projects        string `json:"projects" jsonschema_description:"One file for each AppProject. Default: all in projects.yaml."`
	ApplicationSets string `json:"applicationSets" jsonschema_description:"One file for each ApplicationSet. Default: applicationset.yaml, in tiers below tiers/."`
	Applications    string `json:"applications" jsonschema:"default=applications"`
	Settings        string `json:"settings" jsonschema:"default=settings"`
	Repositories    string `json:"repositories" jsonschema_description:"The templates of repository Secrets. Default: the folder of the settings."`
}

// Destination is a cluster.
type Destination struct {
	Server string `json:"server" jsonschema_description:"The address of its API server."`
	Name   string `json:"name" jsonschema_description:"The name that Argo CD knows it by."`
}

// JSONSchemaExtend asks for one of the two.
func (Destination) JSONSchemaExtend(s *jsonschema.Schema) {
	s.OneOf = []*jsonschema.Schema{{Required: []string{"server"}}, {Required: []string{"name"}}}
}

// SyncPolicy says what Argo CD does by itself.
type SyncPolicy struct {
	Automated bool `json:"automated" jsonschema:"default=true" jsonschema_description:"Syncs what has changed in the repository. RollingSync does that itself for the Applications it generates."`
	Prune     bool `json:"prune" jsonschema:"default=true" jsonschema_description:"Removes what is no longer in the repository."`
	SelfHeal  bool `json:"selfHeal" jsonschema:"default=true" jsonschema_description:"Undoes what was changed in the cluster."`
}

// Orphaned is warn, or off, which YAML 1.1 reads as false.
type Orphaned struct{}

// JSONSchema lists the values.
func (Orphaned) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "Whether AppProjects warn of objects that no component has.",
		Enum:        []any{"warn", "off", false},
	}
}

// Role is a role of AppProjects.
type Role struct {
	Name        string   `json:"name" jsonschema:"required,minLength=1"`
	Description string   `json:"description"`
	Groups      []string `json:"groups" jsonschema_description:"Groups of the identity provider."`
	Projects    []string `json:"projects" jsonschema_description:"The AppProjects that have the role. Default: all."`
	Policies    []string `json:"policies" jsonschema_description:"What its members may do with Applications: get, create, update, delete, sync, override, action/*, logs, exec."`
}

// SyncWindow is a time in which Applications may sync, or may not.
type SyncWindow struct {
	Projects     []string `json:"projects" jsonschema_description:"The AppProjects that have the window. Default: all."`
	Kind         string   `json:"kind" jsonschema:"required,enum=allow,enum=deny"`
	Schedule     string   `json:"schedule" jsonschema:"required" jsonschema_description:"The five fields of cron."`
	Duration     string   `json:"duration" jsonschema:"required"`
	TimeZone     string   `json:"timeZone"`
	Description  string   `json:"description"`
	Applications []string `json:"applications"`
	Namespaces   []string `json:"namespaces"`
	Clusters     []string `json:"clusters"`
	ManualSync   bool     `json:"manualSync" jsonschema_description:"Lets people sync by hand where the window forbids it."`
}

// SmokeJob is the Job that runs the checks of a smoke.
type SmokeJob struct {
	Image string `json:"image" jsonschema_description:"Default: the image of this version of Ladder."`
}

// ResourceExclusion names kinds that Argo CD leaves alone.
type ResourceExclusion struct {
	APIGroups []string `json:"apiGroups"`
	Kinds     []string `json:"kinds"`
	Clusters  []string `json:"clusters"`
}

// JSONSchemaExtend asks for something to exclude.
func (ResourceExclusion) JSONSchemaExtend(s *jsonschema.Schema) {
	needOne(s, []string{"apiGroups"}, []string{"kinds"})
}
