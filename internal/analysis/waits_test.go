package analysis

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/lint"
)

func TestWaitsIn(t *testing.T) {
	for command, want := range map[string][]lint.Wait{
		"kubectl wait --for=condition=Available --timeout=5m deployment/db -n data":                    {{Kind: "deployment", Name: "db", Namespace: "data"}},
		"kubectl -n data wait --for condition=Ready kafkas.kafka.strimzi.io/main":                      {{Kind: "kafkas.kafka.strimzi.io", Name: "main", Namespace: "data"}},
		"sh -c until kubectl get secret db-app --namespace=data >/dev/null 2>&1; do sleep 5; done":     {{Kind: "secret", Name: "db-app", Namespace: "data"}},
		"while ! kubectl get crd things.example.org; do sleep 1; done && kubectl rollout status sts/a": {{Kind: "crd", Name: "things.example.org"}, {Kind: "sts", Name: "a"}},
		`sh -c "until kubectl get 'job' 'migrate'; do sleep 1; done"`:                                  {{Kind: "job", Name: "migrate"}},
		"kubectl get secret db-app":                                     nil, // asks once
		"kubectl wait --for=condition=Ready pod -l app=db":              nil,
		"kubectl wait --for=condition=Ready pod --selector=app=db":      nil,
		"until kubectl get secret $NAME; do sleep 1; done":              nil,
		"until kubectl get secret db -n ${NAMESPACE}; do sleep 1; done": nil,
		"kubectl wait --for=condition=Ready -f all.yaml":                nil,
		"kubectl apply -f all.yaml":                                     nil,
		"kubectl":                                                       nil,
		"until nc -z db 5432; do sleep 1; done":                         nil,
	} {
		if diff := cmp.Diff(want, waitsIn(command)); diff != "" {
			t.Errorf("%s\n%s", command, diff)
		}
	}
}
