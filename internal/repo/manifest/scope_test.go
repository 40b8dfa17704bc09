package manifest

import "testing"

// Constraints of Gatekeeper are cluster-wide whatever their kind, which each template makes.
func TestConstraintsAreClusterWide(t *testing.T) {
	s := NewScopes()
	for _, tc := range []struct {
		group, kind string
		want        bool
	}{
		{"constraints.gatekeeper.sh", "K8sBlockLatestTag", true},
		{"config.gatekeeper.sh", "Config", false},
		{"", "ConfigMap", false},
		{"", "Namespace", true},
	} {
		if got := s.ClusterWide(tc.group, tc.kind); got != tc.want {
			t.Errorf("%s/%s: cluster-wide %t, want %t", tc.group, tc.kind, got, tc.want)
		}
	}
}
