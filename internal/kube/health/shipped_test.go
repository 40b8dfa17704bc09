package health

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestShipped(t *testing.T) {
	type answer struct{ script, code, workload bool }
	for name, want := range map[schema.GroupKind]answer{
		{Group: "apps", Kind: "Deployment"}:                               {false, true, true},
		{Group: "", Kind: "PersistentVolumeClaim"}:                        {false, true, false},
		{Group: "argoproj.io", Kind: "Application"}:                       {false, false, false},
		{Group: "argoproj.io", Kind: "Workflow"}:                          {false, true, false},
		{Group: "argoproj.io", Kind: "Rollout"}:                           {true, false, false},
		{Group: "cert-manager.io", Kind: "Certificate"}:                   {true, false, false},
		{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: {true, false, false},
		{Group: "pkg.crossplane.io", Kind: "Provider"}:                    {true, false, false},
		{Group: "", Kind: "ConfigMap"}:                                    {false, false, false},
		{Group: "databases.spotahome.com", Kind: "RedisFailover"}:         {false, false, false},
		{Group: "example.com", Kind: "Deployment"}:                        {false, false, false},
	} {
		s := NewShipped()
		code, workload := s.Code(name)
		if got := (answer{s.Script(name), code, workload}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
