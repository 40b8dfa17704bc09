package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Fingerprint names a finding whatever its lines, message and evidence: by rule,
// environment, component, provider and resource, and by file where it is about
// no resource. Two findings can have one fingerprint.
func Fingerprint(f finding.Finding) string {
	parts := []string{f.Rule, f.Environment, f.Component, f.Provider, f.Resource.String()}
	if f.Resource == (finding.Resource{}) {
		parts = append(parts, f.Position.File)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// SinceBaseline parts findings into those that are new and the number of those
// that a baseline has: its fingerprints with how often each may occur.
func SinceBaseline(found []finding.Finding, baseline map[string]int) (fresh []finding.Finding, known int) {
	if len(baseline) == 0 {
		return found, 0
	}
	left := make(map[string]int, len(baseline))
	maps.Copy(left, baseline)
	for _, f := range found {
		fingerprint := Fingerprint(f)
		if left[fingerprint] > 0 {
			left[fingerprint]--
			known++
			continue
		}
		fresh = append(fresh, f)
	}
	return fresh, known
}
