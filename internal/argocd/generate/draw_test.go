package generate_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"
)

// phase is one that components may have, with the domain that owns it.
type phase struct {
	number int
	domain string
}

// drawLayout says where files land and what they and the labels are called.
func drawLayout(rt *rapid.T) map[string]any {
	argo := map[string]any{"targetRevision": "main"}
	if rapid.Bool().Draw(rt, "out") {
		argo["out"] = "environments/{{environment}}/argocd"
		argo["files"] = map[string]any{"projects": "projects", "applicationSets": "apps", "applications": "applications", "repositories": "repos", "settings": "ops"}
	}
	if rapid.Bool().Draw(rt, "names") {
		argo["names"] = map[string]any{
			"rootProject": "roots-{{platform}}", "applicationSets": map[string]any{"data": "data-services-{{environment}}"},
		}
		argo["labels"] = map[string]any{"phase": "example.com/wave", "part": "part", "domain": "team"}
	}
	return argo
}

// drawLadder makes a ladder file and the phases that its steps match.
func drawLadder(rt *rapid.T, layout string) (map[string]any, []phase) {
	ladder := map[string]any{
		"layout": layout,
		"argocd": drawLayout(rt),
		"environments": map[string]any{environmentName: map[string]any{
			"values": rapid.SampledFrom([][]string{
				{}, {"sources/values/{{name}}.yaml", "sources/values/{{environment}}/{{ domain }}.yaml"}, {"../shared/{{namespace}}.yaml"},
			}[:2]).Draw(rt, "layers"),
		}},
	}
	domains := []string{"foundation", "data", "apps"}
	if layout == "tiers" {
		ladder["tiers"] = domains
	}
	var phases []phase
	var steps []any
	for i, domain := range domains {
		for _, offset := range []int{10, 50} {
			n := (i+1)*100 + offset
			phases = append(phases, phase{n, domain})
			step := map[string]any{"phases": []string{fmt.Sprintf("%03d", n)}}
			if layout == "tiers" {
				step["tier"] = domain
			}
			if m := rapid.SampledFrom([]any{nil, 1, 2, "50%", 0}).Draw(rt, "maxUpdate"); m != nil && (m != 0 || layout != "app-of-apps") {
				step["maxUpdate"] = m
			}
			if rapid.Bool().Draw(rt, "wide") {
				phases = append(phases, phase{n + 5, domain})
				step["phases"] = []string{fmt.Sprintf("%03d", n), fmt.Sprintf("%03d", n+5)}
			}
			steps = append(steps, step)
		}
	}
	ladder["bands"] = []any{
		map[string]any{"name": "foundation", "from": 100, "to": 199}, map[string]any{"name": "data", "from": 200, "to": 299},
		map[string]any{"name": "apps", "from": 300, "to": 399},
	}
	ladder["steps"] = steps
	return ladder, phases
}

// drawn is a random component.
type drawn struct {
	name, domain   string
	content        map[string]any
	enabled        bool
	disabledByName bool
}

type drawing struct {
	phases            []phase
	older, odd, waves bool
	folders           bool // domains are those of folders
	earlier           []drawn
}

