package main

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo"
)

var (
	platforms = flag.Int("platforms", 40, "random platforms to compare")
	seed      = flag.Uint64("seed", 1, "the first of their seeds")
)

// Random platforms are read as Argo CD reads them. Each has a seed of its own, which a
// failure names: -seed N -platforms 1 makes it again.
func TestRandomPlatforms(t *testing.T) {
	argo := argocds(t)
	var applications, objects, neither int
	for i := range *platforms {
		of := *seed + uint64(i)
		p := newPlatform(of)
		p.draw()
		dir := filepath.Join(t.TempDir(), fmt.Sprintf("platform-%d", of))
		p.write(t, dir)
		r, err := compare(t.Context(), dir, t.TempDir(), argo)
		switch {
		case len(repo.InputErrors(err)) > 0:
			t.Errorf("seed %d: %v\n%s", of, err, p.text())
			continue
		case err != nil:
			t.Fatalf("seed %d: %v", of, err)
		}
		applications += r.applications.equal
		objects += r.objects.equal
		neither += r.unrendered
		if len(r.differences) > 0 {
			t.Errorf("seed %d: %s%s", of, printed(r, dir), p.text())
		}
	}
	t.Logf("seeds %d to %d: %d Applications and %d objects are the same, %d Applications are rendered by neither", *seed, *seed+uint64(*platforms)-1, applications, objects, neither)
	if applications < 3**platforms || objects < 5**platforms {
		t.Errorf("only %d Applications and %d objects", applications, objects)
	}
}

const ownAddress = "https://git.example.com/acme/platform.git"

type tree = map[string]any

// platform is a repository that is drawn.
type platform struct {
	*rand.Rand
	files map[string]string
	made  int
}

func newPlatform(seed uint64) *platform {
	return &platform{Rand: rand.New(rand.NewPCG(seed, 7)), files: map[string]string{}}
}

// one is one of several with the same chance, chance is true once in n times.
func one[T any](p *platform, all ...T) T { return all[p.IntN(len(all))] }

func (p *platform) chance(n int) bool { return p.IntN(n) == 0 }

// name is a name that nothing else has.
func (p *platform) name(kind string) string {
	p.made++
	return fmt.Sprintf("%s-%d", kind, p.made)
}

func (p *platform) put(file string, documents ...tree) {
	var all []string
	for _, d := range documents {
		text, err := yaml.Marshal(d)
		if err != nil {
			panic(err) // a mistake of this test
		}
		all = append(all, string(text))
	}
	p.files[file] = strings.Join(all, "---\n")
}

// draw makes an Application that somebody applies, and all below it.
func (p *platform) draw() {
	p.put("root.yaml", p.parent("root", "apps", 0))
}

// parent is an Application of Applications and ApplicationSets in a folder: as they are, in a
// kustomization, or in a chart.
func (p *platform) parent(name, folder string, depth int) tree {
	var files []string
	put := func(documents ...tree) {
		file := p.name("file") + ".yaml"
		files = append(files, file)
		p.put(folder+"/"+file, documents...)
	}
	for range 1 + p.IntN(3) {
		switch n := p.IntN(6); {
		case n == 0 && depth < 2:
			below := p.name("parent")
			put(p.parent(below, "parents/"+below, depth+1))
		case n < 4:
			put(p.set(), p.application(p.name("app"), p.source()))
		default:
			put(p.application(p.name("app"), p.source()))
		}
	}
	source := tree{"repoURL": ownAddress, "targetRevision": "main", "path": folder}
	switch p.IntN(5) {
	case 0:
		p.inKustomization(folder, files)
	case 1:
		p.inChart(name, folder, source, files)
	case 2:
		source["directory"] = tree{"recurse": p.chance(2)}
	}
	return p.application(name, tree{"source": source})
}

