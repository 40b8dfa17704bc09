package lint

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestOneExclusionForItsKind: one object speaks for all of its kind, and says how many
// there are and where.
func TestOneExclusionForItsKind(t *testing.T) {
	endpoints := func(component, name string, line int) Object {
		return Object{Component: component, Resource: finding.Resource{Kind: "Endpoints", Namespace: "nas", Name: name}, Position: finding.Position{File: component + ".yaml", Line: line}}
	}
	in := Input{
		Components: []model.Component{{Name: "a", Enabled: true}, {Name: "b", Enabled: true}},
		Objects:    []Object{endpoints("a", "one", 1), endpoints("a", "two", 9), endpoints("b", "three", 1)},
	}
	in.Argo.Settings.Exclusions = []argo.Filters{{Filters: []argo.Filter{{Kinds: []string{"Endpoints"}}}}}
	got := kindExcluded(in)
	if len(got) != 1 {
		t.Fatalf("findings %v", got)
	}
	const want = "Argo CD does not apply Endpoints nas/one: its settings hide the kind Endpoints; nor does it apply 2 more objects of the kind"
	if got[0].Message != want {
		t.Errorf("got %q, want %q", got[0].Message, want)
	}
	if n := len(got[0].Evidence); n != 3 || got[0].Evidence[1].Line != 9 || got[0].Evidence[2].File != "b.yaml" {
		t.Errorf("evidence %v", got[0].Evidence)
	}
}
