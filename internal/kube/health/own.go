package health

import (
	"path"
	"slices"
	"strings"

	"github.com/argoproj/argo-cd/v3/resource_customizations"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OwnScript returns the Lua of a kind that this package has a script for. Its
// authors expect what base does before any script: that a stale status is not
// handed to it.
func OwnScript(gk schema.GroupKind) (text string, ok bool) {
	folders, err := own.ReadDir(path.Join("lua", gk.Group))
	if err != nil {
		return "", false
	}
	for _, folder := range folders {
		if slices.Contains(strings.Split(folder.Name(), "+"), gk.Kind) {
			source, err := own.ReadFile(path.Join("lua", gk.Group, folder.Name(), scriptFile))
			return string(source), err == nil
		}
	}
	return "", false
}

// ShippedScript returns the Lua that Argo CD ships for a kind by its own name;
// ok is false for kinds without one, and for those it finds by a pattern.
func ShippedScript(gk schema.GroupKind) (text string, ok bool) {
	source, err := resource_customizations.Embedded.ReadFile(path.Join(gk.Group, gk.Kind, scriptFile))
	return string(source), err == nil
}
