package analysis

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

func TestEndsScript(t *testing.T) {
	for script, want := range map[string]bool{
		"exit 0":                       true,
		"true":                         true,
		"echo all good; exit 0":        true,
		"echo all good":                true,
		"wget -qO- http://web || true": true,
		"wget -qO- http://web || echo 'not || yet'":                                  true,
		"wget -qO- http://web || exit 0":                                             true,
		"kubectl get pods \\\n  || :\n":                                              true,
		"wget -q http://web ||\n  true # or not":                                     true,
		"# asks\nwget -q http://web\nexit 0\n":                                       true,
		"wget http://web | tee /tmp/log || true":                                     true,
		"a=$(wget -qO- http://web || echo 1)\ntrue":                                  true,
		"wget http://web >/dev/null 2>&1 || true":                                    true,
		"cat <<EOF\nset -e\nEOF\ntrue":                                               true,
		"echo `false`":                                                               true,
		"set +e; wget http://web; exit 0":                                            true,
		"set -x\nwget http://web || true":                                            true,
		"set -e\nset +e -x\nwget http://web\nexit 0":                                 true,
		"set -ex\nwget http://web || true":                                           true,
		"wget -qO- http://web | cat":                                                 true,
		"sleep 5":                                                                    true,
		"echo wait; sleep 1m; echo done":                                             true,
		"! wget http://web || true":                                                  true,
		"if wget http://web; then echo ok; else echo bad; fi":                        true,
		"if ! wget http://web; then echo bad; fi":                                    true,
		"if wget http://a; then\n  echo a\nelif wget http://b; then\n  echo b\nfi\n": true,
		"if wget http://web; then exit 0; fi\necho down":                             true,
		"wget -qO- http://web\necho done":                                            true,
		"curl -f http://web; echo $?":                                                true,
		"wget http://web; sleep 5":                                                   true,
		"kubectl get secret x\necho checked":                                         true,
		"kubectl wait pod/web --for=condition=Ready --timeout=60s\necho ok":          true,
		"for i in 1 2 3; do curl -f http://web && break; sleep 1; done\necho done":   true,
		"for i in $(seq 1 3); do ./ask.sh || continue; done; true":                   true,
		"for i in 1 2; do ./ask.sh $i || true; done":                                 true,
		"(curl -f http://web; true)":                                                 true,
		"(curl -f http://web; echo ok)":                                              true,
		"./ask.sh || { echo no; true; }":                                             true,
		"{ ./ask.sh; exit 0; }":                                                      true,

		"":                                                  false,
		"wget -qO- http://web":                              false,
		"wget http://web || exit 1":                         false,
		"wget http://web || exit 1\nexit 0":                 false,
		"set -e\nwget http://web\nexit 0":                   false,
		"A=b exec wget http://web\ntrue":                    false,
		"true && wget http://web":                           false,
		"wget http://web || true && wget http://b":          false,
		"until wget http://web; do sleep 1; done\nexit 0":   false,
		"if wget http://web; then exit 1; fi\ntrue":         false,
		"wget http://web || { echo no; exit 1; }\ntrue":     false,
		"${URL:?is not set}\ntrue":                          false,
		"echo $((1/n))":                                     false,
		"echo 'no end\ntrue":                                false,
		"wget http://web &\ntrue":                           false,
		"echo x > /data/file":                               false,
		": > /data/file\ntrue":                              false, // the shell ends where it cannot
		"cat <<EOF\n${URL:?is not set}\nEOF\ntrue":          false,
		"wget http://web; exit $?":                          false,
		"exec wget http://web\ntrue":                        false,
		"wget http://web || return 1\ntrue":                 false,
		"[ -n \"$(wget -qO- http://web)\" ] && echo ok":     false,
		"case $x in a) exit 1;; esac\ntrue":                 false,
		"! wget http://web":                                 false,
		"trap 'exit 1' EXIT\ntrue":                          false,
		"set -e; wget http://web; set +e; exit 0":           false,
		"set -e\nwget http://web | cat\nwget http://b":      false,
		"set -u; echo $A":                                   false,
		"set -o pipefail; wget http://web | cat":            false,
		"set +e >/data/file; true":                          false,
		"wget http://web && set -e; true":                   false,
		"wget http://web; set +e":                           false,
		"wget http://web | cat /data/file":                  false,
		"wget http://web | cat >/data/file":                 false,
		"wget http://web | grep ok":                         false,
		"wget http://web | ! cat":                           false,
		"cat":                                               false,
		"sleep infinity":                                    false,
		"sleep $N":                                          false,
		"sleep 5 > /data/file":                              false,
		"! wget http://web || ! true":                       false,
		"! true":                                            false,
		"if wget http://web; then echo ok; else exit 1; fi": false,
		"if wget http://web; then echo ok; else false; fi":  false,
		"if exit 1; then echo ok; fi":                       false,
		"if wget http://a; then wget http://b; fi":          false,
		"if [ ${URL:?} ]; then echo ok; fi":                 false,
		"if true; then set -e; fi; wget http://web; true":   false,
		"if wget http://web; then echo ok; fi >/data/file":  false,
		"./test.sh":                                         false,
		"./wait-for.sh db; echo done":                       false, // it may wait until it is there
		"kubectl rollout status deploy/web; echo ok":        false,
		"kubectl get pods -w; echo ok":                      false,
		"kubectl wait pod/web --for=condition=Ready --timeout=-1s; echo ok": false,
		"$ASK; echo ok":                                                  false,
		"(./wait-for.sh db; echo done)":                                  false,
		"a=$(./wait-for.sh db)\necho $a":                                 false,
		"grep -q ok <(tail -f log); echo ok":                             false,
		"for i in 1 2 3; do curl -f http://web && exit 1; done; echo ok": false,
		"for i in 1 2 3; do curl -f http://web; done":                    false,
		"for i in $((1/n)); do echo; done":                               false,
		"break; true":                                                    false,
		"while true; do curl -f http://web && break; done; echo ok":      false,
		"(curl -f http://web)":                                           false,
		"(set -e; curl -f http://web; true)":                             false,
		"if ./ask.sh; then ./wait-for.sh db; echo ok; fi":                false,
		"(exit 1); echo ok":                                              false,
		"sleep infinity; echo ok":                                        false,
		". ./lib.sh\ntrue":                                               false,
		"f() { exit 1; }\nf\ntrue":                                       false,
		"test -f a ||\n":                                                 false,
		"wget http://web || true\nwget http://other":                     false,
		"wget http://web && exit 0\necho 'it is down'\nfalse":            false,
	} {
		if got := endsScript(script, false, false); got != want {
			t.Errorf("%q: %t, want %t", script, got, want)
		}
	}
	for script, want := range map[string]bool{
		"wget http://web || true":                                         true,
		"wget http://web || true\necho done":                              true,
		"wget http://web\nexit 0":                                         false,
		"wget http://web || true\nwget http://b":                          false,
		"wget http://web; wget http://b || exit 0":                        false,
		"set +e; wget http://web; exit 0":                                 true,
		"set -x; wget http://web; exit 0":                                 false,
		"if wget http://a; then echo a; fi":                               true,
		"if ! wget http://a; then b; true; fi":                            false,
		"(wget http://a; true)":                                           false,
		"{ wget http://a || true; echo ok; }":                             true,
		"wget http://a; echo ok":                                          false,
		"for i in 1 2; do wget http://a; done; echo ok":                   false,
		"for i in 1 2; do wget http://a && break; sleep 1; done; echo ok": false,
	} {
		if got := endsScript(script, true, false); got != want {
			t.Errorf("-e: %q: %t, want %t", script, got, want)
		}
	}
	for script, want := range map[string]bool{
		"wget http://web; echo ok": false, // one that hangs fails
		"wget http://web || true":  true,
	} {
		if got := endsScript(script, false, true); got != want {
			t.Errorf("limited: %q: %t, want %t", script, got, want)
		}
	}
}

