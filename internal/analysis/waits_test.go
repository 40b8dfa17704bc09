package analysis

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/lint"
)

func TestWaitsIn(t *testing.T) {
	for command, want := range map[string][]lint.Wait{
		"kubectl wait --for=condition=Available --timeout=5m deployment/db -n data":                    {{Kind: "deployment", Name: "db", Namespace: "data"}},
		"kubectl -n data wait --for condition=Ready kafkas.kafka.strimzi.io/main":                      {{Kind: "kafkas.kafka.strimzi.io", Name: "main", Namespace: "data"}},
		"until kubectl get secret db-app --namespace=data >/dev/null 2>&1; do sleep 5; done":           {{Kind: "secret", Name: "db-app", Namespace: "data"}},
		"while ! kubectl get crd things.example.org; do sleep 1; done && kubectl rollout status sts/a": {{Kind: "crd", Name: "things.example.org"}, {Kind: "sts", Name: "a"}},
		`until kubectl get 'job' "migrate"; do sleep 1; done`:                                          {{Kind: "job", Name: "migrate"}},
		"for i in $(seq 1 60); do kubectl get secret db && exit 0; sleep 5; done; exit 1":              {{Kind: "secret", Name: "db"}},
		"for i in 1 2 3; do if kubectl get secret db; then break; fi; sleep 1; done":                   {{Kind: "secret", Name: "db"}},
		`NAME="db-app"; until kubectl get secret "$NAME" -n ${NS}; do sleep 1; done`:                   {{Kind: "secret", Name: "db-app", Namespace: "data"}},
		"for s in a b; do until kubectl get secret $s; do sleep 1; done; done":                         {{Kind: "secret", Name: "a"}, {Kind: "secret", Name: "b"}},
		"until kubectl get $KIND/$UNKNOWN; do sleep 1; done":                                           nil,
		"NAME=a; NAME=b; until kubectl get secret $NAME; do sleep 1; done":                             nil, // either
		"NAME=$(cat name); until kubectl get secret $NAME; do sleep 1; done":                           nil,
		"read NAME; until kubectl get secret $NAME; do sleep 1; done":                                  nil,
		"NS=other; for s in $(list); do kubectl wait secret/$s -n $NS; done":                           nil,
		"for i in 1 2 3; do kubectl get secret db; sleep 1; done":                                      nil, // shows it three times
		"kubectl get pod a; for i in 1 2; do kubectl wait --for=condition=Ready pod/b; done":           {{Kind: "pod", Name: "b"}},
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
		if diff := cmp.Diff(want, waitsIn(parseScript(command), map[string]string{"NS": "data", "KIND": "secret"})); diff != "" {
			t.Errorf("%s\n%s", command, diff)
		}
	}
}

func TestCommandsOfContainers(t *testing.T) {
	db := []lint.Wait{{Kind: "secret", Name: "db"}}
	for _, c := range []struct {
		words []string
		want  []lint.Wait
	}{
		{[]string{"kubectl", "wait", "--for=create", "secret/db"}, db},
		{[]string{"timeout", "60", "/usr/bin/kubectl", "wait", "--for=jsonpath={.data}", "secret/db"}, db},
		{[]string{"/bin/sh", "-ec", "kubectl wait --for=create secret db"}, db},
		{[]string{"/bin/bash", "-c", "--", "until [ -n \"$(kubectl get secret db)\" ]; do sleep 1; done"}, db},
		{[]string{"/bin/bash", "-euo", "pipefail", "-c", "kubectl wait secret/db"}, db},
		{[]string{"sh", "/scripts/wait.sh", "-c", "kubectl wait secret/db"}, nil},
		{[]string{"tini", "sh", "-c", "kubectl wait secret/db"}, db},
		{[]string{"sh", "-c", "echo kubectl wait secret/db"}, nil},
		{[]string{"sh", "-c", "cat <<EOF\nkubectl wait secret/db\nEOF"}, nil},
		{[]string{"sh", "-c", "i=1; ((i++)); kubectl wait secret/db-$i"}, nil},
		{[]string{"sh", "-c", "kubectl wait secret/db)"}, nil}, // it has an error
		{[]string{"sh", "-c", strings.Repeat("(", longestScript)}, nil},
		{[]string{"sh", "-c", strings.Repeat("$(", longestScript/2)}, nil},
		{[]string{"sh", "-c"}, nil},
		{nil, nil},
	} {
		if diff := cmp.Diff(c.want, waitsIn(parts(c.words), nil)); diff != "" {
			t.Errorf("%.100q\n%s", c.words, diff)
		}
	}
}
