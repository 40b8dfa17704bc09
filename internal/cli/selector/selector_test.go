package selector_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/cli/selector"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

func TestChoose(t *testing.T) {
	components := []model.Component{
		{Name: "cilium", PreArgo: true, Phase: model.NoPhase, Type: model.Runtime},
		{Name: "data-postgres", Domain: "data", Namespace: "db", Phase: 250, Type: model.Runtime, Project: "data"},
		{Name: "data-smoke", Domain: "data", Phase: 299, Type: model.Smoke},
		{Name: "web", Domain: "apps", Phase: 650, Type: model.Runtime, Cluster: "edge"},
	}
	bands := []plan.Band{{Name: "data", From: 200, To: 299}, {Name: "apps", From: 600, To: 699}}
	for name, tc := range map[string]struct {
		selectors, want []string
		wrong           string
	}{
		"none means all":      {nil, []string{"cilium", "data-postgres", "data-smoke", "web"}, ""},
		"names in order":      {[]string{"web", "data-smoke"}, []string{"data-smoke", "web"}, ""},
		"pattern":             {[]string{"data-*"}, []string{"data-postgres", "data-smoke"}, ""},
		"both properties":     {[]string{"domain=data, type=smoke"}, []string{"data-smoke"}, ""},
		"any selector":        {[]string{"namespace=db", "project=data", "web"}, []string{"data-postgres", "web"}, ""},
		"another cluster":     {[]string{"cluster=edge"}, []string{"web"}, ""},
		"the cluster of Argo": {[]string{"cluster=in-cluster,domain=data"}, []string{"data-postgres", "data-smoke"}, ""},
		"any cluster":         {[]string{"cluster=*,type=smoke"}, []string{"data-smoke"}, ""},
		"one phase":           {[]string{"phase=299"}, []string{"data-smoke"}, ""},
		"phases":              {[]string{"phase=0-299"}, []string{"data-postgres", "data-smoke"}, ""},
		"band":                {[]string{"band=apps"}, []string{"web"}, ""},
		"misspelt name":       {[]string{"data-smok"}, nil, `there is no component "data-smok"; did you mean data-smoke?`},
		"nothing":             {[]string{"x*"}, nil, `no component is chosen by "x*"`},
		"tier is domain":      {[]string{"tier=data,type=smoke"}, []string{"data-smoke"}, ""},
		"unknown key":         {[]string{"team=data"}, nil, `selector "team=data": "team" is none of the keys band, cluster, domain, namespace, phase, project, tier, type`},
		"unknown band":        {[]string{"band=middle"}, nil, `selector "band=middle": there is no band "middle"`},
		"unknown type":        {[]string{"type=deployment"}, nil, `selector "type=deployment": "deployment" is no type of component`},
		"no value":            {[]string{"domain="}, nil, `selector "domain=": write key=value[,key=value...], with the keys band, cluster, domain, namespace, phase, project, tier, type`},
		"pattern left open":   {[]string{"a["}, nil, `selector "a[" is not a pattern of names`},
		"phase without sense": {[]string{"phase=x"}, nil, `selector "phase=x": phase "x" is not a number from 0 to 999`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := selector.Choose(components, bands, tc.selectors)
			if tc.wrong != "" {
				if err == nil || err.Error() != tc.wrong || exit.Of(err) != exit.Usage {
					t.Fatalf("error = %v (%d), want %s", err, exit.Of(err), tc.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got {
				names = append(names, c.Name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}