// TestInertKinds: what is Healthy before anything runs, by its kind.
func TestInertKinds(t *testing.T) {
	for text, want := range map[string]lint.Inert{
		"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: true}}":                        lint.Suspended,
		"{apiVersion: batch/v1, kind: CronJob, spec: {suspend: false}}":                       lint.Scheduled,
		"{apiVersion: batch/v1, kind: CronJob, spec: {}}":                                     lint.Scheduled,
		"{apiVersion: example.io/v1, kind: CronJob, spec: {suspend: true}}":                   "",
		"{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}":                        lint.Idle,
		"{apiVersion: v1, kind: Service, spec: {type: NodePort}}":                             lint.Idle,
		"{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}":                         "", // it waits for its address
		"{apiVersion: serving.knative.dev/v1, kind: Service, spec: {}}":                       "",
		"{apiVersion: v1, kind: PersistentVolumeClaim, spec: {}}":                             "",
		"{apiVersion: apps/v1, kind: Deployment, spec: {}}":                                   "",
		"{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, spec: {template: {spec: {}}}}":    "",
		"{apiVersion: networking.k8s.io/v1, kind: Ingress, spec: {defaultBackend: {}}}":       "",
		"{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {maxReplicas: 2}}": "",
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		o := manifest.Object{Unstructured: &unstructured.Unstructured{Object: object}}
		if got := inert(o, false); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if got := inert(o, true); got != "" {
			t.Errorf("%s with a health check: %q", text, got)
		}
	}
}

