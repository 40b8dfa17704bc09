package argocd

import (
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// noteCarried notes the files that the generators of a kustomization put into a ConfigMap or Secret:
// what is in them is handed to somebody else. One that a kustomization has as a resource is applied.
func (r *Repository) noteCarried(file string, kustomization *yamldoc.Value) {
	note := func(to map[string]bool, p string) {
		if p != "" && !strings.Contains(p, "\n") {
			to[path.Join(path.Dir(file), p)] = true
		}
	}
	for _, key := range []string{"configMapGenerator", "secretGenerator"} {
		list := kustomization.At(key)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			files := item.At("files")
			if files == nil {
				continue
			}
			for _, f := range files.Items {
				_, name, named := strings.Cut(f.Text, "=")
				if !named {
					name = f.Text
				}
				note(r.carried, name)
			}
		}
	}
	if list := kustomization.At("resources"); list != nil {
		for _, item := range list.Items {
			note(r.resources, item.Text)
		}
	}
}

// isCarried reports whether a file is only the content of a ConfigMap or Secret.
func (r *Repository) isCarried(file string) bool { return r.carried[file] && !r.resources[file] }

// findHeld tells of an object that has Applications as text or as a part, as what carries them to
// another cluster does.
func (r *Repository) findHeld(documents []document) {
	for _, d := range documents {
		if d.name() == "" || d.kind() == "CustomResourceDefinition" {
			continue
		}
		if at, ok := held(d.value); ok {
			r.partNotRead(at, "", "%s %s holds Applications as text, which are not read: who takes them from there applies them", d.kind(), d.name())
		} else if part := heldPart(d.value, 0); part != nil {
			r.partNotRead(part.Position, "", "%s %s holds the %s %s, which is not read: who takes it from there applies it", d.kind(), d.name(), part.TextAt("kind"), part.TextAt("metadata", "name"))
		}
	}
}

// held is where a text in a value is a manifest of an Application or an ApplicationSet.
func held(v *yamldoc.Value) (at finding.Position, ok bool) {
	if v == nil {
		return at, false
	}
	if strings.Contains(v.Text, "\n") && strings.Contains(v.Text, "argoproj.io/v1alpha1") && mentions.MatchString(v.Text) && !strings.Contains(v.Text, "kind: AppProject") {
		return v.Position, true
	}
	for _, item := range v.Items {
		if at, ok := held(item); ok {
			return at, true
		}
	}
	for _, e := range v.Entries {
		if at, ok := held(e.Value); ok {
			return at, true
		}
	}
	return at, false
}

// maxHeldDepth bounds how deep an object is looked for within another one.
const maxHeldDepth = 12

// heldPart is the first Application or ApplicationSet that a part of a value is; nil for none.
func heldPart(v *yamldoc.Value, depth int) *yamldoc.Value {
	if v == nil || depth > maxHeldDepth {
		return nil
	}
	if d := (document{value: v}); depth > 0 && d.applies() && v.At("spec") != nil {
		return v
	}
	for _, item := range v.Items {
		if part := heldPart(item, depth+1); part != nil {
			return part
		}
	}
	for _, e := range v.Entries {
		if part := heldPart(e.Value, depth+1); part != nil {
			return part
		}
	}
	return nil
}
