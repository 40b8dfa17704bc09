package schema

import "github.com/invopop/jsonschema"

// Phase is a phase as files write it: a number or text.
type Phase struct{}

// JSONSchema describes both forms.
func (Phase) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "A phase from 0 to 999.",
		OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "0", Maximum: "999"},
			{Type: "string", Pattern: `^(wave)?[0-9]{1,3}$`},
		},
	}
}

// Duration is a duration, or a number of seconds.
type Duration struct{}

// JSONSchema describes both forms.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "A duration such as 90s or 1h30m, or a number of seconds.",
		OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "0"},
			{Type: "string", Pattern: `^([0-9]+|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`},
		},
	}
}

// MaxUpdate is a count or a percentage.
type MaxUpdate struct{}

// JSONSchema describes both forms.
func (MaxUpdate) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "How many components of the step may be in flight: a count, or a percentage such as \"25%\"; 0 means by hand.",
		OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "0"},
			{Type: "string", Pattern: `^([0-9]+|([0-9]|[1-9][0-9]|100)%)$`},
		},
	}
}

// Required is a list of names, or one name.
type Required struct{}

// JSONSchema describes all forms: a map with a name counts as the name.
func (Required) JSONSchema() *jsonschema.Schema {
	named := &jsonschema.Schema{Type: "object", Required: []string{"name"}, AdditionalProperties: jsonschema.FalseSchema, Properties: jsonschema.NewProperties()}
	named.Properties.Set("name", scalar())
	one := &jsonschema.Schema{AnyOf: []*jsonschema.Schema{scalar(), named}}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "array", Items: one}, one}}
}

// SyncOptions is a list, or one text with commas.
type SyncOptions struct{}

// JSONSchema describes both forms.
func (SyncOptions) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "Argo CD's sync options: a list, or one text with commas.",
		OneOf: []*jsonschema.Schema{
			{Type: "string"},
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		},
	}
}

// Texts is a map of texts; numbers and booleans count as what they look like.
type Texts struct{}

// JSONSchema describes the map.
func (Texts) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: scalar()}
}

func scalar() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "number"}, {Type: "boolean"}}}
}

// Text is a scalar of any kind that is read as text.
type Text struct{}

// JSONSchema describes the scalar.
func (Text) JSONSchema() *jsonschema.Schema { return scalar() }

// Anything is a map with any content.
type Anything struct{}

// JSONSchema describes the map.
func (Anything) JSONSchema() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }

// orPath allows a path as text in place of the map.
func orPath(s *jsonschema.Schema) {
	object := *s
	object.Description = ""
	*s = jsonschema.Schema{Description: s.Description, OneOf: []*jsonschema.Schema{{Type: "string", Description: "The path."}, &object}}
}

// needOne asks for one of several sets of properties.
func needOne(s *jsonschema.Schema, keys ...[]string) {
	for _, k := range keys {
		s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Required: k})
	}
}
