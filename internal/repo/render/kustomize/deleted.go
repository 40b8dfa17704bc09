package kustomize

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
)

// patching are the patches of one kustomization, as it writes them.
type patching struct {
	folder          string
	patches, merges []any
}

// patchingOf keeps the patches of a kustomization.
func patchingOf(file string, doc map[string]any) patching {
	p := patching{folder: path.Dir(file)}
	p.patches, _ = doc["patches"].([]any)
	p.merges, _ = doc["patchesStrategicMerge"].([]any)
	return p
}

// withDeleted says of what is left out which objects the patches around it delete. Source:
// kustomize, "$patch: delete".
func (b *build) withDeleted() []source.Lacking {
	if len(b.lacking) == 0 {
		return nil
	}
	var all []source.Named
	for _, p := range b.patching {
		for _, entry := range p.patches {
			m, _ := entry.(map[string]any)
			target, _ := m["target"].(map[string]any)
			text, _ := m["patch"].(string)
			if file, _ := m["path"].(string); text == "" && file != "" {
				text = b.patchFile(p.folder, file)
			}
			all = append(all, deletedBy(text, target)...)
		}
		for _, entry := range p.merges {
			text, _ := entry.(string)
			if !strings.Contains(text, "\n") {
				text = b.patchFile(p.folder, text)
			}
			all = append(all, deletedBy(text, nil)...)
		}
	}
	for i := range b.lacking {
		b.lacking[i].Deleted = all
	}
	return b.lacking
}

// patchFile is the text of a patch; empty where it cannot be read, which kustomize tells of.
func (b *build) patchFile(folder, name string) string {
	data, err := b.files.read(path.Join(folder, name))
	if err != nil {
		return ""
	}
	return string(data)
}

// deletedBy are the objects that a patch deletes. A target says what is patched, whatever the
// patch names.
func deletedBy(text string, target map[string]any) []source.Named {
	if !strings.Contains(text, "$patch") {
		return nil
	}
	var all []source.Named
	for _, d := range manifest.Split([]byte(text)) {
		var o struct {
			Patch    string       `json:"$patch"`
			Kind     string       `json:"kind"`
			Metadata source.Named `json:"metadata"`
		}
		if yaml.Unmarshal(d.Text, &o) != nil || o.Patch != "delete" {
			continue
		}
		named := source.Named{Kind: o.Kind, Name: o.Metadata.Name}
		if target != nil {
			named.Kind, _ = target["kind"].(string)
			named.Name, _ = target["name"].(string)
		}
		if named.Kind != "" && named.Name != "" && !slices.Contains(all, named) {
			all = append(all, named)
		}
	}
	return all
}
