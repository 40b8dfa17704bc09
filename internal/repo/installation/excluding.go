package installation

import (
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// The first versions whose settings exclude kinds by default: of Argo CD 3.0.0, its
// manifests have them. Its chart followed within its version 8. Source: argo-cd, "v2.14 to
// 3.0", default resource.exclusions.
const (
	excludingManifests = 3
	excludingChart     = 9
)

// defaultExclusions are those of Argo CD 3. Source: argo-cd, manifests/base/config/argocd-cm.yaml.
func defaultExclusions(at finding.Position) argo.Filters {
	return argo.Filters{Default: true, Position: at, Filters: []argo.Filter{
		{Groups: []string{"", "discovery.k8s.io"}, Kinds: []string{"Endpoints", "EndpointSlice"}},
		{Groups: []string{"coordination.k8s.io"}, Kinds: []string{"Lease"}},
		{Groups: []string{"certificates.k8s.io"}, Kinds: []string{"CertificateSigningRequest"}},
		{Groups: []string{"cert-manager.io"}, Kinds: []string{"CertificateRequest"}},
		{Groups: []string{"cilium.io"}, Kinds: []string{"CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"}},
	}}
}

// manifestsRelease finds the version in the address of a release's manifests.
var manifestsRelease = lazyregexp.New(`argoproj/argo-cd(?:\.git)?/(?:.*[/=])?v(\d+)\.\d+`)

// excludes reports whether the manifests of an address have the default exclusions.
func excludes(address string) bool {
	m := manifestsRelease.FindStringSubmatch(address)
	return m != nil && atLeast(m[1], excludingManifests)
}

// chartExcludes reports whether the chart of a version has them.
func chartExcludes(version string) bool {
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	return atLeast(major, excludingChart)
}

func atLeast(number string, least int) bool {
	n, err := strconv.Atoi(number)
	return err == nil && n >= least
}
