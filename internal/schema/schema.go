package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/rollout-ladder/ladder/internal/core/report"
)

// idBase starts the identifier of every schema.
const idBase = "https://rollout-ladder.dev/schemas/"

// document is one schema: the type it is made from and what it describes.
type document struct {
	of                 any
	title, description string
	// written documents have every field, and may get more.
	written bool
}

func documents() map[string]document {
	return map[string]document{
		"bootstrap": {BootstrapFile{}, "Bootstrap configuration", "What ladder bootstrap --config reads.", false},
		"component": {Descriptor{}, "Component descriptor", "component.yaml: one component of a platform in one environment.", false},
		"ladder":    {LadderFile{}, "Ladder file", "ladder.yaml: the order of a platform; every field is optional.", false},
		"findings":  {report.Findings{}, "Findings", "What ladder lint --format json writes.", true},
		"plan":      {report.Plan{}, "Plan", "What ladder plan --format json writes of one environment.", true},
		"plans":     {Plans{}, "Plans", "What ladder plan -e all --format json writes.", true},
		"report":    {report.Rollout{}, "Report", "What ladder rehearse --format json and ladder rollout --format json write.", true},
	}
}

// Names lists the schemas, sorted.
func Names() []string {
	var names []string
	for name := range documents() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Get returns a schema as indented JSON that ends with a newline.
func Get(name string) ([]byte, error) {
	d, ok := documents()[name]
	if !ok {
		return nil, fmt.Errorf("there is no schema %q; the schemas are %s", name, strings.Join(Names(), ", "))
	}
	r := &jsonschema.Reflector{
		ExpandedStruct:             true,
		RequiredFromJSONSchemaTags: !d.written,
		AllowAdditionalProperties:  d.written,
		Namer:                      func(t reflect.Type) string { return t.Name() },
	}
	if d.written {
		r.Mapper, r.LookupComment = mapOutput, outputComment
	}
	s := r.Reflect(d.of)
	s.ID = jsonschema.ID(idBase + name + ".json")
	s.Title, s.Description = d.title, d.description
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("print schema %s: %w", name, err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return nil, fmt.Errorf("print schema %s: %w", name, err)
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}
