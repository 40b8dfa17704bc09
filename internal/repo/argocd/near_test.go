package argocd

import "testing"

func TestIsNear(t *testing.T) {
	for _, c := range []struct{ folder, dir, want string }{
		{"teams/portal", "teams/portals/one", "teams/portals"},
		{"teams/protal", "teams/portal", "teams/portal"},
		{"infrastructure", "infrastucture/a/b", "infrastucture"},
		{"teams/core", "teams/corp", ""},           // another letter
		{"teams/v1alpha1", "teams/v1alpha2", ""},   // numbers tell apart
		{"teams/app", "teams/apps", ""},            // short
		{"team/portal", "teams/portals", ""},       // two slips
		{"teams/portal/deep", "teams/portals", ""}, // less deep
		{"teams/portal", "teams/portal", ""},       // the same
		{"", "teams", ""},
	} {
		if got := isNear(c.folder, c.dir); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.folder, c.dir, got, c.want)
		}
	}
}
