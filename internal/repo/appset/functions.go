package appset

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"text/template"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/gotemplate"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// functions are those of Argo CD's Go templates. Source: Argo CD, applicationset
// "Go Template": Sprig without env, expandenv and getHostByName, and five more.
func functions() template.FuncMap {
	all := gotemplate.Functions()
	maps.Copy(all, template.FuncMap{
		"normalize":     normalize,
		"slugify":       slugify,
		"toYaml":        gotemplate.ToYAML,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
	})
	for _, name := range gotemplate.Unsteady() {
		if _, ok := all[name]; ok {
			all[name] = func(...any) (string, error) {
				return "", fmt.Errorf("%s gives something else each time", name)
			}
		}
	}
	return all
}

var notInName = lazyregexp.New(`[^-a-z0-9.]`)

// normalize makes a DNS name of a text. Source: Argo CD, "normalize".
func normalize(text string) string {
	text = notInName.ReplaceAllString(strings.ToLower(text), "-")
	if len(text) > 253 {
		text = text[:253]
	}
	return strings.Trim(text, "-.")
}

var notInSlug = lazyregexp.New(`[^a-z0-9_-]+`)

var dashes = lazyregexp.New(`-+`)

// slugify makes a slug: [maxSize [, smartTruncate]] text. Source: Argo CD,
// "slugify".
func slugify(args ...any) (string, error) {
	size, smart, text := 50, true, ""
	for i, arg := range args {
		ok := true
		switch i {
		case len(args) - 1:
			text, ok = arg.(string)
		case 0:
			size, ok = arg.(int)
		case 1:
			smart, ok = arg.(bool)
		}
		if !ok {
			return "", fmt.Errorf("slugify: argument %d is a %T", i+1, arg)
		}
	}
	slug := dashes.ReplaceAllString(notInSlug.ReplaceAllString(normalize(text), "-"), "-")
	slug = strings.Trim(slug, "-_")
	if size <= 0 || len(slug) <= size {
		return slug, nil
	}
	if !smart {
		return strings.Trim(slug[:size], "-_"), nil
	}
	// Words that fit stay whole.
	kept := ""
	for word := range strings.SplitSeq(slug, "-") {
		next := word
		if kept != "" {
			next = kept + "-" + word
		}
		if len(next) > size {
			break
		}
		kept = next
	}
	if kept == "" {
		kept = slug[:size]
	}
	return strings.Trim(kept, "-_"), nil
}

func fromYAML(text string) (map[string]any, error) {
	v, err := readYAML(text)
	if err != nil || v == nil {
		return map[string]any{}, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("the YAML is no map")
	}
	return m, nil
}

func fromYAMLArray(text string) ([]any, error) {
	v, err := readYAML(text)
	if err != nil || v == nil {
		return []any{}, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errors.New("the YAML is no list")
	}
	return list, nil
}

func readYAML(text string) (any, error) {
	documents, err := yamldoc.Parse("", []byte(text))
	if err != nil {
		return nil, errors.New("the YAML does not parse")
	}
	if len(documents) == 0 {
		return nil, nil
	}
	return plain(documents[0]), nil
}
