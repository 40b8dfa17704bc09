package helm

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"text/template"

	"github.com/BurntSushi/toml"
	"sigs.k8s.io/yaml"
	goyaml "sigs.k8s.io/yaml/goyaml.v3"

	"github.com/rollout-ladder/ladder/internal/repo/gotemplate"
)

// functions returns the functions of Helm's templates, none of which reaches the
// environment, network or cluster.
// Source: Helm, "Template Function List", and Sprig.
func functions() template.FuncMap {
	all := gotemplate.Functions()
	maps.Copy(all, template.FuncMap{
		"toYaml":        toYAML,
		"mustToYaml":    gotemplate.ToYAML,
		"toYamlPretty":  toYAMLPretty,
		"fromYaml":      object(unmarshalYAML),
		"fromYamlArray": array(unmarshalYAML),
		"fromJson":      object(json.Unmarshal),
		"fromJsonArray": array(json.Unmarshal),
		"toToml":        toTOML,
		"mustToToml":    mustToTOML,
		"fromToml":      object(toml.Unmarshal),
		"required":      required,
		"fail":          func(message string) (string, error) { return "", &demand{message} },
		"lookup":        func(string, string, string, string) map[string]any { return map[string]any{} },
		"getHostByName": func(string) string { return "" },
	})
	return all
}

func toYAML(v any) string {
	text, _ := gotemplate.ToYAML(v) // nothing where it fails
	return text
}

func toYAMLPretty(v any) string {
	var data bytes.Buffer
	encoder := goyaml.NewEncoder(&data)
	encoder.SetIndent(2)
	if err := encoder.Encode(v); err != nil {
		return ""
	}
	return strings.TrimSuffix(data.String(), "\n")
}

// The functions that read text give the error as a value, as in Helm: charts
// test for it.

func object(unmarshal func([]byte, any) error) func(string) map[string]any {
	return func(text string) map[string]any {
		out := map[string]any{}
		if err := unmarshal([]byte(text), &out); err != nil {
			out["Error"] = err.Error()
		}
		return out
	}
}

func array(unmarshal func([]byte, any) error) func(string) []any {
	return func(text string) []any {
		out := []any{}
		if err := unmarshal([]byte(text), &out); err != nil {
			out = []any{err.Error()}
		}
		return out
	}
}

func unmarshalYAML(text []byte, into any) error { return yaml.Unmarshal(text, into) }

func toTOML(v any) string {
	text, err := mustToTOML(v)
	if err != nil {
		return err.Error()
	}
	return text
}

func mustToTOML(v any) (string, error) {
	var data bytes.Buffer
	err := toml.NewEncoder(&data).Encode(v)
	return data.String(), err
}

func required(message string, value any) (any, error) {
	if text, ok := value.(string); value == nil || ok && text == "" {
		return value, &demand{message}
	}
	return value, nil
}
