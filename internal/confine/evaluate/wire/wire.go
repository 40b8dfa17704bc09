// Package wire has what package evaluate asks workers and what package worker answers,
// as data: neither of the two needs the other.
package wire

import (
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// The methods of a worker.
const (
	Source    = "source"         // renders one source
	Build     = "kustomization"  // builds a kustomization as it is
	Set       = "applicationset" // generates the Applications of an ApplicationSet
	Helmfile  = "helmfile"       // reads the state files of Helmfile
	Objects   = "objects"        // parses manifests
	Terraform = "terraform"      // reads the clusters of a folder of Terraform
	Releases  = "releases"       // reads the releases of a chart in a folder of Terraform
	Units     = "units"          // finds the units of Terragrunt
	Made      = "made"           // reads what all Terraform of a repository makes

	ResourceSet = "resourceset" // fills in the templates of a ResourceSet

	// About the health of objects.
	Lua       = "lua"
	CEL       = "cel"
	ArgoCM    = "argocd-cm"
	Match     = "match"
	Translate = "translate"

	// About ignoreDifferences.
	IgnoreCheck = "ignore-check"
	Ignoring    = "ignoring"
	Without     = "without"

	// About rules of the simulated world.
	Rules = "rules"
	Form  = "form"
)

// The operations that a worker asks for while it renders, beside those of a source.View.
const (
	OpChart    = "chart"
	OpFile     = "file"
	OpBase     = "base"
	OpCheckout = "checkout/" // ID/operation of a View, on what a base is in
)

// ChartRequest asks for the archive of a chart.
type ChartRequest struct {
	RepoURL string `json:"repoURL"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// BaseReply is the answer to OpBase: one line of JSON, then the content of a file.
type BaseReply struct {
	// Checkout names what the base is in; empty for a file.
	Checkout string `json:"checkout,omitempty"`
	Path     string `json:"path,omitempty"`
}

// Note says where a worker is at.
type Note struct {
	Position finding.Position `json:"position"`
	What     string           `json:"what"`
}

// The operations by which the generators of a set ask about the repository.
const (
	OpOwn   = "own"
	OpFiles = "files"
	OpText  = "text"
)

// SetRequest is an ApplicationSet.
type SetRequest struct {
	Set  *yamldoc.Value `json:"set"`
	Data appset.Data    `json:"data"`
}

// SetReply is an appset.Result; the causes of its errors stay behind.
type SetReply struct {
	Applications []appset.Application `json:"applications"`
	Unread       []SetError           `json:"unread"`
	Assumed      []SetError           `json:"assumed"`
}

// SetError is a repofs.InputError.
type SetError struct {
	Position finding.Position `json:"position"`
	Message  string           `json:"message"`
	Hint     string           `json:"hint"`
}

// HelmfileReply is what state files say.
type HelmfileReply struct {
	Result  *helmfile.Result `json:"result,omitempty"`
	Failure *repofs.Failure  `json:"failure,omitempty"`
}

// Parsed is one object of a file of manifests.
type Parsed struct {
	Object map[string]any `json:"object"`
	Line   int            `json:"line"`
}
