package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Garbage collection is put off before the packages of Kubernetes make their tables.
// Only the order in which Go initialises packages makes it so, which a rename or a
// new import may change.
func TestCollectionIsPutOffFirst(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(ladderBinary(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	before := func(name string) int {
		at := strings.Index(trace.String(), "init "+name+" @")
		if at < 0 {
			t.Fatalf("%s is not initialised:\n%s", name, trace.String())
		}
		return at
	}
	first := before("github.com/rollout-ladder/ladder/internal/cli/early")
	for _, name := range []string{"k8s.io/client-go/kubernetes/scheme", "k8s.io/kubernetes/pkg/features", "k8s.io/apiserver/pkg/admission/metrics", "go.etcd.io/etcd/api/v3/etcdserverpb"} {
		if before(name) < first {
			t.Errorf("%s is initialised first", name)
		}
	}
}
