package argocd

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// withoutDry leaves overlays out whose output is committed to another folder of this
// repository, from which Argo CD takes it (the pattern of rendered manifests): what nothing
// applies then is the dry source of what is applied. The output is a file of several
// documents in no kustomization, which has every Application of the overlay under its name
// and one at least as the overlay has it: the output may lag behind.
func (g *applied) withoutDry(ctx context.Context, all []document, overlays []string) []string {
	r := g.repository
	incoming := map[string]bool{}
	for _, below := range g.below {
		for _, to := range below {
			incoming[to.key()] = true
		}
	}
	wet := map[string]map[string]document{} // by file and name
	for _, d := range all {
		file := d.position().File
		if d.rendered || d.generated != nil || !d.applies() || !incoming[d.key()] || r.isKustomization(path.Dir(file)) {
			continue
		}
		if wet[file] == nil {
			wet[file] = map[string]document{}
		}
		wet[file][d.name()] = d
	}
	return slices.DeleteFunc(overlays, func(dir string) bool {
		if g.folders[dir] {
			return false
		}
		documents, err := r.build(ctx, dir, nil)
		if err != nil {
			return false
		}
		documents = slices.DeleteFunc(documents, func(d document) bool { return !d.applies() })
		for file, output := range wet {
			if len(documents) < 2 && len(r.files[file]) < 2 || strings.HasPrefix(file, dir+"/") || !isOutput(documents, output) {
				continue
			}
			for _, p := range r.closure(dir) {
				for _, d := range r.files[p] {
					g.reached[d.key()] = true
				}
			}
			return true
		}
		return false
	})
}

// isOutput reports whether a file has all of some documents, and one at least to the last field.
func isOutput(documents []document, output map[string]document) bool {
	equal := false
	for _, d := range documents {
		written, ok := output[d.name()]
		if !ok || written.kind() != d.kind() {
			return false
		}
		equal = equal || fmt.Sprint(written.value.At("spec").Any()) == fmt.Sprint(d.value.At("spec").Any())
	}
	return equal
}
