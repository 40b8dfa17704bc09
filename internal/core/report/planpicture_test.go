package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// pictured is a small plan: app requires the store through the secret and
// directly, and a config that comes after it.
func pictured(t *testing.T) *plan.Plan {
	t.Helper()
	c := func(name string, phase model.Phase, typ model.Type) model.Component {
		return model.Component{Name: name, Phase: phase, Type: typ, Enabled: true}
	}
	edge := func(from, to, reason string, s plan.Strength) plan.Edge {
		return plan.Edge{From: from, To: to, Reason: reason, Strength: s}
	}
	p, err := plan.Build(plan.Input{
		Environment: "dev", Policy: rollout.Phases,
		Components: []model.Component{
			c("store", 150, model.Runtime), c("secret", 155, model.Secrets), c(`app <"1">`, 250, model.Runtime), c("late", 340, model.Config),
		},
		Edges: []plan.Edge{
			edge("secret", "store", "needs SecretStore vault", plan.Hard), edge(`app <"1">`, "secret", "reads Secret a/b", plan.Hard),
			edge(`app <"1">`, "store", "calls vault", plan.Soft), edge(`app <"1">`, "late", "reads ConfigMap a/late", plan.Hard),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func written(t *testing.T, write func(io.Writer, *plan.Plan) error, p *plan.Plan) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every form of a plan has one count of steps, and says how many are empty.
func TestOneCountOfSteps(t *testing.T) {
	p := pictured(t)
	p.Steps = append(p.Steps, plan.Step{Index: 5, Label: "400"})
	forms := map[string]func(io.Writer, *plan.Plan) error{
		"text": func(w io.Writer, p *plan.Plan) error { return PlanText(w, p, nil, "") },
		"html": func(w io.Writer, p *plan.Plan) error { return PlanHTML(w, p, nil, ".") },
		"svg":  func(w io.Writer, p *plan.Plan) error { return PlanSVG(w, p) },
	}
	for name, form := range forms {
		counts := regexp.MustCompile(`[0-9]+ steps[^;.\n]{0,10}`).FindAllString(written(t, form, p), -1)
		if len(counts) == 0 {
			t.Errorf("%s: no count", name)
		}
		for _, c := range counts {
			if !strings.HasPrefix(c, "5 steps (1 empty)") {
				t.Errorf("%s: %q", name, c)
			}
		}
	}
}

// A step that holds no component is drawn in its place, also one of several phases, and the last.
func TestEmptyStepsAreDrawn(t *testing.T) {
	in := plan.Input{
		Environment: "dev", Policy: rollout.Phases,
		Components: []model.Component{{Name: "web", Phase: 120, Enabled: true}, {Name: "lost", Phase: 700, Enabled: true}},
		Ladder: plan.Ladder{Steps: []plan.LadderStep{
			{Phases: []model.Phase{110, 115}, About: plan.About{Title: "CRDs"}}, {Phases: []model.Phase{120}}, {Phases: []model.Phase{130}},
		}},
	}
	p, err := plan.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := plan.TakeInventory(p, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := InventoryPicture(&b, inv, ""); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(PHASE|NO PLACE|WAVE)[^│]*`).FindAllString(b.String(), -1)
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if diff := cmp.Diff([]string{"PHASE 110,115: CRDS", "PHASE 120", "PHASE 130", "PHASE 700"}, got); diff != "" {
		t.Error(diff)
	}
	if n := strings.Count(b.String(), nothing); n != 2 {
		t.Errorf("%d frames are empty, want 2", n)
	}
	for name, form := range map[string]func(io.Writer, *plan.Plan) error{"dot": PlanDOT, "mermaid": PlanMermaid, "svg": PlanSVG} {
		if n := strings.Count(written(t, form, p), nothing); n != 2 {
			t.Errorf("%s: %d steps are empty, want 2", name, n)
		}
	}
}

func TestPlanDOT(t *testing.T) {
	want := `digraph "ladder of dev" {
  rankdir=LR; newrank=true; node [shape=box, style=rounded, fontname="sans-serif"]; edge [color=gray40];
  subgraph cluster_1 {
    label="150"; rank=same; color=gray70;
    "store" [penwidth=2.5];
  }
  subgraph cluster_2 {
    label="155"; rank=same; color=gray70;
    "secret" [penwidth=2.5];
  }
  subgraph cluster_3 {
    label="250"; rank=same; color=gray70;
    "app <\"1\">" [penwidth=2.5];
  }
  subgraph cluster_4 {
    label="340"; rank=same; color=gray70;
    "late" [penwidth=2.5];
  }
  "store" -> "secret" [tooltip="needs SecretStore vault", color=black, penwidth=2.5];
  "secret" -> "app <\"1\">" [tooltip="reads Secret a/b", color=black, penwidth=2.5];
  "late" -> "app <\"1\">" [tooltip="reads ConfigMap a/late", color=red, constraint=false, penwidth=2];
}
`
	if diff := cmp.Diff(want, written(t, PlanDOT, pictured(t))); diff != "" {
		t.Error(diff)
	}
}

func TestPlanMermaid(t *testing.T) {
	want := `flowchart LR
  subgraph s1["150"]
    c1["store"]
  end
  subgraph s2["155"]
    c2["secret"]
  end
  subgraph s3["250"]
    c3["app #lt;#quot;1#quot;#gt;"]
  end
  subgraph s4["340"]
    c4["late"]
  end
  c1 ==> c2
  c2 ==> c3
  c4 ==> c3
  classDef critical stroke-width:3px
  class c1,c2,c3,c4 critical
  linkStyle 2 stroke:#c00000,stroke-width:3px
`
	if diff := cmp.Diff(want, written(t, PlanMermaid, pictured(t))); diff != "" {
		t.Error(diff)
	}
}

// count of elements by name and class, and all texts, of a well-formed picture.
func readSVG(t *testing.T, text string) (elements map[string]int, texts []string) {
	t.Helper()
	elements = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(text))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return elements, texts
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			class := ""
			for _, a := range e.Attr {
				if a.Name.Local == "class" {
					class = "." + a.Value
				}
			}
			elements[e.Name.Local+class]++
			inText = e.Name.Local == "text"
		case xml.CharData:
			if inText {
				texts = append(texts, strings.TrimSpace(string(e)))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestPlanSVGShowsEveryComponentAndWhatIsWrong(t *testing.T) {
	elements, texts := readSVG(t, written(t, PlanSVG, pictured(t)))
	for element, want := range map[string]int{"rect.box": 4, "g.critical": 4, "path.edge against": 1, "path.edge way": 2, "path.edge soft": 0, "svg": 1, "desc": 1} {
		if elements[element] != want {
			t.Errorf("%d of %s, want %d", elements[element], element, want)
		}
	}
	for _, want := range []string{"store", "secret", `app <"1">`, "late", "150", "340"} {
		if !contains(texts, want) {
			t.Errorf("the picture does not say %q: %q", want, texts)
		}
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

// TestPlanSVGFoldsWhatIsTooMuch: a ladder of thousands shows what matters.
func TestPlanSVGFoldsWhatIsTooMuch(t *testing.T) {
	in := plan.Input{Environment: "big", Policy: rollout.Phases}
	for i := range 3000 {
		in.Components = append(in.Components, model.Component{Name: fmt.Sprintf("c%04d", i), Phase: model.Phase(100 + i%30), Enabled: true, Type: model.Runtime})
		if i >= 30 {
			in.Edges = append(in.Edges, plan.Edge{From: fmt.Sprintf("c%04d", i-i%30+(i%30+1)%30), To: fmt.Sprintf("c%04d", i), Strength: plan.Hard})
		}
	}
	p, err := plan.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	picture := written(t, PlanSVG, p)
	elements, texts := readSVG(t, picture)
	if elements["rect.box"] != 30*svgTop {
		t.Errorf("%d boxes, want %d", elements["rect.box"], 30*svgTop)
	}
	if !contains(texts, "and 88 more") {
		t.Error("no column says how many it leaves out")
	}
	if len(picture) > 2<<20 {
		t.Errorf("the picture has %d bytes", len(picture))
	}
}

func TestPlanHTMLEscapesAndStandsAlone(t *testing.T) {
	page := written(t, func(w io.Writer, p *plan.Plan) error {
		return PlanHTML(w, p, []Unrendered{{Component: "far", Reason: "<script>", File: "far.yaml", Line: 3}}, "platform")
	}, pictured(t))
	for _, forbidden := range []string{"<script", "http://", "https://", `app <"1">`} {
		if i := strings.Index(strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, ""), forbidden); i >= 0 {
			t.Errorf("the page holds %q", forbidden)
		}
	}
	for _, want := range []string{"&lt;script&gt;", "<code>platform/far.yaml:3</code>", "<code>platform/", "Against the order", "<svg", "reads ConfigMap a/late"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
