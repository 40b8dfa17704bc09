package strict

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// The rules of names, as they are told to people.
const (
	subdomain = "names have small letters, digits, - and ., and begin and end with a letter or digit"
	label     = "its name has at most 63 small letters, digits and -, and begins and ends with a letter or digit"
	segment   = "its name is not . or .., and has no / and no %"
	scheduled = "its name has at most 52 characters"
)

// filled matches a name, or a part of one, that something fills in later.
var filled = lazyregexp.New("[${}<>@\\x60]|[A-Z][A-Z0-9]*_[A-Z0-9_]+|__|[^ -~]|^[A-Z0-9-]+$")

// Name says which rule of the API server the name of an object breaks; empty where it breaks none, or where
// that is not known. Source: Kubernetes, "Object Names and IDs", and the validation of each kind; a custom
// resource has the name of a subdomain.
func Name(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if name == "" || filled.MatchString(name) {
		return ""
	}
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	group, _, grouped := strings.Cut(version, "/")
	_, known := kinds[version+" "+kind]
	if !known && (!grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")) {
		return ""
	}
	switch {
	case group == "rbac.authorization.k8s.io":
		if len(content.IsPathSegmentName(name)) > 0 {
			return segment
		}
	case version == "v1" && slices.Contains([]string{"Namespace", "Service"}, kind):
		if len(validation.NameIsDNSLabel(name, false)) > 0 {
			return label
		}
	case len(validation.NameIsDNSSubdomain(name, false)) > 0:
		return subdomain
	case kind == "CronJob" && group == "batch" && len(name) > 52:
		return scheduled
	}
	return ""
}
