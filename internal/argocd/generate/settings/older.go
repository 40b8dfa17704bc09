package settings

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/kube/health"
)

// noStatusLua goes before a script that expects a status.
const noStatusLua = `if obj.status == nil then
  return {status = "Progressing", message = "waiting for the status of the " .. obj.kind}
end

`

// older returns the script of a kind that Argo CD 3.5 assesses and that an older
// one, as far back as 3.2, assesses otherwise in a way that breaks an order:
//
//   - GatewayClass not at all;
//   - a CustomResourceDefinition that is not established yet as Degraded, which
//     fails a sync, and one without a status as an error;
//   - what Crossplane and Upbound define, where it has no status yet, as Healthy;
//   - a Cluster of CloudNativePG that has no status yet as an error, which fails a
//     sync; 3.5 still does.
//
// Source: Argo CD 3.2.11 and 3.5.7, resource_customizations.
func older(gk schema.GroupKind) (text string, ok bool) {
	switch gk {
	case schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}:
		return gatewayClassLua, true
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return crdLua, true
	case schema.GroupKind{Group: "postgresql.cnpg.io", Kind: "Cluster"}:
		shipped, ok := health.ShippedScript(gk)
		return noStatusLua + shipped, ok
	}
	if !strings.HasSuffix(gk.Group, ".crossplane.io") && !strings.HasSuffix(gk.Group, ".upbound.io") || slices.Contains(unconditional(), gk.Kind) {
		return "", false
	}
	// A kind that Argo CD knows by name has a script of its own.
	if _, named := health.ShippedScript(gk); named {
		return "", false
	}
	return crossplaneLua, true
}

// unconditional are the kinds of Crossplane's own whose objects have no
// conditions, and the one whose conditions mean something else. Source: Crossplane,
// API reference.
func unconditional() []string {
	return []string{
		"ClusterProviderConfig", "ClusterProviderConfigUsage", "ClusterUsage", "Composition", "CompositionRevision", "ControllerConfig",
		"DeploymentRuntimeConfig", "EnvironmentConfig", "ImageConfig", "ManagedResourceDefinition", "ProviderConfig", "ProviderConfigUsage",
		"StoreConfig", "Usage",
	}
}
