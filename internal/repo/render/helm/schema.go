package helm

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/render/values"
)

// validate checks the values against the chart's values.schema.json and those
// of its dependencies. Helm would fetch what a schema refers to from the
// network; here such references allow everything.
func (l *loadedChart) validate(values common.Values, at finding.Position) error {
	return l.validateChart(l.chart, values.AsMap(), at)
}

func (l *loadedChart) validateChart(c *chart.Chart, values map[string]any, at finding.Position) error {
	if c.Schema != nil {
		if err := validateSchema(c.Schema, values); err != nil {
			var invalid *jsonschema.ValidationError
			if errors.As(err, &invalid) {
				return &source.Error{Position: at, Err: err,
					Reason: fmt.Sprintf("the values of chart %s do not fit its values.schema.json: %s", c.Name(), strings.Join(violations(invalid), "; "))}
			}
			return source.Errorf(at, "the values.schema.json of chart %s cannot be used: %s", c.Name(), oneLine(err.Error()))
		}
	}
	for _, dep := range c.Dependencies() {
		own, ok := values[dep.Name()].(map[string]any)
		if !ok {
			continue
		}
		if err := l.validateChart(dep, own, at); err != nil {
			return err
		}
	}
	return nil
}

// anything stands in for every schema that is not in the chart.
type anything struct{}

// Load implements jsonschema.URLLoader.
func (anything) Load(string) (any, error) { return true, nil }

func validateSchema(schema []byte, given map[string]any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema cannot be checked: %v", r)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(anything{})
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return err
	}
	// Go through JSON: values may hold Helm's own map types.
	plain, err := values.Copy(given)
	if err != nil {
		return err
	}
	return compiled.Validate(plain)
}

// violation says what is wrong without the value, which may be secret. What is said
// by the library itself quotes the schema and the names of values only.
func violation(err *jsonschema.ValidationError) string {
	text := err.Error()
	if i := strings.LastIndex(text, "- at "); i >= 0 {
		text = text[i+2:]
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Type, *kind.Enum, *kind.Const, *kind.Required, *kind.AdditionalProperties, *kind.Dependency, *kind.DependentRequired, *kind.OneOf, *kind.Contains, *kind.UniqueItems,
		*kind.MinItems, *kind.MaxItems, *kind.MinProperties, *kind.MaxProperties:
		return text
	case *kind.Pattern:
		text = fmt.Sprintf("does not match pattern '%s'", k.Want)
	case *kind.Format:
		text = "is not valid " + k.Want
	case *kind.MinLength:
		text = fmt.Sprintf("is shorter than %d", k.Want)
	case *kind.MaxLength:
		text = fmt.Sprintf("is longer than %d", k.Want)
	case *kind.Minimum:
		text = "is less than " + k.Want.RatString()
	case *kind.Maximum:
		text = "is greater than " + k.Want.RatString()
	default:
		text = "is not allowed"
		if keyword := k.KeywordPath(); len(keyword) > 0 {
			text += " by " + strings.Join(keyword, "/")
		}
	}
	return fmt.Sprintf("at '/%s': %s", strings.Join(err.InstanceLocation, "/"), text)
}

// violations lists the innermost causes: "at /replicas: got string, want
// integer".
func violations(err *jsonschema.ValidationError) []string {
	if len(err.Causes) == 0 {
		return []string{oneLine(violation(err))}
	}
	var out []string
	for _, cause := range err.Causes {
		out = append(out, violations(cause)...)
	}
	return out
}
