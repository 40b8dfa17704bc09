package lint

import (
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestMessages reads what is said where a chart stands for its objects, where
// nothing orders two components, and where a project forbids several Applications
// one thing.
func TestMessages(t *testing.T) {
	chart := needs("crd-before-use", dependency.Apply, definition, end("web", finding.Resource{}, 0), end("vault", finding.Resource{}, 0))
	chart.Reason = "has objects of kind Widget of acme.example"
	object := needs("crd-before-use", dependency.Apply, definition, end("web", custom, 0), end("vault", definition, 0))
	object.Reason = "is of kind Widget of acme.example"
	order := func(d dependency.Dependency, waves ...int) Input {
		return Input{Components: []model.Component{at("web", waves[0]), at("vault", waves[1]), at("else", 9)}, Dependencies: []dependency.Dependency{d}}
	}
	forbidden := Input{Argo: argo.Setup{Projects: []argo.Project{{Name: "team", Destinations: []argo.Destination{{Server: "*", Namespace: "*"}}}}}}
	for _, name := range []string{"e", "d", "c", "b", "a", "f"} {
		forbidden.Argo.Applications = append(forbidden.Argo.Applications, argo.Application{
			Name: name, Project: "team", Sources: []argo.Source{{RepoURL: "https://git.example/repo"}},
			Destination: argo.Destination{Name: "prod"}, Position: finding.Position{File: name + ".yaml", Line: 1},
		})
	}
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"a chart before another":        {order(chart, 1, 2), "web (wave 1) has objects of kind Widget of acme.example, but vault comes later (wave 2)"},
		"nothing orders a chart":        {order(chart, 1, 1), "web has objects of kind Widget of acme.example, which vault provides, and nothing orders the two (wave 1, wave 1)"},
		"an object before a chart":      {order(object, 1, 2), "Widget ns/one of web (wave 1) is of kind Widget of acme.example, but vault comes later (wave 2)"},
		"nothing orders an object":      {order(object, 1, 1), "Widget ns/one of web is of kind Widget of acme.example, which vault provides, and nothing orders the two (wave 1, wave 1)"},
		"a project that forbids twice":  {limit(forbidden, 2), "project team does not allow d and 1 more Application the source https://git.example/repo"},
		"a project that forbids to six": {forbidden, "project team does not allow a and 5 more Applications the source https://git.example/repo"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Run(c.in, Options{Rules: Rules()})
			if len(got) != 1 || got[0].Message != c.want {
				t.Errorf("got %+v, want one finding that says %q", got, c.want)
			}
		})
	}
	evidence := Run(forbidden, Options{Rules: Rules()})[0].Evidence
	last := evidence[len(evidence)-1]
	if want := "and 2 more Applications"; last.Text != want || last.File != "e.yaml" {
		t.Errorf("the last evidence is %+v, want %q at e.yaml", last, want)
	}
}

// limit keeps the first Applications of an input.
func limit(in Input, n int) Input {
	in.Argo.Applications = in.Argo.Applications[:n]
	return in
}