// inKustomization has a kustomization take the files of a folder, and change some.
func (p *platform) inKustomization(folder string, files []string) {
	k := tree{"resources": files}
	if p.chance(2) {
		k["patches"] = []any{tree{
			"target": tree{"kind": "Application"},
			"patch":  "- {op: add, path: /metadata/annotations, value: {argocd.argoproj.io/sync-wave: '3'}}\n- {op: replace, path: /spec/destination/namespace, value: patched}\n",
		}}
	}
	if p.chance(3) {
		k["namespace"] = "argocd"
	}
	if p.chance(3) {
		k["commonAnnotations"] = tree{"by": "kustomize"}
	}
	p.put(folder+"/kustomization.yaml", k)
}

// inChart makes a folder a chart, whose templates are the files and a list of Applications.
func (p *platform) inChart(name, folder string, source tree, files []string) {
	for _, file := range files {
		text := p.files[folder+"/"+file]
		delete(p.files, folder+"/"+file)
		p.files[folder+"/templates/"+file] = strings.NewReplacer("{{", `{{ "{{" }}`, "}}", `{{ "}}" }}`).Replace(text)
	}
	p.put(folder+"/Chart.yaml", tree{"apiVersion": "v2", "name": "parent", "version": "0.0.1"})
	applications := []any{}
	for range p.IntN(3) {
		path := "services/" + p.name("listed")
		p.put(path+"/"+p.name("file")+".yaml", p.objects(p.name("object"))...)
		applications = append(applications, tree{"name": p.name("listed"), "path": path, "enabled": !p.chance(4)})
	}
	p.put(folder+"/values.yaml", tree{"applications": applications, "revision": "main", "to": tree{"namespace": "web"}})
	p.files[folder+"/templates/listed.yaml"] = `{{- range .Values.applications }}
{{- if .enabled }}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {{ .name }}
  namespace: {{ $.Release.Namespace | default "argocd" }}
spec:
  project: default
  source: {repoURL: ` + ownAddress + `, targetRevision: {{ $.Values.revision }}, path: {{ .path }}}
  destination: {server: https://kubernetes.default.svc, namespace: {{ $.Values.to.namespace | quote }}}
{{- end }}
{{- end }}
`
	if p.chance(2) {
		source["helm"] = tree{"parameters": []any{tree{"name": "to.namespace", "value": one(p, "given", "data")}}}
	}
}

// application is one with the source, or the sources, of a tree.
func (p *platform) application(name string, source tree) tree {
	spec := tree{
		"project":     "default",
		"destination": tree{"server": "https://kubernetes.default.svc", "namespace": one(p, "web", "data", "")},
	}
	maps.Copy(spec, source)
	metadata := tree{"name": name, "namespace": "argocd"}
	if p.chance(3) {
		metadata["annotations"] = tree{"argocd.argoproj.io/sync-wave": fmt.Sprint(p.IntN(5) - 2)}
	}
	return tree{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}
}

// source is the source, or the sources, of an Application.
func (p *platform) source() tree {
	switch p.IntN(8) {
	case 0, 1:
		return tree{"source": p.directory("services/" + p.name("plain"))}
	case 2, 3, 4:
		return tree{"source": p.kustomization("services/" + p.name("built"))}
	case 5, 6:
		return tree{"source": p.chart("charts/" + p.name("chart"))}
	default:
		chart := p.chart("charts/" + p.name("chart"))
		p.put("settings/"+filepath.Base(chart["path"].(string))+".yaml", tree{"replicas": 4, "extra": tree{"of": "elsewhere"}})
		helm, _ := chart["helm"].(tree)
		if helm == nil {
			helm = tree{}
			chart["helm"] = helm
		}
		helm["valueFiles"] = []any{"$values/settings/" + filepath.Base(chart["path"].(string)) + ".yaml"}
		sources := []any{chart, tree{"repoURL": ownAddress, "targetRevision": "main", "ref": "values"}}
		if p.chance(2) {
			sources = append(sources, p.directory("services/"+p.name("plain")))
		}
		return tree{"sources": sources}
	}
}

func (p *platform) of(folder string) tree {
	return tree{"repoURL": ownAddress, "targetRevision": one(p, "main", "HEAD", "main"), "path": folder}
}

