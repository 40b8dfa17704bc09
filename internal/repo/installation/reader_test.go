package installation_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/rollout-ladder/ladder/internal/repo/installation"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Each archive holds files, as a repository has them, and what they say.
func TestForms(t *testing.T) {
	for _, test := range []struct{ name, files string }{
		{"the ConfigMaps", `
-- a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  kustomize.buildOptions: --enable-helm
  kustomize.buildOptions.v4.5.7: --enable-helm --enable-exec
  kustomize.path.v4.5.7: /tools/kustomize
  resource.exclusions: |
    - {apiGroups: ["*.example.org"], kinds: [Thing], clusters: [east]}
  resource.customizations.health.argoproj.io_Application: x
  resource.customizations.health.PersistentVolumeClaim: x
  resource.customizations.ignoreDifferences.all: "jsonPointers: [/spec/replicas]"
-- b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data:
  applicationsetcontroller.enable.progressive.syncs: "true"
-- want --
known a.yaml:1
started b.yaml:1
health [{ PersistentVolumeClaim} {argoproj.io Application}]
progressive true at b.yaml:5
build "" "--enable-helm" a.yaml:5
build "v4.5.7" "--enable-helm --enable-exec" a.yaml:6
versions [v4.5.7]
excluded [*.example.org] [Thing] [east] a.yaml:8
ignored {Group:* Kind:* Name: Namespace: JSONPointers:[/spec/replicas] JQPathExpressions:[] ManagedFieldsManagers:[]}
`},
		{"how long a sync runs, of which the longest counts", `
-- a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data:
  controller.sync.timeout.seconds: "300"
-- b.yaml --
spec:
  containers:
    - command: [argocd-application-controller, --sync-timeout, "600"]
      env: [{name: ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT, value: "400"}]
-- want --
started a.yaml:1
sync timeout 10m0s known true at b.yaml:3
`},
		{"a sync that runs for ever somewhere", `
-- a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data:
  controller.sync.timeout.seconds: "0"
-- b.yaml --
configs:
  params:
    controller.sync.timeout.seconds: 300
-- want --
started a.yaml:1
sync timeout 0s known false at a.yaml:5
`},
		{"how long a sync runs is filled in", `
-- a.yaml --
configs:
  params:
    controller.sync.timeout.seconds: 300
-- b.yaml --
# of argo-cd
args: ["argocd-application-controller --sync-timeout=$TIMEOUT"]
-- want --
started a.yaml:3
sync timeout 5m0s known false at a.yaml:3
`},
		{"values of the chart under one key too many", `
-- values.yaml --
configs:
  cm:
    url: https://argocd.example.org
    resource.exclusions: ""
    data:
      resource.customizations.health.argoproj.io_Application: x
-- want --
known values.yaml:3
whole values.yaml:3
stray resource.customizations.health.argoproj.io_Application in a map among the values of the ConfigMap, which the chart argo-cd writes as one text, of argocd-cm, values.yaml:6
`},
		{"the wrong ConfigMap, and a word that is not true", `
-- a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  applicationsetcontroller.enable.progressive.syncs: "true"
-- b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cmd-params-cm}
data:
  applicationsetcontroller.enable.progressive.syncs: "yes"
  kustomize.buildOptions: --enable-helm
-- want --
known a.yaml:1
started b.yaml:1
progressive false at b.yaml:5
stray applicationsetcontroller.enable.progressive.syncs in argocd-cm, of argocd-cmd-params-cm, a.yaml:5
stray kustomize.buildOptions in argocd-cmd-params-cm, of argocd-cm, b.yaml:6
`},
		{"values of the chart below an alias, in an Application, and as a parameter", `
-- Chart.yaml --
apiVersion: v2
dependencies:
  - {name: argo-cd, alias: delivery, repository: https://argoproj.github.io/argo-helm, version: 9.0.0}
-- app.yaml --
kind: Application
spec:
  source:
    chart: argo-cd
    helm:
      parameters:
        - {name: 'configs.params.applicationsetcontroller\.enable\.new\.git\.file\.globbing', value: "true"}
      values: |
        configs:
          cm:
            kustomize.buildOptions: --enable-helm
-- values.yaml --
delivery:
  configs:
    params:
      applicationsetcontroller.enable.progressive.syncs: true
-- want --
known Chart.yaml:3
whole Chart.yaml:3
started Chart.yaml:3
progressive true at values.yaml:4
globbing true at app.yaml:7
build "" "--enable-helm" app.yaml:8
`},
		{"a name of a setting in quotes, which the chart writes as it is", `
-- Chart.yaml --
apiVersion: v2
dependencies:
  - {name: argo-cd, repository: https://argoproj.github.io/argo-helm, version: 9.0.0}
-- values.yaml --
argo-cd:
  configs:
    cm:
      '"kustomize.buildOptions"': --enable-helm
-- want --
known Chart.yaml:3
whole Chart.yaml:3
started Chart.yaml:3
build "" "--enable-helm" values.yaml:4
excluded by default Chart.yaml:3
`},
		{"the operator, and fields that it does not have", `
-- argocd.yaml --
apiVersion: argoproj.io/v1beta1
kind: ArgoCD
metadata: {name: openshift-gitops}
spec:
  server:
    config:
      resource.inclusions: "- {apiGroups: [apps]}"
  extraConfig: {kustomize.buildOptions: --enable-helm}
-- want --
known argocd.yaml:1
whole argocd.yaml:1
started argocd.yaml:1
build "" "--enable-helm" argocd.yaml:8
stray resource.inclusions in a field that the ArgoCD resource does not have, of argocd-cm, argocd.yaml:7
`},
		{"the operator, and a patch of it", `
-- argocd.yaml --
apiVersion: argoproj.io/v1beta1
kind: ArgoCD
metadata: {name: openshift-gitops}
spec:
  kustomizeBuildOptions: --enable-helm
  kustomizeVersions: [{version: v5.0.0, path: /k}]
  resourceHealthChecks: [{group: argoproj.io, kind: Application, check: x}]
  resourceExclusions: "- {kinds: [TaskRun]}"
  resourceIgnoreDifferences:
    resourceIdentifiers: [{group: apps, kind: Deployment, customization: {jqPathExpressions: [.spec.replicas]}}]
  extraConfig:
    resource.inclusions: "- {apiGroups: [apps]}"
  applicationSet:
    extraCommandArgs: [--enable-progressive-syncs]
    env: [{name: ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_NEW_GIT_FILE_GLOBBING, value: "true"}]
-- kustomization.yaml --
resources: [argocd.yaml]
patches:
  - target: {kind: ArgoCD}
    patch: |
      - {op: replace, path: /spec/kustomizeBuildOptions, value: "--enable-helm --enable-alpha-plugins"}
      - {op: add, path: /spec/extraConfig/kustomize.path.v5.1.0, value: /k5}
      - {op: remove, path: /spec/extraConfig/kustomize.path.v5.2.0}
-- want --
known argocd.yaml:1
whole argocd.yaml:1
started argocd.yaml:1
health [{argoproj.io Application}]
progressive true at argocd.yaml:14
globbing true at argocd.yaml:15
build "" "--enable-helm" argocd.yaml:5
build "" "--enable-helm --enable-alpha-plugins" kustomization.yaml:4
versions [v5.0.0 v5.1.0]
excluded [] [TaskRun] [] argocd.yaml:8
included [apps] [] [] argocd.yaml:12
ignored {Group:apps Kind:Deployment Name: Namespace: JSONPointers:[] JQPathExpressions:[.spec.replicas] ManagedFieldsManagers:[]}
`},
		{"Argo CD's own manifests, patched and with generators", `
-- kustomization.yaml --
resources:
  - https://raw.githubusercontent.com/argoproj/argo-cd/v3.2.0/manifests/install.yaml
configMapGenerator:
  - name: argocd-cm
    behavior: merge
    literals: [kustomize.buildOptions=--enable-helm]
    files: [health/resource.customizations.health.example.org_Thing]
  - name: argocd-cmd-params-cm
    behavior: merge
    envs: [params.env]
  - name: others
    literals: [kustomize.buildOptions=--network]
patches:
  - target: {kind: ConfigMap, name: argocd-cmd-params-cm}
    patch: '[{"op": "add", "path": "/data/kustomize.path.v1", "value": "x"}]'
  - patch: |
      kind: Deployment
      spec: {template: {spec: {containers: [{args: [--enable-new-git-file-globbing=false]}]}}}
-- health/resource.customizations.health.example.org_Thing --
return {}
-- params.env --
# comment
applicationsetcontroller.enable.progressive.syncs=true
-- want --
known kustomization.yaml:2
whole kustomization.yaml:2
started kustomization.yaml:2
health [{example.org Thing}]
progressive true at kustomization.yaml:10
globbing false at kustomization.yaml:16
build "" "--enable-helm" kustomization.yaml:6
excluded by default kustomization.yaml:2
stray kustomize.path.v1 in argocd-cmd-params-cm, of argocd-cm, kustomization.yaml:15
`},
		{"ConfigMaps that the chart does not make, one of them in the repository", `
-- argocd-cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm}
data: {admin.enabled: "true"}
-- kustomization.yaml --
helmCharts: [{name: argo-cd, repo: https://argoproj.github.io/argo-helm, valuesFile: values.yaml}]
-- values.yaml --
# for the chart argo-cd
configs:
  cm: {create: false}
  params: {create: false}
-- want --
known argocd-cm.yaml:1
whole argocd-cm.yaml:1
started kustomization.yaml:1
unread progressive values.yaml
unread watched values.yaml
`},
		{"a patch of settings that an address has", `
-- argocd/argocd-cm.yaml --
kind: ConfigMap
metadata: {name: argocd-cm}
data: {url: https://argocd.example.org}
-- argocd/kustomization.yaml --
resources: ["github.com/acme/manifests.git/argocd?ref=main"]
patchesStrategicMerge: [argocd-cm.yaml]
-- want --
`},
		{"a patch of it in the kustomization", `
-- argocd/kustomization.yaml --
resources: ["https://example.org/argocd?ref=main"]
patches:
  - target: {kind: ConfigMap, name: argocd-cm}
    patch: |
      - {op: add, path: /data/url, value: https://argocd.example.org}
-- want --
`},
		{"a patch of Argo CD's own manifests", `
-- argocd/argocd-cm.yaml --
kind: ConfigMap
metadata: {name: argocd-cm}
data: {url: https://argocd.example.org}
-- argocd/kustomization.yaml --
resources: ["https://raw.githubusercontent.com/argoproj/argo-cd/v3.2.0/manifests/install.yaml"]
patches: [{path: argocd-cm.yaml}]
-- want --
known argocd/argocd-cm.yaml:1
whole argocd/kustomization.yaml:1
started argocd/kustomization.yaml:1
excluded by default argocd/kustomization.yaml:1
`},
		{"settings beside something of an address", `
-- argocd/argocd-cm.yaml --
kind: ConfigMap
metadata: {name: argocd-cm}
data: {url: https://argocd.example.org}
-- argocd/kustomization.yaml --
resources: ["https://example.org/kinds.yaml", argocd-cm.yaml]
-- want --
known argocd/argocd-cm.yaml:1
`},
		{"other things of the same words", `
-- values.yaml --
configs:
  cm: {theme: dark}
  params: {size: 3}
server:
  config: {resource: none}
name: argo-cd
-- want --
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			archive := txtar.Parse([]byte(test.files))
			files := map[string][]byte{}
			for _, f := range archive.Files {
				files[f.Name] = f.Data
			}
			r := installation.Reader{Open: func(file string) ([]byte, error) {
				if data, ok := files[file]; ok {
					return data, nil
				}
				return nil, errors.New("no such file")
			}}
			want := ""
			for _, f := range archive.Files {
				switch {
				case f.Name == "want":
					want = string(f.Data)
				case strings.HasSuffix(f.Name, ".yaml"):
					values, err := yamldoc.Parse(f.Name, f.Data)
					if err != nil {
						t.Fatal(err)
					}
					if said := describe(&r); !installation.Mentions(f.Data) {
						r.Read(values)
						if now := describe(&r); now != said {
							t.Errorf("%s would not be looked into, and says:\n%s", f.Name, cmp.Diff(said, now))
						}
					}
					r.Read(values)
				}
			}
			if diff := cmp.Diff(want, describe(&r)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each form says the same of argocd-cm, as far as it bears on what a sync does.
func TestWritten(t *testing.T) {
	for name, text := range map[string]string{
		"the ConfigMap": `
kind: ConfigMap
metadata: {name: argocd-cm}
data:
  url: https://argocd.example.org
  application.instanceLabelKey: argocd.argoproj.io/instance
  application.resourceTrackingMethod: label
  installationID: blue
  resource.customizations.health.example.org_Thing: return {status = "Healthy"}
  resource.customizations.ignoreDifferences.all: '{"jsonPointers":["/spec/replicas"]}'
  resource.exclusions: "[{kinds: [Thing]}]"
`,
		"values of the chart": `
configs:
  cm:
    url: https://argocd.example.org
    application.instanceLabelKey: argocd.argoproj.io/instance
    application.resourceTrackingMethod: label
    installationID: blue
    resource.customizations.health.example.org_Thing: return {status = "Healthy"}
    resource.customizations.ignoreDifferences.all: '{"jsonPointers":["/spec/replicas"]}'
    resource.exclusions: "[{kinds: [Thing]}]"
`,
		"the operator": `
apiVersion: argoproj.io/v1beta1
kind: ArgoCD
spec:
  applicationInstanceLabelKey: argocd.argoproj.io/instance
  resourceTrackingMethod: label
  installationID: blue
  resourceHealthChecks: [{group: example.org, kind: Thing, check: 'return {status = "Healthy"}'}]
  resourceIgnoreDifferences: {all: {jsonPointers: [/spec/replicas]}}
  resourceExclusions: "[{kinds: [Thing]}]"
`,
		"a patch": `
op: merge
patches:
  - target: {name: argocd-cm}
    patch: |
      - {op: add, path: /data/application.instanceLabelKey, value: argocd.argoproj.io/instance}
      - {op: add, path: /data/application.resourceTrackingMethod, value: label}
      - {op: add, path: /data/installationID, value: blue}
      - {op: add, path: /data/resource.customizations.health.example.org_Thing, value: 'return {status = "Healthy"}'}
      - {op: add, path: /data/resource.customizations.ignoreDifferences.all, value: '{"jsonPointers":["/spec/replicas"]}'}
      - {op: add, path: /data/resource.exclusions, value: "[{kinds: [Thing]}]"}
`,
		"parameters of Helm": `
chart: argo-cd
helm:
  parameters:
    - {name: configs.cm.application\.instanceLabelKey, value: argocd.argoproj.io/instance}
    - {name: configs.cm.application\.resourceTrackingMethod, value: label}
    - {name: configs.cm.resource\.customizations\.health\.example\.org_Thing, value: 'return {status = "Healthy"}'}
    - {name: configs.cm.resource\.customizations\.ignoreDifferences\.all, value: '{"jsonPointers":["/spec/replicas"]}'}
    - {name: configs.cm.resource\.exclusions, value: "[{kinds: [Thing]}]"}
    - {name: configs.cm.installationID, value: blue}
`,
	} {
		r := written(t, map[string]string{"a.yaml": text})
		data, contested := r.Settings().Data()
		got := map[string]string{}
		for key, w := range data {
			got[key] = w.Text
			if w.Position.File != "a.yaml" || w.Position.Line < 3 {
				t.Errorf("%s: %s stands at %s", name, key, w.Position)
			}
		}
		want := map[string]string{
			"application.instanceLabelKey":                     "argocd.argoproj.io/instance",
			"application.resourceTrackingMethod":               "label",
			"installationID":                                   "blue",
			"resource.customizations.health.example.org_Thing": `return {status = "Healthy"}`,
			"resource.customizations.ignoreDifferences.all":    `{"jsonPointers":["/spec/replicas"]}`,
			"resource.exclusions":                              "[{kinds: [Thing]}]",
		}
		if diff := cmp.Diff(want, got); diff != "" || len(contested) > 0 {
			t.Errorf("%s: %v %s", name, contested, diff)
		}
	}
}

// What two places say in two ways is not known, what they say in one way is.
func TestContested(t *testing.T) {
	const text = "kind: ConfigMap\nmetadata: {name: argocd-cm}\ndata: {application.resourceTrackingMethod: label, application.instanceLabelKey: KEY}\n"
	r := written(t, map[string]string{"a.yaml": strings.ReplaceAll(text, "KEY", "a"), "b.yaml": strings.ReplaceAll(text, "KEY", "b")})
	data, contested := r.Settings().Data()
	if len(data) != 1 || data["application.resourceTrackingMethod"].Text != "label" || len(contested) != 1 || len(contested[0]) != 2 || contested[0][1].Position.File != "b.yaml" {
		t.Errorf("%v, and contested %v", data, contested)
	}
}

func written(t *testing.T, files map[string]string) *installation.Reader {
	t.Helper()
	r := &installation.Reader{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		values, err := yamldoc.Parse(name, []byte(files[name]))
		if err != nil {
			t.Fatal(err)
		}
		r.Read(values)
	}
	return r
}

func describe(r *installation.Reader) string {
	var b strings.Builder
	s := r.Settings()
	if s.Known {
		fmt.Fprintf(&b, "known %s\n", s.Position)
	}
	if s.Whole.File != "" {
		fmt.Fprintf(&b, "whole %s\n", s.Whole)
	}
	if s.Started.File != "" {
		fmt.Fprintf(&b, "started %s\n", s.Started)
	}
	if len(s.Health) > 0 {
		fmt.Fprintf(&b, "health %v\n", s.Health)
	}
	if p := s.ProgressiveSyncs; p.Position.File != "" {
		fmt.Fprintf(&b, "progressive %t at %s\n", p.On, p.Position)
	}
	if g := s.NewGlobbing; g.Position.File != "" {
		fmt.Fprintf(&b, "globbing %t at %s\n", g.On, g.Position)
	}
	for _, o := range s.Build {
		fmt.Fprintf(&b, "build %q %q %s\n", o.Version, o.Text, o.Position)
	}
	if len(s.Versions) > 0 {
		fmt.Fprintf(&b, "versions %v\n", s.Versions)
	}
	for _, place := range s.Exclusions {
		if place.Default {
			fmt.Fprintf(&b, "excluded by default %s\n", place.Position)
			continue
		}
		for _, f := range place.Filters {
			fmt.Fprintf(&b, "excluded %v %v %v %s\n", f.Groups, f.Kinds, f.Clusters, place.Position)
		}
	}
	for _, place := range s.Inclusions {
		for _, f := range place.Filters {
			fmt.Fprintf(&b, "included %v %v %v %s\n", f.Groups, f.Kinds, f.Clusters, place.Position)
		}
	}
	if t := s.SyncTimeout; t.Position.File != "" {
		_, known := t.Ends()
		fmt.Fprintf(&b, "sync timeout %s known %t at %s\n", t.After, known, t.Position)
	}
	for _, x := range s.Stray {
		fmt.Fprintf(&b, "stray %s in %s, of %s, %s\n", x.Key, x.In, x.Home, x.Position)
	}
	for _, unread := range []struct{ what, file string }{{"build", s.BuildUnread}, {"progressive", s.ProgressiveSyncs.Unread}, {"watched", s.WatchedUnread}} {
		if unread.file != "" {
			fmt.Fprintf(&b, "unread %s %s\n", unread.what, unread.file)
		}
	}
	for _, d := range r.Ignored() {
		fmt.Fprintf(&b, "ignored %+v\n", d)
	}
	return b.String()
}
