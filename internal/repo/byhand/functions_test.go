package byhand

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFunctions reads what functions of a script do with the arguments of their calls.
func TestFunctions(t *testing.T) {
	script := `#!/bin/sh
ensure_ns() {
  kubectl create namespace "$1" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
}
function secret() {
  local ns="${1}" name="$2"
  kubectl -n "$ns" create secret generic "$name" --from-literal=a=b
}
unused() {
  kubectl create namespace "$1"
}
for ns in data web; do
  ensure_ns "$ns"
done
ensure_ns other && secret other token
ensure_ns "$OPEN"
`
	var got []string
	for _, n := range namespaces("run.sh", []byte(script)) {
		got = append(got, n.Name)
	}
	if diff := cmp.Diff([]string{"data", "web", "other"}, got); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
	got = nil
	for _, o := range objects("run.sh", []byte(script)) {
		got = append(got, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	if diff := cmp.Diff([]string{"Secret data/*", "Secret web/*", "Secret other/token"}, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