// directory is a source of manifests as they are.
func (p *platform) directory(folder string) tree {
	source, options := p.of(folder), tree{}
	for range 1 + p.IntN(3) {
		name := p.name("object")
		p.put(folder+"/"+one(p, "", "", "below/", "below/further/")+one(p, "a-", "b-")+name+one(p, ".yaml", ".yml", ".yaml"), p.objects(name)...)
	}
	switch p.IntN(6) {
	case 0:
		options["exclude"] = one(p, "b-*", "*.yml", "{a,c}-*.yaml", "below/**")
	case 1:
		options["include"] = one(p, "*.yaml", "a-*", "{a,b}-*.yml", "below/*")
	case 2:
		p.files[folder+"/more.json"] = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "` + p.name("json") + `"}, "data": {"a": "b"}}`
	case 3:
		p.files[folder+"/made.jsonnet"] = `local part = import 'part.libsonnet';
function(size="1") [part(name) {data+: {size: size, of: std.extVar("of")}} for name in ["x", "y"]]
`
		p.files[folder+"/part.libsonnet"] = `function(name) {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "` + p.name("made") + `-" + name}, data: {}}` + "\n"
		options["jsonnet"] = tree{"extVars": []any{tree{"name": "of", "value": one(p, "me", `{"a": 1}`), "code": false}}, "tlas": []any{tree{"name": "size", "value": "'3'", "code": true}}}
	}
	if p.chance(3) {
		p.files[folder+"/"+one(p, "odd.yaml", ".hidden.yaml", "a-odd.yml", "odd.YAML", "notes.txt")] = strings.ReplaceAll(p.odd(), "NAME", p.name("odd"))
	}
	if p.chance(2) {
		options["recurse"] = p.chance(2)
	}
	if len(options) > 0 {
		source["directory"] = options
	}
	return source
}

// odd is a manifest as people write them who know YAML too well.
func (p *platform) odd() string {
	return one(p,
		"# only a comment\n",
		"---\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\n...\n---\n# the end\n",
		"apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: NAME\r\ndata:\r\n  a: |\r\n    one\r\n    two\r\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, labels: &all {a: b}, annotations: {<<: *all, c: d}}\n",
		"apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: NAME}\nspec: {yes: on, octal: 0755, hex: 0x1F, float: 1e3, big: 12345678901234567890, time: 2026-01-02, null: ~, text: !!str 5, none:}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata:\n  folded: >-\n    one\n    two\n\n    three\n  kept: |+\n    one\n\n  quoted: \"tab\\tand \\u00e9\"\n",
		"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"NAME\"}}",
		"apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME-2}}\n",
		"apiVersion: v1\nkind: List\nitems: []\n",
	)
}

// objects are what a file of manifests has.
func (p *platform) objects(name string) []tree {
	labels := tree{"app": name}
	switch p.IntN(5) {
	case 0:
		return []tree{{"apiVersion": "v1", "kind": "List", "items": []any{
			tree{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tree{"name": name}},
			tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name, "namespace": "data"}},
		}}}
	case 1, 2:
		return []tree{p.deployment(name), {
			"apiVersion": "v1", "kind": "Service", "metadata": tree{"name": name, "labels": labels},
			"spec": tree{"selector": labels, "ports": []any{tree{"port": 80}}},
		}}
	case 3:
		return []tree{{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}}}
	default:
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}, "data": tree{"text": "one\ntwo", "number": "1"}}}
	}
}

func (p *platform) deployment(name string) tree {
	labels := tree{"app": name}
	return tree{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": tree{"name": name, "labels": labels},
		"spec": tree{"replicas": 1, "selector": tree{"matchLabels": labels}, "template": tree{
			"metadata": tree{"labels": labels},
			"spec":     tree{"containers": []any{tree{"name": "main", "image": "example.com/main:1", "env": []any{tree{"name": "A", "value": "b"}}}}},
		}},
	}
}

// kustomization is a source of an overlay over a base, with what Applications say on top.
func (p *platform) kustomization(folder string) tree {
	workload := p.name("workload")
	p.put(folder+"/base/workload.yaml", p.deployment(workload))
	p.put(folder+"/base/other.yaml", p.objects(p.name("other"))...)
	base := tree{"resources": []any{"workload.yaml", "other.yaml"}}
	if p.chance(2) {
		base["configMapGenerator"] = []any{tree{"name": workload, "literals": []any{"a=b", "c=" + fmt.Sprint(p.IntN(9))}}}
	}
	p.put(folder+"/base/kustomization.yaml", base)
	over := tree{"resources": []any{"../base"}}
	p.put(folder+"/component/kustomization.yaml", tree{"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "labels": []any{tree{"pairs": tree{"part": "component"}}}})
	for _, option := range []func(){
		func() { over["namespace"] = "web" },
		func() { over["namePrefix"] = "pre-" },
		func() { over["nameSuffix"] = "-post" },
		func() {
			over["labels"] = []any{tree{"pairs": tree{"team": "a"}, "includeSelectors": p.chance(2)}, tree{"pairs": tree{"b": "c"}, "includeTemplates": true}}
		},
		func() { over["commonAnnotations"] = tree{"note": "x"} },
		func() { over["images"] = []any{tree{"name": "example.com/main", "newTag": "2"}} },
		func() { over["replicas"] = []any{tree{"name": workload, "count": 3}} },
		func() { over["components"] = []any{"../component"} },
		func() {
			over["patches"] = []any{tree{"target": tree{"kind": "Deployment"}, "patch": "- {op: replace, path: /spec/replicas, value: 5}\n"}}
		},
		func() {
			p.put(folder+"/overlay/patch.yaml", tree{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": tree{"name": workload}, "spec": tree{"minReadySeconds": 7}})
			over["patches"] = []any{tree{"path": "patch.yaml"}}
		},
		func() { over["generatorOptions"] = tree{"disableNameSuffixHash": true} },
		func() {
			over["configMapGenerator"] = []any{tree{"name": "made-" + workload, "literals": []any{"x=y"}, "options": tree{"labels": tree{"l": "m"}}}}
		},
	} {
		if p.chance(4) {
			option()
		}
	}
	p.put(folder+"/overlay/"+one(p, "kustomization.yaml", "kustomization.yml", "Kustomization"), over)
	source, options := p.of(folder+"/overlay"), tree{}
	for _, option := range []func(){
		func() { options["namePrefix"] = "app-" },
		func() { options["nameSuffix"] = "-" + one(p, "a", "b") },
		func() { options["namespace"] = "data" },
		func() {
			options["images"] = []any{one(p, "example.com/main:3", "example.com/main=example.com/other:4")}
		},
		func() {
			options["commonLabels"] = tree{"app-label": "${ARGOCD_APP_NAME}"}
			options["labelWithoutSelector"] = p.chance(2)
		},
		func() {
			options["commonAnnotations"] = tree{"by": "$ARGOCD_APP_NAMESPACE"}
			options["commonAnnotationsEnvsubst"] = p.chance(2)
		},
		func() { options["replicas"] = []any{tree{"name": workload, "count": one[any](p, 2, "2")}} },
		func() {
			options["patches"] = []any{tree{"target": tree{"kind": "Deployment", "name": ".*"}, "patch": "- {op: add, path: /metadata/annotations, value: {patched: 'yes'}}\n"}}
		},
		func() { options["components"] = []any{"../component"} },
	} {
		if p.chance(5) {
			option()
		}
	}
	if len(options) > 0 {
		source["kustomize"] = options
	}
	switch p.IntN(12) {
	case 0: // a mistake
		over["resources"] = []any{"../base", "none.yaml"}
		p.put(folder+"/overlay/"+p.kustomizationFile(folder), over)
	case 1: // taken as files
		delete(source, "kustomize")
		source["directory"] = tree{"recurse": true, "exclude": "*ustomization*"}
	}
	if p.chance(8) {
		p.put(folder+"/overlay/.argocd-source.yaml", tree{"kustomize": tree{"images": []any{"example.com/main:written"}}})
	}
	return source
}

// kustomizationFile is what the kustomization of an overlay is called.
func (p *platform) kustomizationFile(folder string) string {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml"} {
		if _, is := p.files[folder+"/overlay/"+name]; is {
			return name
		}
	}
	return "Kustomization"
}

const deploymentTemplate = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "it.name" . }}
  namespace: {{ .Release.Namespace }}
  labels: {{- include "it.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      annotations: {sum: {{ toYaml .Values.extra | sha256sum | trunc 12 | quote }}}
    spec:
      containers:
        - name: main
          image: "{{ .Values.image.name }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
          env:
            {{- range $name, $value := .Values.extra }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
`

