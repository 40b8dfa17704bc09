package generate

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// set makes the ApplicationSet of stages: with a git generator where the template
// reads every descriptor as it is meant, else with a list.
func (b *builder) set(name string, stages []stage) (ApplicationSet, error) {
	s := ApplicationSet{APIVersion: apiVersion, Kind: kindSet}
	s.Metadata = Metadata{
		Name: name, Namespace: b.platform.ArgoCD.Namespace, Labels: b.labelsOfAll(),
		Finalizers: []string{resourcesFinalizer},
	}
	has := "none"
	if slices.ContainsFunc(stages, func(st stage) bool { return len(st.components) > 0 }) {
		has = "some"
	}
	s.Metadata.Annotations = map[string]string{annotationApplications: has}
	s.Spec.GoTemplate, s.Spec.GoTemplateOptions = true, []string{"missingkey=error"}
	s.Spec.Strategy = Strategy{Type: rollingSync, DeletionOrder: reverseOrder, RollingSync: Rolling{Steps: b.rollingSteps(stages)}}

	reason := b.unlisted()
	if reason == "" {
		git := s
		if err := b.fromGit(&git, stages); err != nil {
			return s, err
		}
		var err error
		if reason, err = b.differs(git, stages); err != nil {
			return s, err
		}
		if reason == "" {
			return git, nil
		}
	}
	b.warn(b.platform.Ladder.Position, "the ApplicationSet %s lists its Applications instead of reading the descriptors: %s", name, reason)
	b.fromList(&s, stages)
	return s, b.lengthy(&s)
}

// mostStored is the length of an object that the API server stores, in bytes, with
// room for its status. Source: etcd, "System limits", request size 1.5 MiB.
const mostStored = 1 << 20

// lengthy has a long list applied server-side, and refuses one that no API server
// stores.
func (b *builder) lengthy(s *ApplicationSet) error {
	text, err := json.Marshal(s)
	switch {
	case err != nil:
		return fmt.Errorf("write the ApplicationSet %s: %w", s.Metadata.Name, err)
	case len(text) > mostStored:
		return b.refuse(b.platform.Ladder.Position, "write the descriptors so that a template can read them, or use the layout tiers",
			"the list of the ApplicationSet %s has %d KiB, more than an API server stores", s.Metadata.Name, len(text)>>10)
	case len(text) > manifest.MostAnnotated:
		s.Metadata.Annotations[optionsAnnotation] = optionServerSide + "=true"
	}
	return nil
}

// fromGit reads the descriptors.
func (b *builder) fromGit(s *ApplicationSet, stages []stage) error {
	template, err := b.template(stages)
	if err != nil {
		return err
	}
	folder := b.descriptors()
	if b.tierInFolder(stages) {
		folder = path.Join(folder, stages[0].set)
	}
	s.Spec.Generators = []Generator{{
		Git: &GitGenerator{RepoURL: b.repoURL, Revision: b.revision, Files: []GitFile{
			{Path: b.inRepository(path.Join(folder, "**", descriptor.FileName))},
		}},
		Selector: &Selector{MatchExpressions: b.selection(stages)},
	}}
	s.Spec.Template, s.Spec.TemplatePatch = template, b.patch(stages)
	return nil
}

// selection leaves out what is disabled, and in a tier what is of another one.
// Selectors see the fields of descriptors as text.
func (b *builder) selection(stages []stage) []Expression {
	list := []Expression{{Key: "enabled", Operator: operatorNotIn, Values: []string{"false"}}}
	if b.layout != plan.Tiers || len(stages) == 0 || b.tierInFolder(stages) {
		return list
	}
	key := fieldDomain
	for _, c := range b.components {
		if _, older := c.Fields[fieldTier]; older {
			key = fieldTier
			break
		}
	}
	return append(list, Expression{Key: key, Operator: operatorIn, Values: []string{stages[0].set}})
}

