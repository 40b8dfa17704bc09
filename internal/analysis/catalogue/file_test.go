package catalogue_test

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// A file of one CRD says by its name which one it is; a kind that no set has, or another name, says nothing.
func TestFileOfOneCRD(t *testing.T) {
	const folder = "https://raw.githubusercontent.com/prometheus-operator/prometheus-operator/v0.93.1/example/prometheus-operator-crd/"
	c := catalogue.New()
	for name, want := range map[string]string{
		"monitoring.coreos.com_prometheusrules.yaml": "PrometheusRule",
		"monitoring.coreos.com_nothings.yaml":        "",
		"prometheusrules.yaml":                       "",
	} {
		answer, ok := c.Find(catalogue.Asked{Source: model.Source{Kind: model.Manifests, RepoURL: folder + name}})
		got := ""
		if len(answer.CRDs) == 1 && len(answer.Known.Kinds) == 1 && !answer.Known.Open && !answer.Known.Foreign {
			got = answer.Known.Kinds[0].Kind
		}
		if ok != (want != "") || got != want {
			t.Errorf("%s: %q, %t, want %q", name, got, ok, want)
		}
	}
}
