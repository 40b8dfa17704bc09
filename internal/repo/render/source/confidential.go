package source

import (
	"bytes"
	"path"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// confidence follows what is read for a rendering, and tells whether its result may hold the value of a
// Secret outside of a Secret. Kustomize alone copies from one object into another, and it can leave out the
// Secret that it copied from, so that the result does not show it.
type confidence struct {
	secret bool // a file that was read names a Secret
	copies bool // a kustomization that was read may copy values between objects
}

// confined are the fields of a kustomization that do not copy values from one object into another. Any other
// field is taken to do so: replacements, vars and transformers of all kinds do. Source: the types of
// sigs.k8s.io/kustomize/api.
var confined = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "buildMetadata": true, "sortOptions": true,
	"resources": true, "bases": true, "components": true, "crds": true, "openapi": true,
	"namespace": true, "namePrefix": true, "nameSuffix": true, "images": true, "replicas": true,
	"labels": true, "commonLabels": true, "commonAnnotations": true,
	"patches": true, "patchesStrategicMerge": true, "patchesJson6902": true,
	"configMapGenerator": true, "secretGenerator": true, "generatorOptions": true,
	"helmCharts": true, "helmGlobals": true,
}

// saw notes a file that was read.
func (c *confidence) saw(name string, data []byte) {
	// Every spelling of the kind and of its generators has these letters.
	c.secret = c.secret || bytes.Contains(data, []byte("ecret"))
	switch path.Base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		c.copies = c.copies || copies(data)
	}
}

// copies reports whether a kustomization has a field that may copy values from one object into another.
func copies(kustomization []byte) bool {
	var fields map[string]any
	if manifest.Unmarshal(kustomization, &fields) != nil {
		return true
	}
	for field := range fields {
		if !confined[field] {
			return true
		}
	}
	return false
}

// broken reports whether the result may hold the value of a Secret outside of a Secret.
func (c *confidence) broken() bool { return c.secret && c.copies }
