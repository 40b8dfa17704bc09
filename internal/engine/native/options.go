package native

import "strings"

// options are the sync options that change how an object is applied. Source:
// Argo CD user guide, "Sync Options". Options that make no difference to a
// server-side apply (ApplyOutOfSyncOnly, ServerSideApply, PruneLast, which is
// how this engine always prunes, and RespectIgnoreDifferences) are accepted and
// change nothing.
type options struct {
	createNamespace bool
	replace         bool
	force           bool
	noPrune         bool
	skipDryRun      bool // SkipDryRunOnMissingResource
	noValidate      bool
}

// parseOptions reads the sync options of a component.
func parseOptions(list []string) options {
	var o options
	for _, option := range list {
		o.set(option)
	}
	return o
}

// with returns the options with those of an annotation laid over them.
func (o options) with(annotation string) options {
	for _, option := range splitList(annotation) {
		o.set(option)
	}
	return o
}

func (o *options) set(option string) {
	name, value, _ := strings.Cut(strings.TrimSpace(option), "=")
	yes := strings.EqualFold(value, "true")
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
