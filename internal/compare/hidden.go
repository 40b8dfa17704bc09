package compare

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// What is hidden: values of Secrets; texts below a name that says that they are
// secret; texts that look as if they held a secret; user names and passwords in
// addresses; and the lines of longer texts, which may hold any of that. A name
// that is hidden without need costs a look at the files, one that is shown cannot
// be taken back.
var (
	confidentialName = regexp.MustCompile(`(?i)passw|passphrase|\bpwd\b|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key|encryption[-_]?key|auth[-_]?key|signing[-_]?key|dsn$`)
	// reference names the object that holds a secret, or is about secrets without
	// holding any.
	reference = regexp.MustCompile(`(?i)(secret|token|credentials?)[-_]?(name|names|ref|refs|namespace|store|storeref|stores|class|classname|path|type|kind|policy|provider)$|^(existing|imagepull|pull|tls)[-_]?secrets?$|^existingsecret\w*$|expiration|^automountserviceaccounttoken$`)
	// harmless are fields that name things wherever they are.
	harmless          = []string{"name", "namespace", "kind", "apiVersion", "optional", "group", "holds", "issuedBy"}
	confidentialValue = regexp.MustCompile(`(?i)(passw|passphrase|pwd|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key|authorization)\w*["']?\s*[:=]\s*\S|^(bearer|basic)\s+\S|-----BEGIN|\beyJ[\w-]{10,}|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\b(ghp|gho|ghs|github_pat|glpat|xox[abps])[-_]\w{10,}`)
)

// lastApplied holds a whole object. Source: kubectl apply.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

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
		case d.hides(at.keys), confidentialValue.MatchString(v):
			return manifest.Redacted
		case strings.Contains(strings.TrimSuffix(v, "\n"), "\n"):
			return "(" + plural(strings.Count(strings.TrimSuffix(v, "\n"), "\n")+1, "line") + ")"
		default:
			return finding.Redact(v)
		}
	case nil:
		return v
	default: // a number, true or false
		if d.hides(at.keys) && !d.counts(at.keys) {
			return manifest.Redacted
		}
		return v
	}
}

// hides reports whether a value at these keys may be secret.
func (d *difference) hides(keys []string) bool {
	if len(keys) == 0 {
		return false
	}
	if d.secret && (keys[0] == "data" || keys[0] == "stringData") {
		return true
	}
	last := keys[len(keys)-1]
	if last == lastApplied {
		return true
	}
	if slices.Contains(harmless, last) || reference.MatchString(last) {
		return false
	}
	if last == "key" && len(keys) > 1 && strings.HasSuffix(strings.ToLower(keys[len(keys)-2]), "ref") {
		return false // which key of an object is meant
	}
	// The names of labels and annotations are those of who reads them.
	if len(keys) > 1 && keys[0] == "metadata" && keys[1] == "labels" {
		return false
	}
	for i, key := range keys {
		if !confidentialName.MatchString(key) || reference.MatchString(key) {
			continue
		}
		// An item that is named for what it holds: what is beside its value says
		// where the value comes from.
		if i < len(keys)-1 && slices.Contains(keys[i+1:], "valueFrom") {
			continue
		}
		return true
	}
	return false
}

// counts reports whether a number, or true or false, is none that is secret: only
// in a Secret, and under a name that speaks of passwords, may it be one.
func (d *difference) counts(keys []string) bool {
	return !d.secret && !strings.Contains(strings.ToLower(keys[len(keys)-1]), "passw")
}
