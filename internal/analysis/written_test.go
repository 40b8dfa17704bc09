package analysis

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// TestRulesAskAtOnce: rules run side by side, and what answers them is safe for it; run it under the
// race detector too.
func TestRulesAskAtOnce(t *testing.T) {
	const count = 20
	var files strings.Builder
	files.WriteString(charts)
	for i := range count {
		fmt.Fprintf(&files, `-- environments/dev/components/c%[1]d/component.yaml --
name: c%[1]d
domain: apps
namespace: apps
rolloutPhase: "130"
componentType: runtime
chart: {path: charts/c%[1]d}
-- charts/c%[1]d/Chart.yaml --
apiVersion: v2
name: c%[1]d
version: 1.0.0
-- charts/c%[1]d/values.yaml --
secret: token-%[1]d
-- charts/c%[1]d/templates/pod.yaml --
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  containers:
    - name: main
      image: example.org/main:1.0.0
      envFrom:
        - secretRef:
            name: {{ .Values.secret }}
`, i)
	}
	files.WriteString("-- up.sh --\nkubectl create secret generic token-0 -n apps\nkubectl create namespace early\n")
	in := load(t, files.String()).Lint()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for i := range count {
				component, name := fmt.Sprintf("c%d", i), fmt.Sprintf("token-%d", i)
				at := in.Written(component, name, finding.Evidence{File: "charts/" + component + "/templates/pod.yaml", Line: 10, Field: "spec.containers[0].envFrom[0].secretRef.name"})
				if want := (finding.Position{File: "charts/" + component + "/values.yaml", Line: 1}); at != want {
					t.Errorf("%s is written at %v, want %v", name, at, want)
				}
				if _, created := in.Created(finding.Resource{Kind: "Secret", Namespace: "apps", Name: name}); created != (i == 0) {
					t.Errorf("%s: created by hand %v", name, created)
				}
				if _, made := in.ByHand(finding.Resource{Kind: "Namespace", Name: "early"}); !made {
					t.Error("Namespace early is not made by hand")
				}
			}
		})
	}
	asking.Wait()
}
