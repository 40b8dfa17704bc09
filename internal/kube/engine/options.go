package engine

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// options are the sync options that change how an object is applied. Source:
// Argo CD user guide, "Sync Options".
type options struct {
	createNamespace bool
	replace         bool
	force           bool
	noPrune         bool
	skipDryRun      bool // SkipDryRunOnMissingResource
	noValidate      bool
	// respectIgnored leaves ignored fields as they are in the cluster. Argo CD
	// reads it from the Application only.
	respectIgnored bool
}

// parseOptions reads the sync options of a component.
func parseOptions(list []string) options {
	var o options
	for _, option := range list {
		o.set(option)
		if name, value := splitOption(option); name == "RespectIgnoreDifferences" {
			o.respectIgnored = value == "true"
		}
	}
	return o
}

// with returns the options with those of an annotation laid over them.
func (o options) with(annotation string) options {
	for _, option := range manifest.Words(annotation) {
		o.set(option)
	}
	return o
}

func splitOption(option string) (name, value string) {
	name, value, _ = strings.Cut(strings.TrimSpace(option), "=")
	return name, strings.ToLower(value)
}

func (o *options) set(option string) {
	name, value := splitOption(option)
	yes := value == "true"
	switch name {
	case "CreateNamespace":
		o.createNamespace = yes
	case "Replace":
		o.replace = yes
	case "Force":
		o.force = yes
	case "Prune":
		o.noPrune = !yes
	case "SkipDryRunOnMissingResource":
		o.skipDryRun = yes
	case "Validate":
		o.noValidate = !yes
	}
}

// RuleSyncOption is the rule of findings about sync options.
const RuleSyncOption = "sync-option"

// Notes tells which sync options the engine does not carry out as Argo CD does,
// of components and of the objects that they render to: warnings about options
// that it does not know, infos about those that mean something else here.
func Notes(components []model.Component, objects map[string][]manifest.Object) []finding.Finding {
	var out []finding.Finding
	for _, c := range components {
		note := func(at finding.Position, r finding.Resource, option, whose string) {
			severity, why := understand(option)
			if severity == "" {
				return
			}
			out = append(out, finding.Finding{
				Rule: RuleSyncOption, Severity: severity, Scope: finding.Rule, Environment: c.Environment, Component: c.Name,
				Resource: r, Position: at, Basis: finding.Declared,
				Message: fmt.Sprintf("sync option %s of %s %s", strings.TrimSpace(option), whose, why),
			})
		}
		for _, option := range c.SyncOptions {
			note(c.At("syncOptions"), finding.Resource{}, option, "component "+c.Name)
		}
		for _, o := range objects[c.Name] {
			for _, option := range manifest.Words(o.GetAnnotations()[optionsAnnotation]) {
				note(c.Position, o.Resource(), option, o.Resource().Human())
			}
		}
	}
	finding.Sort(out)
	return out
}

// understand says what is to be told of a sync option; an empty severity for
// nothing.
func understand(option string) (finding.Severity, string) {
	name, value := splitOption(option)
	switch name {
	case "CreateNamespace", "Replace", "Force", "Validate", "SkipDryRunOnMissingResource", "RespectIgnoreDifferences",
		// Every sync applies everything and prunes last, server-side; resources
		// that two Applications share are a matter of the plan.
		"ApplyOutOfSyncOnly", "PruneLast", "ServerSideApply", "FailOnSharedResource", "ClientSideApplyMigration", "Delete":
		if value != "true" && value != "false" && (value != "confirm" || name != "Delete") {
			return finding.Warning, "is neither true nor false, and has no effect"
		}
		return "", ""
	case "Prune":
		if value == "confirm" {
			return finding.Info, "waits for a confirmation in Argo CD; here the object is kept"
		}
		if value != "true" && value != "false" {
			return finding.Warning, "is neither true, false nor confirm, and has no effect"
		}
		return "", ""
	case "PrunePropagationPolicy":
		if value == "foreground" {
			return "", ""
		}
		return finding.Info, "has no effect: objects are deleted in the foreground, so that their ends are seen"
	}
	return finding.Warning, "is not known, and has no effect"
}
