package diff

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/confidential"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// What is hidden: values of Secrets; texts below a name that says that they are
// secret; texts that look as if they held a secret; user names and passwords in
// addresses; and the lines of longer texts, which may hold any of that.

// masked returns a value with what may be secret replaced.
func (d *difference) masked(at place, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = d.masked(at.key(key), value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			name := previous(v, nil, i)
			if m, ok := value.(map[string]any); ok {
				name, _ = m["name"].(string)
			}
			out[i] = d.masked(at.item("", name), value)
		}
		return out
	case string:
		switch {
		case v == "":
			return v
		case confidential.Named(at.keys, d.secret), confidential.Text(v):
			return manifest.Redacted
		case strings.Contains(strings.TrimSuffix(v, "\n"), "\n"):
			return "(" + finding.Count(strings.Count(strings.TrimSuffix(v, "\n"), "\n")+1, "line") + ")"
		default:
			return finding.Redact(v)
		}
	case nil:
		return v
	default: // a number, true or false
		if confidential.Named(at.keys, d.secret) && !d.counts(at.keys) {
			return manifest.Redacted
		}
		return v
	}
}

// counts reports whether a number, or true or false, is none that is secret: only
// in a Secret, and under a name that speaks of passwords, may it be one.
func (d *difference) counts(keys []string) bool {
	return !d.secret && !strings.Contains(strings.ToLower(keys[len(keys)-1]), "passw")
}
