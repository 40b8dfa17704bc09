// Package ignore evaluates what an entry of ignoreDifferences has as a pattern or a
// program: which kinds it is about, and what jq takes out of an object. Repositories
// write both, and either can take for ever: package evaluate has it done in a worker.
package ignore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gobwas/glob"
	"github.com/itchyny/gojq"
)

// jqTime bounds one run of a jq expression, as in Argo CD, by the clock.
const jqTime = time.Second

// Rule is what an entry has as patterns and programs. Source: Argo CD user guide,
// "Diff Customization"; util/argo/normalizers.
type Rule struct {
	Group string   `json:"group"`
	Kind  string   `json:"kind"`
	JQ    []string `json:"jq,omitempty"` // path expressions
}

// Check says what of a rule cannot be understood.
func Check(r Rule) error {
	if _, err := glob.Compile(r.Group); err != nil {
		return fmt.Errorf("group %s", short(r.Group+": "+err.Error()))
	}
	if _, err := glob.Compile(r.Kind); err != nil {
		return fmt.Errorf("kind %s", short(r.Kind+": "+err.Error()))
	}
	for _, text := range r.JQ {
		if _, err := compile(text); err != nil {
			return fmt.Errorf("jq expression %s", short(text+": "+err.Error()))
		}
	}
	return nil
}

// maxTold bounds what an error shows of a text of a repository, in bytes.
const maxTold = 500

func short(text string) string {
	if len(text) > maxTold {
		return strings.ToValidUTF8(text[:maxTold], "") + " …"
	}
	return text
}

// Matching returns the indices of the rules that are about a kind.
func Matching(rules []Rule, group, kind string) []int {
	var indices []int
	for i, r := range rules {
		if matches(r.Group, group) && matches(r.Kind, kind) {
			indices = append(indices, i)
		}
	}
	return indices
}

// matches is false of what is no pattern.
func matches(pattern, name string) bool {
	g, err := glob.Compile(pattern)
	return err == nil && g.Match(name)
}

// Without takes out of an object what jq expressions point at. One that fails on the
// object takes nothing out. One that does not end is an error: what it would have
// taken out must not be written.
func Without(expressions []string, object map[string]any) (map[string]any, error) {
	// jq has other numbers than an object of the API machinery.
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	for _, expression := range expressions {
		code, err := compile(expression)
		if err != nil {
			return nil, fmt.Errorf("jq expression %s", short(expression+": "+err.Error()))
		}
		changed, err := run(code, out)
		switch {
		case err == nil:
			out = changed
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("jq expression %s", short(fmt.Sprintf("%s: ran longer than %s", expression, jqTime)))
		}
	}
	return out, nil
}

// compile makes a program that deletes what an expression points at. Without options
// it reaches neither modules nor environment.
func compile(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse("del(" + expression + ")")
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

func run(code *gojq.Code, object map[string]any) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), jqTime)
	defer cancel()
	first, ok := code.RunWithContext(ctx, object).Next()
	if !ok {
		return nil, errors.New("returned nothing")
	}
	if err, failed := first.(error); failed {
		return nil, err
	}
	changed, ok := first.(map[string]any)
	if !ok {
		return nil, errors.New("returned no object")
	}
	return changed, nil
}