// tierInFolder reports whether the descriptors of a tier are told by their folder,
// because not all say their domain.
func (b *builder) tierInFolder(stages []stage) bool {
	if b.layout != plan.Tiers {
		return false
	}
	for _, s := range stages {
		for _, name := range s.components {
			if _, written := b.components[name].Fields[fieldDomain]; !written {
				return true
			}
		}
	}
	return false
}

// descriptors is the folder of the descriptors of the environment; empty where
// there are none, or several folders over each other.
func (b *builder) descriptors() string {
	return path.Join("environments", b.platform.Environment, "components")
}

// unlisted says why no git generator can find the components; empty where one
// can.
func (b *builder) unlisted() string {
	for _, name := range b.sorted() {
		c := b.components[name]
		if path.Base(c.Position.File) != descriptor.FileName {
			return c.Name + " has no descriptor"
		}
		if ok, err := path.Match(b.descriptors()+"/*", firstBelow(b.descriptors(), c.Position.File)); !ok || err != nil {
			return fmt.Sprintf("the descriptor of %s lies outside %s", c.Name, b.descriptors())
		}
	}
	return ""
}

// firstBelow is the path of the first step below a folder that leads to a file,
// or the file itself where it lies elsewhere.
func firstBelow(dir, file string) string {
	for p := file; p != "." && p != "/"; p = path.Dir(p) {
		if path.Dir(p) == dir {
			return p
		}
	}
	return file
}

// fromList writes the elements out.
func (b *builder) fromList(s *ApplicationSet, stages []stage) {
	elements := []Element{}
	for _, st := range stages {
		for _, name := range st.components {
			app := b.apps[name]
			elements = append(elements, Element{
				Name: name, Project: app.Spec.Project, Labels: app.Metadata.Labels, Annotations: app.Metadata.Annotations,
				Namespace: app.Spec.Destination.Namespace,
				Spec: ElementSpec{
					Source: app.Spec.Source, Sources: app.Spec.Sources, SyncPolicy: app.Spec.SyncPolicy, IgnoreDifferences: app.Spec.IgnoreDifferences,
				},
			})
		}
	}
	to := b.destination
	to.Namespace = "{{ .namespace }}"
	s.Spec.Generators = []Generator{{List: &ListGenerator{Elements: elements}}}
	s.Spec.Template = Template{
		Metadata: Metadata{Name: "{{ .name }}", Finalizers: []string{resourcesFinalizer}},
		Spec:     ApplicationSpec{Project: "{{ .project }}", Destination: to},
	}
	s.Spec.TemplatePatch = "metadata:\n  labels: {{ toJson .labels }}\n  annotations: {{ toJson .annotations }}\nspec: {{ toJson .spec }}\n"
}

// rollingSteps match the labels that the Applications of stages have. A stage
// without components keeps its place for what may come.
func (b *builder) rollingSteps(stages []stage) []RollingStep {
	var steps []RollingStep
	for _, s := range stages {
		var phases []string
		for _, p := range s.phases {
			phases = append(phases, p.String())
		}
		step := RollingStep{MatchExpressions: []Expression{{Key: b.label.Phase, Operator: operatorIn, Values: phases}}, MaxUpdate: maxUpdate(s.maxUpdate)}
		if s.parts > 0 {
			step.MatchExpressions = append(step.MatchExpressions, Expression{Key: b.label.Part, Operator: operatorIn, Values: []string{strconv.Itoa(s.part)}})
		}
		steps = append(steps, step)
	}
	return steps
}

func maxUpdate(m plan.MaxUpdate) any {
	switch {
	case !m.Set:
		return nil
	case m.Percent:
		return m.String()
	default:
		return m.Count
	}
}

// of are the stages of a tier.
func (b *builder) of(set string) []stage {
	return slices.DeleteFunc(slices.Clone(b.stages), func(s stage) bool { return s.set != set })
}