func TestInert(t *testing.T) {
	for spec, want := range map[string]bool{
		`containers: [{image: a, command: ["true"]}]`:                                                                               true,
		`containers: [{image: a, command: [/bin/sh, -ec], args: ["wget http://a\nwget http://b || true"]}]`:                         false,
		`containers: [{image: a, command: [/bin/sh, -c], args: ["wget http://a\nwget http://b || true"]}]`:                          true,
		`containers: [{image: a, command: [sh, -c, "sleep 1\nif wget http://a; then\n  echo ok\nfi"]}]`:                             true,
		`containers: [{image: a, command: [sleep, "5"]}]`:                                                                           true,
		`containers: [{image: a, command: [sleep, infinity]}]`:                                                                      false,
		`containers: [{image: a, command: [sh, -uc, "echo $A\ntrue"]}]`:                                                             false,
		`containers: [{image: a, command: [bash, -o, pipefail, -c, "true"]}]`:                                                       false,
		`containers: [{image: a, args: ["true"]}]`:                                                                                  false, // the image says what runs
		`containers: [{image: a}]`:                                                                                                  false,
		`containers: []`:                                                                                                            false,
		`{containers: [{image: a, command: ["true"]}, {image: b}]}`:                                                                 false,
		`{containers: [{image: a, command: ["true"]}], initContainers: [{image: b, command: [wget, "http://web"]}]}`:                false,
		`{containers: [{image: a, command: ["true"], envFrom: [{secretRef: {name: s}}]}]}`:                                          false, // it starts where the Secret is
		`{containers: [{image: a, command: ["true"], env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}`:             false,
		`{containers: [{image: a, command: ["true"], env: [{name: A, value: b}]}]}`:                                                 true,
		`{containers: [{image: a, command: ["true"]}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}`:             false,
		`{containers: [{image: a, command: ["true"]}], nodeSelector: {gpu: "true"}}`:                                                false,
		`{containers: [{image: a, command: ["true"], resources: {limits: {nvidia.com/gpu: 1}}}]}`:                                   false,
		`{containers: [{image: a, command: [sh, -c, "exit 0"]}], imagePullSecrets: [{name: login}]}`:                                false,
		`{containers: [{image: a, command: [echo, fine]}, {image: a, command: [sh, -c, "exit 0"]}], serviceAccountName: of-a-test}`: true,
	} {
		for _, kind := range []string{"Pod", "Job"} {
			text := "apiVersion: v1\nkind: Pod\nspec:\n  " + spec
			if kind == "Job" {
				text = "apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      " + spec
			}
			var object map[string]any
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			if got := inert(manifest.Object{Unstructured: &unstructured.Unstructured{Object: object}}, false) == lint.EndsWell; got != want {
				t.Errorf("%s: %s: %t, want %t", kind, spec, got, want)
			}
		}
	}
}
