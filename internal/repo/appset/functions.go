package appset

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// unsteady are the functions of Sprig that give something else each time, read
// the environment or the network, or take long by design.
func unsteady() []string {
	return []string{
		"now", "ago", "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone",
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
		"htpasswd", "bcrypt", "derivePassword", "encryptAES", "buildCustomCert",
	}
}

// functions are those of Argo CD's Go templates. Source: Argo CD, applicationset
// "Go Template": Sprig without env, expandenv and getHostByName, and five more.
func functions() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	maps.Copy(all, template.FuncMap{
		"normalize":     normalize,
		"slugify":       slugify,
		"toYaml":        toYAML,
		"fromYaml":      fromYAML,
		"fromYamlArray": fromYAMLArray,
		"print":         fmt.Sprint,
		"printf":        fmt.Sprintf,
		"println":       fmt.Sprintln,
		"html":          template.HTMLEscaper,
		"js":            template.JSEscaper,
		"urlquery":      template.URLQueryEscaper,
		"keys":          sortedKeys,
		"values":        sortedValues,
	})
	for _, name := range unsteady() {
		if _, ok := all[name]; ok {
			all[name] = func(...any) (string, error) {
				return "", fmt.Errorf("%s gives something else each time", name)
			}
		}
	}
	return all
}

// sortedKeys are those of maps; Sprig goes through a map.
func sortedKeys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

// sortedValues are those of a map by their keys.
func sortedValues(dict map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		out = append(out, dict[k])
	}
	return out
}

var notInName = regexp.MustCompile(`[^-a-z0-9.]`)

// normalize makes a DNS name of a text. Source: Argo CD, "normalize".
func normalize(text string) string {
	text = notInName.ReplaceAllString(strings.ToLower(text), "-")
	if len(text) > 253 {
		text = text[:253]
	}
	return strings.Trim(text, "-.")
}

var notInSlug = regexp.MustCompile(`[^a-z0-9_-]+`)

var dashes = regexp.MustCompile(`-+`)

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

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
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
