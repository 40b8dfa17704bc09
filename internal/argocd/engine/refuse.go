package engine

import (
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/argocd/status"
)

// RefusedError says which Applications cannot be driven, and what to do about it.
type RefusedError struct{ Refusals []Refusal }

// Refusal is one Application that cannot be driven.
type Refusal struct {
	Application status.Ref
	// Owner is the ApplicationSet or Application that stands in the way; empty
	// where it is the Application itself.
	Owner string
	// Reason is a clause, WayOut what a person can do.
	Reason, WayOut string
}

// Error implements error: one paragraph for each reason, with its way out.
func (e *RefusedError) Error() string {
	type key struct{ owner, reason, wayOut string }
	var order []key
	names := map[key][]string{}
	for _, r := range e.Refusals {
		k := key{r.Owner, r.Reason, r.WayOut}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], r.Application.Name)
	}
	lines := []string{"these Applications cannot be driven:"}
	for _, k := range order {
		const few = 5
		list := names[k]
		more := ""
		if len(list) > few {
			more, list = fmt.Sprintf(" and %d more", len(list)-few), list[:few]
		}
		lines = append(lines, fmt.Sprintf("  %s%s: %s\n    %s", strings.Join(list, ", "), more, k.reason, k.wayOut))
	}
	return strings.Join(lines, "\n")
}
