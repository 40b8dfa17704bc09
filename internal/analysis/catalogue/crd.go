package catalogue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// CRD is one CRD, written "certificates.cert-manager.io Certificate v1", or
// "clusterissuers.cert-manager.io ClusterIssuer cluster v1" for a cluster-wide
// kind. The versions are those served, separated by commas.
type CRD struct {
	manifest.CRD
}

const clusterWide = "cluster"

// String writes a CRD.
func (c CRD) String() string {
	parts := []string{c.Plural + "." + c.Group, c.Kind}
	if c.ClusterWide {
		parts = append(parts, clusterWide)
	}
	if len(c.Versions) > 0 {
		parts = append(parts, strings.Join(c.Versions, ","))
	}
	return strings.Join(parts, " ")
}

// ParseCRD reads a CRD.
func ParseCRD(text string) (CRD, error) {
	parts := strings.Fields(text)
	var c CRD
	if len(parts) < 2 || len(parts) > 4 {
		return c, fmt.Errorf("CRD %q is not written as \"plural.group Kind version\"", text)
	}
	c.Plural, c.Group, _ = strings.Cut(parts[0], ".")
	c.Kind = parts[1]
	if c.Plural == "" || c.Group == "" {
		return c, fmt.Errorf("CRD %q does not begin with \"plural.group\"", text)
	}
	rest := parts[2:]
	if len(rest) > 0 && rest[0] == clusterWide {
		c.ClusterWide, rest = true, rest[1:]
	}
	switch len(rest) {
	case 0:
	case 1:
		c.Versions = strings.Split(rest[0], ",")
		slices.Sort(c.Versions)
	default:
		return c, fmt.Errorf("CRD %q has more than its versions at the end", text)
	}
	return c, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *CRD) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("a CRD is a text such as \"certificates.cert-manager.io Certificate v1\": %w", err)
	}
	var err error
	*c, err = ParseCRD(text)
	return err
}

// MarshalJSON implements json.Marshaler.
func (c CRD) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// SortCRDs sorts by group, then kind.
func SortCRDs(all []CRD) {
	slices.SortFunc(all, func(a, b CRD) int { return strings.Compare(a.Group+"/"+a.Kind, b.Group+"/"+b.Kind) })
}

// splitKind splits "group/Kind"; the core group is written "/Pod".
func splitKind(text string) (group, kind string, ok bool) {
	i := strings.LastIndexByte(text, '/')
	if i < 0 || i == len(text)-1 {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

// kindMatches reports whether "group/Kind" or "group/*" covers a kind.
func kindMatches(pattern, group, kind string) bool {
	g, k, ok := splitKind(pattern)
	return ok && g == group && (k == kind || k == "*")
}
