// Package gotemplate has the functions that the Go templates of charts,
// ApplicationSets and Helmfiles share.
package gotemplate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// Functions are Sprig's without those that read the environment or the network, in
// a fixed order where Sprig goes through a map, and those of Go.
func Functions() template.FuncMap {
	all := template.FuncMap(sprig.GenericFuncMap())
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(all, name)
	}
	maps.Copy(all, template.FuncMap{
		"print":    fmt.Sprint,
		"printf":   fmt.Sprintf,
		"println":  fmt.Sprintln,
		"html":     template.HTMLEscaper,
		"js":       template.JSEscaper,
		"urlquery": template.URLQueryEscaper,
		"keys":     keys,
		"values":   values,
	})
	return all
}

// Unsteady are the functions of Sprig that give something else each time, or take
// long by design.
func Unsteady() []string {
	return []string{
		"now", "ago", "date", "dateInZone", "date_in_zone", "htmlDate", "htmlDateInZone",
		"randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes", "randInt", "shuffle", "uuidv4",
		"genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey",
		"htpasswd", "bcrypt", "derivePassword", "encryptAES", "buildCustomCert",
	}
}

func keys(dicts ...map[string]any) []string {
	out := []string{}
	for _, d := range dicts {
		out = append(out, slices.Sorted(maps.Keys(d))...)
	}
	return out
}

func values(dict map[string]any) []any {
	out := []any{}
	for _, k := range slices.Sorted(maps.Keys(dict)) {
		out = append(out, dict[k])
	}
	return out
}

// ToYAML is toYaml of Helm and Argo CD: without the last line break.
func ToYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}
