package bootstrap

import "testing"

// TestReason: of all that k3d and kind say when they fail, people are told why. The first text is that of
// k3d 5.8.3, shortened.
func TestReason(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"k3d": {
			"\x1b[36mINFO\x1b[0m[0001] Creating node 'k3d-dev-server-0'      \n" +
				"\x1b[31mERRO\x1b[0m[0001] failed Cluster Creation: docker failed to pull image 'rancher/k3s' \n" +
				"\x1b[31mERRO\x1b[0m[0001] Failed to create cluster >>> Rolling Back    \n" +
				"\x1b[31mERRO\x1b[0m[0001] docker failed to remove the container 'k3d-dev-serverlb': No such container \n" +
				"\x1b[31mFATA\x1b[0m[0001] Cluster creation FAILED, all changes have been rolled back! \n",
			"failed Cluster Creation: docker failed to pull image 'rancher/k3s'",
		},
		"k3d, before it began": {"FATA[0000] failed to load configuration: no such file \n", "failed to load configuration: no such file"},
		"kind": {
			"Creating cluster ...\n \x1b[31mx\x1b[0m Preparing nodes\nERROR: failed to create cluster: command \"docker run\" failed\nCommand Output: no such host\n",
			"failed to create cluster: command \"docker run\" failed Command Output: no such host",
		},
		"another": {"a\nb \n", "b"},
		"nothing": {"", ""},
	} {
		if got := reason(c.said); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
