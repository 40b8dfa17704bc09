package confidential

import (
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

var (
	confidentialName = lazyregexp.New(`(?i)passw|passphrase|\bpwd\b|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key|encryption[-_]?key|auth[-_]?key|signing[-_]?key|dsn$`)
	// reference names the object that holds a secret, or is about secrets without
	// holding any.
	reference = lazyregexp.New(`(?i)(secret|token|credentials?)[-_]?(name|names|ref|refs|namespace|store|storeref|stores|class|classname|path|type|kind|policy|provider)$|^(existing|imagepull|pull|tls)[-_]?secrets?$|^existingsecret\w*$|expiration|^automountserviceaccounttoken$`)
	// harmless are fields that name things wherever they are.
	harmless          = []string{"name", "namespace", "kind", "apiVersion", "optional", "group", "holds", "issuedBy"}
	confidentialValue = lazyregexp.New(`(?i)(passw|passphrase|pwd|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key|authorization)\w*["']?\s*[:=]\s*\S|^(bearer|basic)\s+\S|-----BEGIN|\beyJ[\w-]{10,}|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\b(ghp|gho|ghs|github_pat|glpat|xox[abps])[-_]\w{10,}`)
)

// LastApplied is the annotation that holds a whole object. Source: kubectl apply.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Text reports whether a text looks as if it held a secret.
func Text(text string) bool { return confidentialValue.MatchString(text) }

// Named reports whether a value at these keys may be secret by their names. secret
// says that the keys are those of a Secret.
func Named(keys []string, secret bool) bool {
	if len(keys) == 0 {
		return false
	}
	if secret && (keys[0] == "data" || keys[0] == "stringData") {
		return true
	}
	last := keys[len(keys)-1]
	if last == LastApplied {
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