// drawComponent makes a descriptor. With odd it may say things in a way that a
// template cannot read.
func drawComponent(rt *rapid.T, i int, d drawing) drawn {
	at := rapid.SampledFrom(d.phases).Draw(rt, "phase")
	out := drawn{name: fmt.Sprintf("c%d", i), domain: at.domain, enabled: true}
	c := map[string]any{"name": out.name, "namespace": rapid.SampledFrom([]string{"ameide", "kube-system"}).Draw(rt, "namespace")}
	out.content = c
	set := func(key string, values ...any) {
		if v := rapid.SampledFrom(append([]any{nil}, values...)).Draw(rt, key); v != nil {
			c[key] = v
		}
	}
	if d.older {
		c["tier"], c["wave"] = at.domain, rapid.SampledFrom([]any{fmt.Sprintf("wave%d", at.number), fmt.Sprint(at.number), at.number}).Draw(rt, "wave")
	} else {
		if !d.folders {
			c["domain"] = at.domain
		}
		c["rolloutPhase"] = rapid.SampledFrom([]any{fmt.Sprint(at.number), at.number}).Draw(rt, "rolloutPhase")
	}
	if d.waves {
		c["syncWave"] = rapid.IntRange(-3, 3).Draw(rt, "syncWave")
		delete(c, "wave")
		delete(c, "rolloutPhase")
	}
	kind := rapid.SampledFrom([]string{"namespaces", "crds", "operator", "secrets", "config", "runtime", "bootstrap"}).Draw(rt, "type")
	if !d.odd || rapid.Bool().Draw(rt, "typed") {
		c["componentType"] = kind
	}
	set("project", "platform", "apps")
	set("enabled", true, false, "false")
	if c["enabled"] == false || c["enabled"] == "false" {
		out.enabled = false
	}
	if rapid.IntRange(0, 9).Draw(rt, "disabledByName") == 0 {
		out.disabledByName, out.enabled = true, false
	}
	set("timeout", "90s", 90, "1h30m")
	set("syncOptions", []string{"CreateNamespace=true", "ServerSideApply=true"}, "CreateNamespace=true, PruneLast=false", []string{"RespectIgnoreDifferences=true"}, []string{"ServerSideApply=false", "ServerSideApply=false"})
	set("labels", map[string]any{"team": "identity"}, map[string]any{"tier": "front", "rollout-phase": "999", "cost": 3})
	set("retry", map[string]any{"limit": 2}, map[string]any{"limit": -1, "backoff": map[string]any{"duration": 7, "factor": 3}}, map[string]any{"backoff": map[string]any{"maxDuration": "10m"}})
	set("ignoreDifferences", []any{map[string]any{"group": "apps", "kind": "Deployment", "jsonPointers": []string{"/spec/replicas"}}},
		[]any{map[string]any{"kind": "Secret", "name": "a", "jqPathExpressions": []string{`.data["{{x}}"]`}, "managedFieldsManagers": []string{"kcm"}}})
	drawSources(rt, c, d.odd)
	for _, e := range d.earlier {
		if e.enabled && rapid.IntRange(0, 4).Draw(rt, "requires") == 0 {
			list, _ := c["requires"].([]string)
			c["requires"] = append(list, e.name)
		}
	}
	if rapid.IntRange(0, 4).Draw(rt, "capability") == 0 {
		list, _ := c["requires"].([]string)
		c["requires"] = append(list, "secret/ameide/db")
	}
	if list, ok := c["requires"].([]string); ok {
		switch rapid.SampledFrom([]string{"list", "one", "maps", "older"}).Draw(rt, "spelling of requires") {
		case "one":
			c["requires"] = list[0]
		case "maps":
			var maps []any
			for _, name := range list {
				maps = append(maps, map[string]any{"name": name})
			}
			c["requires"] = maps
		case "older":
			delete(c, "requires")
			c["dependsOn"] = list
		}
	}
	if len(d.earlier) > 0 && rapid.IntRange(0, 5).Draw(rt, "smoke") == 0 {
		c["smoke"] = []any{map[string]any{"tcp": map[string]any{"address": "db:5432"}}}
		if i := slices.IndexFunc(d.earlier, func(e drawn) bool { return e.enabled }); i >= 0 {
			c["validates"] = []string{d.earlier[i].name}
		}
	}
	return out
}

func drawSources(rt *rapid.T, c map[string]any, odd bool) {
	switch rapid.SampledFrom([]string{"chart", "chartText", "remote", "oci", "kustomize", "manifests", "file", "several"}).Draw(rt, "source") {
	case "chart":
		chart := map[string]any{"path": "sources/charts/web"}
		set := func(key string, values ...any) {
			if v := rapid.SampledFrom(append([]any{nil}, values...)).Draw(rt, key); v != nil {
				chart[key] = v
			}
		}
		files := []any{
			[]any{"sources/values/a.yaml", "$values/sources/values/b.yaml"},
			[]any{map[string]any{"path": "sources/values/{{environment}}.yaml", "optional": true}, "sources/values/a.yaml"},
		}
		if odd {
			files = append(files, []any{"values-dev.yaml"}) // below the chart
		}
		set("valueFiles", files...)
		set("releaseName", "web")
		set("skipCrds", true, false)
		set("values", map[string]any{"gone": nil, "list": []any{nil, 1}}, map[string]any{"replicas": 2, "text": "{{ .Values.x }} {{name}}", "nested": map[string]any{"on": true, "ratio": 1.5}})
		set("parameters", map[string]any{"image.tag": "v1", "replicas": 3})
		set("ignoreMissingValueFiles", true)
		c["chart"] = chart
	case "chartText":
		c["chart"] = "sources/charts/web"
	case "remote":
		c["chart"] = map[string]any{"repoURL": "https://charts.example.com", "name": "loki", "version": "6.6.2", "valueFiles": []string{"sources/values/a.yaml"}}
	case "oci":
		c["chart"] = map[string]any{"repoURL": "registry.example.com/charts", "name": "web", "version": "1.10"}
	case "kustomize":
		c["kustomize"] = rapid.SampledFrom([]any{"sources/kustomize/dev", map[string]any{"path": "sources/kustomize/{{environment}}"}}).Draw(rt, "kustomize")
	case "manifests":
		c["manifests"] = rapid.SampledFrom([]any{"sources/manifests", map[string]any{"path": "sources/manifests", "recurse": true}}).Draw(rt, "manifests")
	case "file":
		c["manifests"] = "sources/manifests/two.yaml"
	case "several":
		c["chart"], c["kustomize"], c["manifests"] = "sources/charts/web", "sources/kustomize/dev", map[string]any{"path": "./sources/manifests"}
	}
}
