package installation

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

func TestARelease(t *testing.T) {
	mark := appset.Mark("x")
	at := finding.Position{File: "main.tf", Line: 1}
	var r Reader
	r.Release(Release{Namespace: "argocd", Position: at, Set: []Parameter{{Name: "configs.cm.create", Value: "false", Position: at}}})
	if s := r.Settings(); s.Known || s.Whole.File != "" {
		t.Error("without a ConfigMap of its own: the settings are known")
	}
	r = Reader{}
	r.Release(Release{Namespace: "argocd", Position: at, Set: []Parameter{{Name: `configs.cm.resource\.customizations\.health\.x\.y_Z`, Value: "z", Position: at}}})
	if s := r.Settings(); !s.Known || len(s.Health) != 1 {
		t.Errorf("a health script by its path: %v", s)
	}
	for name, test := range map[string]struct {
		values       string
		open         bool
		beside       string
		known, whole bool
	}{
		"nothing":                           {values: "{}", known: true, whole: true},
		"a value elsewhere":                 {values: "global: {domain: " + mark + "}", known: true, whole: true},
		"a value of a setting beside":       {values: "configs: {cm: {url: 'https://{{ domain }}'}}", known: true, whole: true},
		"a health script that is filled in": {values: "configs: {cm: {resource.customizations.health.x_Y: " + mark + "}}", known: true, whole: true},
		"the settings":                      {values: "configs: {cm: " + mark + "}"},
		"more settings":                     {values: "configs: {cm: {url: x, " + mark + ": true}}"},
		"more values":                       {values: mark + ": true"},
		"another setting":                   {values: "configs: {cm: {resource.exclusions: '" + mark + "', resource.customizations: x}}"},
		"arguments":                         {values: "applicationSet: {extraArgs: [" + mark + "]}"},
		"other values":                      {values: "{}", open: true},
		"a document on health":              {values: "{}", beside: "add resource.customizations.health.x_Y", whole: true},
		"a document on kustomize":           {values: "{}", beside: "set kustomize.buildOptions", known: true},
	} {
		var r Reader
		v, err := yamldoc.ParseOne("main.tf", []byte(test.values))
		if err != nil {
			t.Fatal(err)
		}
		r.Release(Release{Namespace: "argocd", Values: []*yamldoc.Value{v}, Open: test.open, Position: finding.Position{File: "main.tf", Line: 1}})
		if test.beside != "" {
			r.Beside("README.md", []byte(test.beside))
		}
		for range 2 { // it is asked again
			if s := r.Settings(); s.Known != test.known || (s.Whole.File != "") != test.whole {
				t.Errorf("%s: known %t, whole %t", name, s.Known, s.Whole.File != "")
			}
		}
	}
}
