package installation

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// arguments reads the flags of Argo CD's controllers in a text.
func (r *Reader) arguments(v *yamldoc.Value) {
	if !strings.Contains(v.Text, "--enable-") && !strings.Contains(v.Text, watchedFlag) && !strings.Contains(v.Text, syncTimeoutFlag) {
		return
	}
	words := strings.Fields(v.Text)
	for i, word := range words {
		flag, value, written := strings.Cut(strings.Trim(word, `"',`), "=")
		if !written {
			value = "true"
		}
		switch flag {
		case progressiveFlag:
			turn(&r.found.ProgressiveSyncs, value, v.Position)
		case globbingFlag:
			turn(&r.found.NewGlobbing, value, v.Position)
		case watchedFlag:
			if !written { // its value is the next argument
				value = "*"
			}
			r.watch(value)
		case syncTimeoutFlag:
			if !written && i+1 < len(words) {
				value, written = strings.Trim(words[i+1], `"',`), true
			}
			if written { // else its value is the next item of a list
				r.endsSyncs(value, v.Position)
			}
		}
	}
}

// variable reads a variable of Argo CD's controllers.
func (r *Reader) variable(v *yamldoc.Value) {
	value := v.At("value")
	if value == nil || value.Kind != yamldoc.Scalar {
		return
	}
	switch v.TextAt("name") {
	case progressiveVariable:
		turn(&r.found.ProgressiveSyncs, value.Text, value.Position)
	case globbingVariable:
		turn(&r.found.NewGlobbing, value.Text, value.Position)
	case watchedVariable:
		r.watch(value.Text)
	case syncTimeoutVariable:
		r.endsSyncs(value.Text, value.Position)
	}
}

// operation reads an operation of a JSON patch, which names the key in its path.
func (r *Reader) operation(v *yamldoc.Value, in home) {
	pointer, value := v.TextAt("path"), v.At("value")
	if !strings.HasPrefix(pointer, "/") || value == nil || v.TextAt("op") == "remove" {
		return
	}
	segments := strings.Split(pointer, "/")
	for i, s := range segments {
		segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	last := len(segments) - 1
	switch parent := strings.Join(segments[:last], "/"); {
	case parent == "/spec":
		r.field(segments[last], value, v.Position)
	case strings.HasSuffix(parent, "/configs/cm"), strings.HasSuffix(parent, "/extraConfig"):
		in = settings
	case strings.HasSuffix(parent, "/configs/params"), strings.HasSuffix(parent, "/cmdParams"):
		in = parameters
	}
	r.key(segments[last], value, v.Position, in)
}

// parameter reads a parameter of Helm, whose name is a path in the values: a dot of a
// key has a backslash before it.
func (r *Reader) parameter(v *yamldoc.Value) {
	name, value := v.TextAt("name"), v.At("value")
	if value == nil || !strings.Contains(name, `\.`) && !strings.HasPrefix(name, "configs.cm.") {
		return
	}
	parts := strings.Split(strings.ReplaceAll(name, `\.`, "\x00"), ".")
	in := anywhere
	if n := len(parts); n > 2 && parts[n-3] == "configs" {
		in = map[string]home{"cm": settings, "params": parameters}[parts[n-2]]
	}
	key := strings.ReplaceAll(parts[len(parts)-1], "\x00", ".")
	if r.key(key, value, v.Position, in) {
		r.stands(in, v.Position)
	}
}

// operator reads the ArgoCD resource, which stands for both ConfigMaps. Source:
// argocd-operator, ArgoCDSpec.
func (r *Reader) operator(v *yamldoc.Value) {
	r.whole(v.Position, false)
	r.installedIn(v.TextAt("metadata", "namespace"))
	if spec := v.At("spec"); spec != nil {
		for _, e := range spec.Entries {
			r.field(e.Key, e.Value, e.Position)
		}
	}
}
