package infer

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// TestValues: what charts that are not rendered are told to read.
func TestValues(t *testing.T) {
	const written = `spec:
  source:
    chart: dns
    helm:
      values: |
        provider:
          env:
          - name: TOKEN
            valueFrom:
              secretKeyRef:
                name: inline
        off:
          enabled: false
          envFrom:
          - secretRef: {name: disabled}
`
	const file = `# the values of every environment
env:
- {valueFrom: {secretKeyRef: {name: overridden}}}
extra:
  volumes:
  - secret:
      secretName: mounted
  - secret: {secretName: optional, optional: true}
auth:
  existingSecret: existing
  secret: {secretName: no-entry-of-a-list}
own:
  existingSecret: nobody-makes-it
store:
  existingConfigSecretName: config
  secretExisting: other
"": [{"": 1}]
`
	chart := model.Source{Kind: model.Chart, RepoURL: "https://charts.example.com", Name: "dns", Position: finding.Position{File: "app.yaml", Line: 2},
		ValueFiles: []model.ValueFile{{Path: "values.yaml"}, {Path: "gone.yaml"}},
		Values: map[string]any{
			"env":      []any{},
			"provider": map[string]any{"env": []any{map[string]any{"valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "inline"}}}}},
			"off":      map[string]any{"enabled": false, "envFrom": []any{map[string]any{"secretRef": map[string]any{"name": "disabled"}}}},
		}}
	local := chart
	local.RepoURL, local.Path = "", "charts/dns"
	elsewhere := chart // in a source of Flux whose address is not known
	elsewhere.Kind, elsewhere.RepoURL = model.Git, ""
	in := Input{
		Components: []model.Component{
			{Name: "dns", Namespace: "apps", Enabled: true, Phase: 10, Sources: []model.Source{chart}},
			{Name: "elsewhere", Namespace: "apps", Enabled: true, Phase: 10, Sources: []model.Source{elsewhere}},
			{Name: "rendered", Namespace: "apps", Enabled: true, Phase: 10, Sources: []model.Source{chart}},
			{Name: "local", Namespace: "apps", Enabled: true, Phase: 10, Sources: []model.Source{local}},
			{Name: "secrets", Namespace: "apps", Enabled: true, Phase: 20},
		},
		Objects: map[string][]manifest.Object{"rendered": {}},
		Read: func(name string) ([]byte, error) {
			if name != "values.yaml" {
				return nil, errors.New("no such file")
			}
			return []byte(file), nil
		},
	}
	var makers strings.Builder
	for _, name := range []string{"inline", "disabled", "overridden", "mounted", "optional", "existing", "config", "other", "no-entry-of-a-list"} {
		makers.WriteString("---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\n")
	}
	parsed, err := manifest.Parse([]byte(makers.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed {
		in.Objects["secrets"] = append(in.Objects["secrets"], manifest.Object{Unstructured: p.Object, Target: "apps", Origin: manifest.Origin{File: "secrets.yaml", Line: p.Line}})
	}
	w := worldOf{files: map[string]string{"app.yaml": written, "values.yaml": file}}
	want := []string{
		"dns -> secrets Secret/inline: secret-before-use soft ready: is told to read Secret apps/inline at app.yaml:11",
		"dns -> secrets Secret/config: secret-before-use soft ready: is told to read Secret apps/config at values.yaml:15",
		"dns -> secrets Secret/existing: secret-before-use soft ready: is told to read Secret apps/existing at values.yaml:10",
		"dns -> secrets Secret/mounted: secret-before-use soft ready: is told to read Secret apps/mounted at values.yaml:7",
		"elsewhere -> secrets Secret/inline: secret-before-use soft ready: is told to read Secret apps/inline at app.yaml:11",
	}
	if diff := cmp.Diff(want, strings.Split(w.describeDependencies(Infer(in).Dependencies), "\n")); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
}
