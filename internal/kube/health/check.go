package health

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// objectVariable is what readiness expressions call the object.
const objectVariable = "object"

// check is one readiness check of a descriptor: a script or an expression.
type check struct {
	script     runner
	expression string
}

// addChecks takes in the checks of a descriptor. Workers compile and run them.
func (a *Assessor) addChecks(ctx context.Context, checks []model.HealthCheck) error {
	for _, hc := range checks {
		var c check
		var err error
		if hc.Lua != "" {
			c.script = foreign{hc.Position.String(), hc.Lua}
			err = evaluate.CheckLua(ctx, hc.Position.String(), hc.Lua)
		} else {
			c.expression = hc.CEL
			err = evaluate.CheckCEL(ctx, hc.CEL, objectVariable)
		}
		if err != nil {
			return fmt.Errorf("%s: health check on %s: %w", hc.Position, hc.Kind, err)
		}
		gk := schema.GroupKind{Group: hc.Group, Kind: hc.Kind}
		a.checks[gk] = append(a.checks[gk], c)
	}
	return nil
}

// maxBrief bounds how much of an expression a message shows, in characters.
const maxBrief = 120

// Brief is an expression on one line, cut where it is long.
func Brief(expression string) string {
	line := []rune(strings.Join(strings.Fields(expression), " "))
	if len(line) <= maxBrief {
		return string(line)
	}
	return string(line[:maxBrief]) + " ..."
}

// extra applies an expression on top of the kind's own assessment.
func (c check) extra(ctx context.Context, obj *unstructured.Unstructured) Status {
	if c.script != nil {
		return Status{Health: rollout.Healthy}
	}
	holds, reason, err := evaluate.CEL(ctx, c.expression, objectVariable, obj.Object)
	if holds {
		return Status{Health: rollout.Healthy}
	}
	if err != nil {
		reason = err.Error()
	}
	message := "health check does not hold: " + Brief(c.expression)
	if reason != "" {
		message += " (" + short(reason) + ")"
	}
	return Status{rollout.Progressing, message}
}
