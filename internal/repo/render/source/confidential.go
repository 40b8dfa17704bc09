package source

import (
	"bytes"
	"path"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// confidence follows what is read for a rendering, and tells whether its result may hold the value of a
// Secret elsewhere than among the values of a Secret. Kustomize alone moves such a value, and can leave out
// the Secret that it was in, so that the result does not show it.
type confidence struct {
	secret bool // a file that was read names a Secret
	copies bool // a kustomization that was read may move the value of one
}

// confined are the fields of a kustomization that leave the value of a Secret where it is. Any other field is
// taken to move it: replacements, vars and transformers copy it into another object, and a patch can copy it
// into an annotation, or make a Secret something else. Source: the types of sigs.k8s.io/kustomize/api.
var confined = map[string]bool{
	"apiVersion": true, "kind": true, "metadata": true, "buildMetadata": true, "sortOptions": true,
	"resources": true, "bases": true, "components": true, "crds": true, "openapi": true,
	"namespace": true, "namePrefix": true, "nameSuffix": true, "images": true, "replicas": true,
	"labels": true, "commonLabels": true, "commonAnnotations": true,
	"configMapGenerator": true, "secretGenerator": true, "generatorOptions": true,
	"helmCharts": true, "helmGlobals": true,
}

// named is how a file names a Secret, or makes one: not a SecretStore, nor a reference to a Secret.
var named = lazyregexp.New(`\bkind["']?\s*:\s*["']?Secret(List)?["']?\s*([,}#]|\n|$)|[sS]ecretGenerator`)

// saw notes a file that was read.
func (c *confidence) saw(name string, data []byte) {
	c.secret = c.secret || bytes.Contains(data, []byte("ecret")) && named.Match(data)
	switch path.Base(name) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		c.copies = c.copies || copies(data)
	}
}

// copies reports whether a kustomization has a field that may move the value of a Secret.
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
