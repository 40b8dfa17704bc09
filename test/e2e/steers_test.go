package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// steering is a platform whose names and values carry what steers a terminal or a CI
// system. The API server quotes some of it when it refuses the objects.
func steering() map[string]string {
	const carried = `\e[2J\e]0;t\a\r\n::error::x\N::warning::y\u202Ea\x7f`
	files := map[string]string{"ladder.yaml": "layout: single\nenvironments: {dev: {}}\n"}
	for folder, c := range map[string][2]string{ // name and manifests
		"good":    {"good", `{apiVersion: v1, kind: ConfigMap, metadata: {name: good, annotations: {a: "E"}}, data: {x: "E"}}`},
		"object":  {"object", `{apiVersion: v1, kind: ConfigMap, metadata: {name: "nE"}}`},
		"label":   {"label", `{apiVersion: v1, kind: ConfigMap, metadata: {name: label, labels: {"kE": "vE"}}}`},
		"kind":    {"kind", `{apiVersion: "gE/v1", kind: "KE", metadata: {name: x}}`},
		"waiting": {"waiting", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: w}, spec: {selector: {matchLabels: {a: w}}, template: {metadata: {labels: {a: w}}, spec: {containers: [{name: c, image: "iE", envFrom: [{secretRef: {name: "sE"}}]}]}}}}`},
	} {
		files["environments/dev/components/"+folder+"/component.yaml"] = `{name: "` + c[0] + `", namespace: default, rolloutPhase: "100", retry: {limit: 1}, manifests: {path: sources/` + folder + ".yaml}}\n"
		files["sources/"+folder+".yaml"] = strings.ReplaceAll(c[1], `E"`, carried+`"`) + "\n"
	}
	return files
}

// TestRehearsalSteersNothing: whatever names and values hold, what a rehearsal writes
// steers neither a terminal nor a CI system.
func TestRehearsalSteersNothing(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?m)^[\s\p{Z}]*::.*`)
	own := regexp.MustCompile(`^::((error|warning|notice) (file|title)=\S|group::|endgroup::$)`)
	colours := regexp.MustCompile(`\x1b\[(0|1|2|31|32|33|36)m`)
	for _, format := range []string{"text", "markdown", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			home := ownHome(t)
			give(t, "GITHUB_ACTIONS=true", "CI=true", "CLICOLOR_FORCE=1")
			junit := filepath.Join(t.TempDir(), "report.xml")
			out := ladder(t, writeFiles(t, steering()), "rehearse", "--format", format, "--progress", "plain", "--verbose", "--keep", "--allow-unrendered",
				"--on-failure", "continue", "--speed", "1000", "--least-timeout", "5s", "--report", junit)
			if out.code != 1 && out.code != 4 {
				t.Errorf("exit code %d: %s", out.code, out.stderr)
			}
			texts := map[string]string{"stdout": colours.ReplaceAllString(out.stdout, ""), "stderr": colours.ReplaceAllString(out.stderr, "")}
			for name, file := range map[string]string{"report": junit, "summary": filepath.Join(home, "summary.md")} {
				text, err := os.ReadFile(file)
				if err == nil {
					texts[name] = string(text)
				}
			}
			for name, text := range texts {
				if i := strings.IndexFunc(text, func(r rune) bool {
					return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
				}); i >= 0 {
					t.Errorf("%s has a control character: %q", name, text[max(0, i-80):min(len(text), i+80)])
				}
				for _, line := range command.FindAllString(text, -1) {
					if name != "stderr" || !own.MatchString(line) {
						t.Errorf("%s has a command: %q", name, line)
					}
				}
			}
			if format == "json" && !json.Valid([]byte(out.stdout)) {
				t.Errorf("no JSON: %.500s", out.stdout)
			}
			if !strings.Contains(out.stdout+out.stderr, "good") {
				t.Errorf("the rehearsal says nothing: %s %s", out.stdout, out.stderr)
			}
		})
	}
}