const helpers = `{{- define "it.name" -}}{{ .Release.Name | trunc 40 }}-{{ .Chart.Name | trunc 20 | trimSuffix "-" }}{{- end -}}
{{- define "it.labels" -}}
app: {{ .Release.Name }}
version: {{ .Chart.Version }}
{{- end -}}
`

// chart is a source of a chart that is here, with what Applications say on top.
func (p *platform) chart(folder string) tree {
	chart := tree{"apiVersion": "v2", "name": filepath.Base(folder), "version": "1.2.3", "appVersion": "9"}
	p.files[folder+"/templates/_helpers.tpl"] = helpers
	p.files[folder+"/templates/deployment.yaml"] = deploymentTemplate
	p.files[folder+"/templates/more.yaml"] = `{{- if and .Values.more (not (.Capabilities.APIVersions.Has "example.org/v1")) }}
apiVersion: v1
kind: ConfigMap
metadata: {name: more-{{ .Release.Name }}}
data:
  list: {{ .Values.list | toJson | quote }}
  file: {{ .Files.Get "file.txt" | quote }}
  kube: {{ .Capabilities.KubeVersion.Minor | quote }}
  text: {{ tpl .Values.text . | quote }}
---
{{- end }}
{{- if .Values.hook }}
apiVersion: batch/v1
kind: Job
metadata: {name: hook-{{ .Release.Name }}, annotations: {helm.sh/hook: {{ .Values.hook }}}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/hook:1"}]}}}
{{- end }}
`
	p.files[folder+"/file.txt"] = "of a file\n"
	p.put(folder+"/values.yaml", tree{"replicas": 1, "image": tree{"name": "example.com/it"}, "extra": tree{"A": "b"}, "list": []any{"x", "y"}, "more": p.chance(2), "text": "{{ .Release.Name }}", "hook": one(p, "", "", "test", "post-install", "pre-upgrade")})
	p.put(folder+"/values-more.yaml", tree{"more": true, "list": []any{"z"}, "extra": tree{"A": nil, "C": 1.5}})
	if p.chance(3) {
		sub := folder + "/charts/sub"
		p.put(sub+"/Chart.yaml", tree{"apiVersion": "v2", "name": "sub", "version": "0.1.0"})
		p.put(sub+"/values.yaml", tree{"a": "default"})
		p.files[sub+"/templates/sub.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sub-{{ .Release.Name }}}\ndata: {a: {{ .Values.a | quote }}, global: {{ (.Values.global | default dict).g | default \"none\" | quote }}}\n"
		chart["dependencies"] = []any{tree{"name": "sub", "version": "0.1.0", "repository": "", "condition": "subs"}}
	}
	if p.chance(4) {
		p.put(folder+"/crds/things.yaml", tree{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": tree{"name": "things." + filepath.Base(folder) + ".example.com"},
			"spec": tree{"group": filepath.Base(folder) + ".example.com", "scope": "Namespaced", "names": tree{"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}, "versions": []any{tree{
				"name": "v1", "served": true, "storage": true, "schema": tree{"openAPIV3Schema": tree{"type": "object"}},
			}}},
		})
	}
	for _, part := range []func(){
		func() { p.library(folder, chart) },
		func() {
			p.files[folder+"/.helmignore"] = one(p, "ignored.yaml\n", "templates/ignored*\n", "# nothing\n*.txt\n")
			p.files[folder+"/templates/ignored.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ignored-{{ .Release.Name }}}\n"
		},
		func() {
			p.files[folder+"/templates/NOTES.txt"] = "{{ .Release.Name }} is there.\n"
			p.files[folder+"/templates/below/deep.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deep-{{ .Release.Name }}}\ndata: {template: {{ .Template.Name | quote }}, files: {{ (.Files.Glob \"*.txt\").AsConfig | quote }}, looked: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" | toJson | quote }}}\n"
		},
		func() {
			p.files[folder+"/templates/odd.yaml"] = strings.ReplaceAll(p.odd(), "NAME", p.name("odd"))
		},
		func() {
			p.files[folder+"/templates/several.yaml"] = `{{- range $i, $_ := until 2 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: several-{{ $.Release.Name }}-{{ $i }}
  {{- with $.Values.extra }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
`
		},
	} {
		if p.chance(4) {
			part()
		}
	}
	p.put(folder+"/Chart.yaml", chart)
	source, helm := p.of(folder), tree{}
	for _, option := range []func(){
		func() { helm["releaseName"] = p.name("release") },
		func() {
			helm["valueFiles"] = []any{one(p, "values-more.yaml", "values-*.yaml", "/"+folder+"/values-more.yaml")}
		},
		func() {
			if p.chance(3) { // a mistake
				helm["valueFiles"] = []any{"none.yaml"}
			}
		},
		func() {
			if p.chance(3) { // a mistake
				p.files[folder+"/templates/required.yaml"] = `{{ required "it is needed" .Values.needed }}`
			}
		},
		func() {
			helm["valueFiles"], helm["ignoreMissingValueFiles"] = []any{"none.yaml", "values-more.yaml"}, true
		},
		func() { helm["values"] = "replicas: 2\nextra:\n  D: \"on\"\nsub: {a: values}\n" },
		func() { helm["valuesObject"] = tree{"replicas": 3, "extra": tree{"E": true}, "global": tree{"g": "h"}} },
		func() {
			helm["parameters"] = []any{
				tree{"name": "image.tag", "value": one(p, "7", "1.10", "true"), "forceString": p.chance(2)}, tree{"name": "extra.F", "value": "$ARGOCD_APP_NAME"},
				tree{"name": "list[0]", "value": one(p, "p", `with\,comma`, "{q,r}")},
			}
		},
		func() { helm["fileParameters"] = []any{tree{"name": "extra.G", "path": "file.txt"}} },
		func() { helm["skipCrds"] = true },
		func() { helm["skipTests"] = true },
		func() {
			p.files[folder+"/values.schema.json"] = `{"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 1}}}`
			helm["skipSchemaValidation"] = p.chance(2)
		},
		func() { helm["namespace"] = "elsewhere" },
		func() { helm["kubeVersion"] = "1.31.0" },
		func() {
			p.put(folder+"/values-of-root.yaml", tree{"replicas": 6})
			helm["valueFiles"], helm["ignoreMissingValueFiles"] = []any{"values-of-$ARGOCD_APP_PROJECT_NAME.yaml", "values-of-${ARGOCD_APP_NAMESPACE}.yaml"}, true
		},
		func() {
			helm["values"] = "another: {port: 81}\nother: {port: 82}\ntags: {t: " + one(p, "true", "false") + "}\nextra: null\n"
		},
		func() {
			// No null: Helm 4.2 leaves it out of what it merges, the Helm of Argo CD does not.
			helm["parameters"] = []any{tree{"name": "extra.H\\.I", "value": one(p, "1e3", "012", "")}}
		},
		func() { helm["apiVersions"] = []any{"example.org/v1"} },
	} {
		if p.chance(5) {
			option()
		}
	}
	if len(helm) > 0 {
		source["helm"] = helm
	}
	if p.chance(8) {
		p.put(folder+"/.argocd-source.yaml", tree{"helm": tree{"parameters": []any{tree{"name": "replicas", "value": "8"}}}})
	}
	return source
}

