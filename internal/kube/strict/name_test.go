package strict

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, test := range []struct{ version, kind, name, want string }{
		{"v1", "ServiceAccount", "metrics-server", ""},
		{"v1", "ServiceAccount", "metrics-server-metricsServer", subdomain},
		{"v1", "ConfigMap", "a_b", subdomain},
		{"v1", "ConfigMap", "a.b", ""},
		{"v1", "Secret", "-tls", subdomain},
		{"v1", "Service", "a.b", label},
		{"v1", "Service", "1a", ""}, // newer servers take it
		{"v1", "Namespace", "Shop", label},
		{"apps/v1", "Deployment", strings.Repeat("a", 254), subdomain},
		{"batch/v1", "CronJob", strings.Repeat("a", 53), scheduled},
		{"batch/v1", "Job", strings.Repeat("a", 53), ""},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "system:Reader_1", ""},
		{"rbac.authorization.k8s.io/v1", "Role", "a/b", segment},
		{"cert-manager.io/v1", "Certificate", "Web", subdomain},
		{"apiregistration.k8s.io/v1", "APIService", "V1.x", ""}, // a rule of its own
		{"policy.example.com/v1", "Policy", "", ""},
		// What something fills in later.
		{"v1", "ConfigMap", "${NAME}-config", ""},
		{"v1", "ConfigMap", "app-CLUSTER_NAME", ""},
		{"v1", "ConfigMap", "CHANGEME", ""},
		{"v1", "ConfigMap", "__name__", ""},
	} {
		got := Name(map[string]any{"apiVersion": test.version, "kind": test.kind, "metadata": map[string]any{"name": test.name}})
		if got != test.want {
			t.Errorf("%s %s %q: %q, want %q", test.version, test.kind, test.name, got, test.want)
		}
	}
}
