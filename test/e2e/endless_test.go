package e2e

import (
	"strings"
	"testing"
)

// endless is a platform of three components: one whose health check never ends, one
// that the rules of the repository simulate without end, and one that is sound.
func endless() map[string]string {
	const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec: {containers: [{name: c, image: example.com/c:1}]}
`
	const ingress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME}
spec: {defaultBackend: {service: {name: x, port: {number: 80}}}}
`
	files := map[string]string{
		"ladder.yaml": "layout: single\nenvironments: {dev: {}}\nsimulation: {rules: [rules.yaml]}\n",
		"rules.yaml": "apiVersion: simulation.rollout-ladder.dev/v1\noperators:\n  - for: networking.k8s.io/Ingress\n    vars: [{name: a, value: '${\"a\"" +
			strings.Repeat(`.replace("a", "aa")`, 40) + "}'}]\n",
	}
	for name, text := range map[string]string{"bad": workload, "ruled": ingress, "good": workload} {
		files["environments/dev/components/"+name+"/component.yaml"] = "name: " + name + "\nnamespace: default\nrolloutPhase: \"100\"\nmanifests: {path: sources/" + name + ".yaml}\n"
		files["sources/"+name+".yaml"] = strings.ReplaceAll(text, "NAME", name)
	}
	files["environments/dev/components/bad/component.yaml"] += "health:\n  - apiVersion: apps/v1\n    kind: Deployment\n    lua: |\n      string.find((\"a\"):rep(1500), \".-.-.-b\")\n"
	return files
}

// A check or a rule of the repository that never ends costs its own component: the
// others become Healthy, and the rehearsal ends when nothing changes any more.
func TestEndlessScriptsCostTheirComponent(t *testing.T) {
	t.Parallel()
	ownHome(t)
	r, out := rehearsal(t, writeFiles(t, endless()), ".", "--least-timeout", "5s", "--on-failure", "continue")
	if out.code != 1 {
		t.Errorf("exit code %d: %s", out.code, out.stderr)
	}
	components := byName(r)
	if got := components["bad"]; got.State == "healthy" || !strings.Contains(got.Message, "ran longer than 1s") {
		t.Errorf("bad: %+v", got)
	}
	if got := components["ruled"]; got.State == "healthy" {
		t.Errorf("ruled: %+v", got)
	}
	if got := components["good"]; got.State != "healthy" {
		t.Errorf("good: %+v", got)
	}
}

// An interrupt ends a rehearsal in the middle of such a check.
func TestInterruptEndsEndlessScripts(t *testing.T) {
	t.Parallel()
	ownHome(t)
	c := onTerminal(t, writeFiles(t, endless()), "rehearse", "--speed", "1000", "--least-timeout", "10m")
	c.sees("ran longer than 1s")
	c.presses(ctrlC)
	c.sees("What now?")
	c.presses(ctrlC)
	c.ends(130)
}