// library gives a chart a dependency that only defines templates, and one under another name.
func (p *platform) library(folder string, chart tree) {
	p.put(folder+"/charts/common/Chart.yaml", tree{"apiVersion": "v2", "name": "common", "version": "0.2.0", "type": "library"})
	p.files[folder+"/charts/common/templates/_common.tpl"] = `{{- define "common.data" -}}{{ .Values.text | default "none" | quote }}{{- end -}}`
	p.files[folder+"/templates/common.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: common-{{ .Release.Name }}}\ndata: {text: {{ include \"common.data\" . }}}\n"
	p.put(folder+"/charts/other/Chart.yaml", tree{"apiVersion": "v2", "name": "other", "version": "0.3.0"})
	p.put(folder+"/charts/other/values.yaml", tree{"given": tree{"of": "child"}, "port": 80})
	p.files[folder+"/charts/other/templates/a.yaml"] = "apiVersion: v1\nkind: Service\nmetadata: {name: {{ .Chart.Name }}-{{ .Release.Name }}}\nspec: {ports: [{port: {{ .Values.port }}}]}\n"
	p.files[folder+"/charts/other/crds/a.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-crds}\n"
	all, _ := chart["dependencies"].([]any)
	other := tree{"name": "other", "version": ">=0.1.0", "alias": one(p, "another", "other"), "tags": []any{"t"}}
	if p.chance(2) {
		other["import-values"] = []any{tree{"child": "given", "parent": "extra"}}
	}
	chart["dependencies"] = append(all, tree{"name": "common", "version": "*"}, other)
}

// set is an ApplicationSet. What its generators give has a name, which is its own, and a
// path of the repository.
func (p *platform) set() tree {
	name, goes := p.name("set"), p.chance(2)
	// field is a parameter as templates of the set write it.
	field := func(path string) string {
		if goes {
			return "{{." + path + "}}"
		}
		return "{{" + path + "}}"
	}
	generator, called, at := p.generator(name, goes)
	template := tree{
		"metadata": tree{"name": name + "-" + field(called), "labels": tree{"set": name}},
		"spec": tree{
			"project":     "default",
			"destination": tree{"server": "https://kubernetes.default.svc", "namespace": one(p, "web", field(called))},
			"source":      tree{"repoURL": ownAddress, "targetRevision": "main", "path": field(at)},
		},
	}
	spec := tree{"generators": []any{generator}, "template": template}
	if goes {
		spec["goTemplate"] = true
		if p.chance(2) {
			spec["goTemplateOptions"] = []any{"missingkey=error"}
		}
		if p.chance(3) {
			template["metadata"].(tree)["name"] = name + `-{{ .` + called + ` | lower | trunc 30 | replace "_" "-" }}`
		}
		if p.chance(3) {
			spec["templatePatch"] = "metadata:\n  annotations:\n    of: '{{ ." + called + " }}'\n" +
				one(p, "", "spec:\n  source:\n    directory: {recurse: true}\n", "{{- if eq ."+called+" \"a\" }}\nspec:\n  destination: {namespace: data}\n{{- end }}\n")
		}
	}
	for _, kind := range []string{"list", "git", "matrix", "merge"} {
		if of, is := generator[kind].(tree); is && p.chance(4) {
			of["template"] = tree{"metadata": tree{}, "spec": tree{"project": "default", "destination": tree{"namespace": "data"}, "source": tree{"repoURL": ownAddress}}}
		}
	}
	return tree{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": tree{"name": name, "namespace": "argocd"}, "spec": spec}
}

// generator gives a name that is its own, and a path: it tells the parameters that hold them.
func (p *platform) generator(set string, goes bool) (generator tree, called, at string) {
	top := "generated/" + set
	names := []string{"a", "b", one(p, "c_d", "c.d", "c")}[:1+p.IntN(3)]
	for _, name := range names {
		p.put(top+"/"+name+"/"+p.name("file")+".yaml", p.objects(p.name("object"))...)
		p.put("facts/"+set+"/"+name+one(p, ".yaml", ".json"), tree{"name": "n" + strings.NewReplacer("_", "", ".", "").Replace(name), "at": top + "/" + name, "deep": tree{"er": name}})
	}
	own := func() []any {
		var elements []any
		for _, name := range names {
			elements = append(elements, tree{"name": strings.NewReplacer("_", "", ".", "").Replace(name), "at": top + "/" + name, "kind": one(p, "x", "y")})
		}
		return elements
	}
	list := func() tree { return tree{"list": tree{"elements": own()}} }
	path := "path"
	if goes {
		path = "path.path"
	}
	files := func(pattern string) tree {
		return tree{"git": tree{"repoURL": ownAddress, "revision": one(p, "HEAD", "main"), "files": []any{tree{"path": "facts/" + set + "/" + pattern}}}}
	}
	directories := func(pattern string) tree {
		return tree{"git": tree{"repoURL": ownAddress, "revision": "HEAD", "directories": []any{tree{"path": pattern}}}}
	}
	// parameter is one as a template within a generator writes it.
	parameter := func(name string) string {
		if goes {
			return "{{ ." + name + " }}"
		}
		return "{{" + name + "}}"
	}
	matrix := func(generators ...any) tree { return tree{"matrix": tree{"generators": generators}} }
	switch p.IntN(14) {
	case 0:
		return list(), "name", "at"
	case 12:
		p.files["facts/"+set+"/list.yaml"] = "- {name: l-one, at: " + top + "/a}\n- {name: l-two, at: " + top + "/a, more: [x, y]}\n"
		return files("list.yaml"), "name", "at"
	case 13:
		if goes {
			return directories(top + "/a"), "path.basename", path
		}
		return directories(top + "/a"), "path[2]", path
	case 1:
		g := directories(top + "/*")
		if p.chance(2) {
			of := g["git"].(tree)
			of["directories"] = append(of["directories"].([]any), tree{"path": top + "/b", "exclude": true})
		}
		return g, "path.basenameNormalized", path
	case 2:
		return files(one(p, "*", "*.yaml", "**/*.json", "{a,b}.yaml", "?.*")), "name", "at"
	case 3:
		return matrix(list(), tree{"list": tree{"elements": []any{tree{"further": "z"}}}}), "name", "at"
	case 4:
		further := tree{"list": tree{"elements": []any{tree{"name": "a", "kind": "merged", "more": "m"}}}}
		return tree{"merge": tree{"mergeKeys": []any{"name"}, "generators": []any{list(), further}}}, "name", "at"
	case 5:
		g := list()
		g["selector"] = one(p, tree{"matchLabels": tree{"kind": "x"}}, tree{"matchExpressions": []any{tree{"key": "kind", "operator": one(p, "In", "NotIn"), "values": []any{"x"}}}})
		return g, "name", "at"
	case 6:
		g := directories(top + "/*")
		g["git"].(tree)["values"] = tree{"from": "git", "part": parameter(one(p, path, "path.basename"))}
		return matrix(g, tree{"clusters": tree{"values": tree{"v": "w"}}}), "path.basenameNormalized", path
	case 7: // what one finds says where the other looks
		return matrix(files("*"), directories(parameter("at"))), "path.basenameNormalized", path
	case 8:
		g := files("*.yaml")
		g["git"].(tree)["pathParamPrefix"] = "it"
		return g, "deep.er", "at"
	case 9:
		return tree{"list": tree{"elementsYaml": "- {name: one, at: " + top + "/a}\n- {name: two, at: " + top + "/" + names[len(names)-1] + "}\n"}}, "name", "at"
	case 10: // a mistake: nothing gives it
		return list(), one(p, "nobody", "name"), "at"
	default:
		return matrix(list(), matrix(tree{"list": tree{"elements": []any{tree{"x": "1"}}}}, tree{"list": tree{"elements": []any{tree{"y": "2"}}}})), "name", "at"
	}
}

// write writes the repository.
func (p *platform) write(t *testing.T, dir string) {
	t.Helper()
	for name, text := range p.files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}

// text is all of the repository, as it is shown where something differs.
func (p *platform) text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		fmt.Fprintf(&b, "-- %s --\n%s", name, p.files[name])
	}
	return b.String()
}
