package schema

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/report"
)

// Plans are those of several environments.
type Plans struct {
	FormatVersion string        `json:"formatVersion"`
	Environments  []report.Plan `json:"environments"`
}

// mapOutput describes types of the written documents that reflection cannot.
func mapOutput(t reflect.Type) *jsonschema.Schema {
	enum := func(values ...any) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	switch t {
	case reflect.TypeFor[report.Time]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+))?$`, Description: "RFC 3339, or empty."}
	case reflect.TypeFor[finding.Severity]():
		return enum("error", "warning", "info")
	case reflect.TypeFor[finding.Scope]():
		return enum("cross", "within", "rule")
	case reflect.TypeFor[finding.Basis]():
		return enum("rendered", "declared", "catalogue")
	}
	return nil
}

// outputComment describes the fields of the written documents, by type and
// field; the field is empty for the type itself.
func outputComment(t reflect.Type, field string) string {
	return outputComments()[t.Name()+"."+field]
}

func outputComments() map[string]string {
	return map[string]string{
		"Findings.Components":        "The components that were read, in order.",
		"Findings.Unrendered":        "Sources that could not be rendered; what they hold is not proven.",
		"FindingsSummary.Unrendered": "The components of which something was not rendered.",
		"UnreadPart.Name":            "What it is called; the file where it has no name.",
		"Coverage.Templates":         "What another tool fills in before anybody can apply it; not counted as unread.",
		"Unrendered.Environment":     "Where the document is about several environments.",
		"ListedComponent.Order":      "The phase (\"350\"), sync waves (\"3\", \"(10,30)\"), or \"pre\" before Argo CD.",
		"ListedComponent.Source":     "The file that defines the component.",
		"Finding.Rule":               "The rule; ladder explain RULE describes it.",
		"Finding.Also":               "Further findings that the same change of the order mends, each whole; they are not counted.",
		"Finding.Scope":              "cross: between two components; within: inside one; rule: about one file or object.",
		"Finding.Provider":           "The other component, where there is one.",
		"Finding.Basis":              "What the finding rests on.",
		"Position.File":              "Relative to the root of the platform.",
		"Position.Line":              "From 1; 0 where it is not known.",
		"Evidence.Object":            "group/kind/namespace/name.",
		"Evidence.Field":             "The path of the field.",
		"Fix.Patch":                  "A unified diff; empty where the change is not mechanical.",
		"Plan.Order":                 "The components, providers before consumers.",
		"Plan.Against":               "Edges that contradict the order of the steps, or that Flux contradicts by what it applies first.",
		"Plan.Dropped":               "Soft edges that would close a cycle.",
		"Plan.Cycles":                "Each cycle is named whole; its first component is repeated at the end.",
		"Plan.Unplaced":              "Components that no step matches.",
		"Plan.CriticalPath":          "The longest chain of expected work.",
		"Plan.BlastRadius":           "For each component, those that a failure of it stops.",
		"PlanStep.MaxUpdate":         "A count or percentage; empty for no limit.",
		"PlanEdge.From":              "The consumer.",
		"PlanEdge.To":                "The provider.",
		"PlanMakespan.Bound":         "A lower bound, in seconds.",
		"Rollout.Result":             "succeeded, failed, aborted, timed-out or interrupted.",
		"Rollout.Speed":              "Divides the simulated delays; 1 on a cluster.",
		"Rollout.BoundSeconds":       "The least time that the expected durations need.",
		"Rollout.ExpectedSeconds":    "The time that the plan expected, at speed 1.",
		"Rollout.Errors":             "Errors of what a rehearsal read: the rollout went on without what they name.",
		"Rollout.Untested":           "Smokes of which nothing can fail: that they are Healthy says nothing.",
		"RolloutComponent.Object":    "The object that explains a state other than healthy.",
		"RolloutComponent.Attempts":  "How often the component was synced.",
		"Blocker.Component":          "What the component waits for.",
	}
}
