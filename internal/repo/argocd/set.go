package argocd

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/appset"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// data is what generators would learn outside the repository, and how the
// installation has them read it.
func (r *Repository) data(set document) appset.Data {
	data := r.opts.Data
	data.NewGlobbing = data.NewGlobbing || r.settings.NewGlobbing.On
	if len(r.clusters.all) > 0 {
		data.Clusters, data.Found = r.given(set), true
	}
	return data
}

// expand generates the Applications of an ApplicationSet. Those that are only
// supposed are left out where the folder they take is none of this repository.
func (r *Repository) expand(ctx context.Context, set document) []document {
	if k, ok := r.expanded[set.value]; ok {
		r.findings = append(r.findings, k.findings...)
		return k.value
	}
	before := len(r.findings)
	r.switchOn(set)
	result, err := evaluate.Applications(ctx, set.value, view{r}, r.data(set))
	if err != nil {
		return nil // the end of ctx, which the caller reports
	}
	for _, problem := range result.Unread {
		r.unread(RuleNotRead, set, problem, problem.Message)
		if appset.IsNoTemplate(problem) || appset.IsRefused(problem) {
			f := r.findings[len(r.findings)-1]
			f.Rule, f.Severity, f.Unread = RuleInvalid, finding.Error, nil
			f.Message += "; Argo CD generates no Application of " + set.name()
			r.findings = append(r.findings, f)
		}
	}
	r.partial[set.value] = len(result.Unread) > 0
	if len(result.Applications)+len(result.Unread)+len(result.Assumed) == 0 {
		r.makesNothing(set)
	} else {
		r.makesLess(set, set.value.At("spec", "generators"), 0)
	}
	steps := steps(set)
	var all []document
	assumed, elsewhere := 0, ""
	var nameless []document
	for _, app := range result.Applications {
		d := r.generated(set, app)
		if hasPlaceholder(d.name()) {
			nameless = append(nameless, d)
			continue
		}
		if app.Assumed {
			if address := r.unknownAddress(d); address != "" {
				elsewhere = address
				continue
			}
			assumed++
		}
		d.generated.step = stepOf(steps, labels(d))
		all = append(all, d)
	}
	if len(nameless) > 0 {
		r.partial[set.value] = true
		r.notRead(nameless[0].position(), set.name(), "the ApplicationSet %s generates %s with the name %q, of which parameters are not known",
			set.name(), several(len(nameless), "an Application", "Applications"), nameless[0].name())
	}
	for _, problem := range result.Assumed {
		switch {
		case assumed > 1:
			r.unread(RuleAssumed, set, problem, fmt.Sprintf("%s: it is taken to make %d Applications, one for each of the parameters that are known", problem.Message, assumed))
		case assumed == 1:
			r.unread(RuleAssumed, set, problem, problem.Message+": it is taken to make one Application")
		case elsewhere != "":
			r.partial[set.value] = true
			r.unread(RuleNotRead, set, problem, fmt.Sprintf("%s, and the address of its source needs %s", problem.Message, elsewhere))
		}
	}
	r.expanded[set.value] = kept[[]document]{value: all, findings: append([]finding.Finding(nil), r.findings[before:]...)}
	return all
}

// unread reports what a set does not tell: that it is not read, or what is assumed.
func (r *Repository) unread(rule string, set document, problem *repofs.InputError, message string) {
	at := problem.Position
	at.File = strings.TrimPrefix(at.File, r.prefix)
	if !r.present[at.File] {
		at = set.position()
	}
	f := notRead(at, set.name(), "%s", message)
	if rule == RuleAssumed {
		f.Rule, f.Unread = rule, nil
	}
	f.Fix.Summary = problem.Hint
	r.findings = append(r.findings, f)
}

// generated is an Application that a set generates.
func (r *Repository) generated(set document, app appset.Application) document {
	d := document{
		value: app.Value, written: app.Template, rendered: set.rendered,
		generated: &generated{set: set, parameters: app.Parameters, element: app.Element, assumed: app.Assumed, lacks: app.Lacks, namespace: app.Namespace, cluster: app.Cluster},
	}
	d.generated.element.File = strings.TrimPrefix(app.Element.File, r.prefix)
	// What a kustomization built has lines of its own; the file is what people
	// look for.
	if set.rendered || !r.present[d.generated.element.File] {
		d.generated.element = set.position()
	}
	if template := set.written.At("spec", "template"); !r.present[d.written.Position.File] && template != nil {
		d.written = template
	}
	return d
}

// unknownAddress is the address of a folder that an Application takes of a
// repository that is not known; empty where there is none.
func (r *Repository) unknownAddress(d document) string {
	for _, s := range d.sources() {
		if _, ok := r.local(s); !ok && s.path() != "" && hasPlaceholder(s.repoURL()) {
			return s.repoURL()
		}
	}
	return ""
}

func labels(d document) map[string]string {
	return texts(d.value.At("metadata", "labels"))
}

// texts reads a map of scalars.
func texts(v *yamldoc.Value) map[string]string {
	if v == nil || len(v.Entries) == 0 {
		return nil
	}
	all := make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		if e.Value.Kind == yamldoc.Scalar {
			all[e.Key] = e.Value.Text
		}
	}
	return all
}

// steps reads the RollingSync steps of an ApplicationSet; nil where the strategy
// is another. Source: Argo CD, "Progressive Syncs".
func steps(set document) []argo.Step {
	strategy := set.value.At("spec", "strategy")
	if strategy.TextAt("type") != "RollingSync" {
		return nil
	}
	list := strategy.At("rollingSync", "steps")
	if list == nil {
		return nil
	}
	written := set.written.At("spec", "strategy", "rollingSync", "steps")
	var all []argo.Step
	for i, item := range list.Items {
		s := argo.Step{MaxUpdate: item.TextAt("maxUpdate"), Position: set.at("spec", "strategy", "rollingSync", "steps")}
		if written != nil && i < len(written.Items) {
			s.Position = written.Items[i].Position
		}
		if expressions := item.At("matchExpressions"); expressions != nil {
			for _, e := range expressions.Items {
				expression := argo.Expression{Key: e.TextAt("key"), Operator: e.TextAt("operator")}
				if values := e.At("values"); values != nil {
					for _, v := range values.Items {
						expression.Values = append(expression.Values, v.Text)
					}
				}
				s.MatchExpressions = append(s.MatchExpressions, expression)
			}
		}
		all = append(all, s)
	}
	return all
}

// stepOf is the step that matches labels, from 1. An Application that several
// steps match is in none.
func stepOf(steps []argo.Step, labels map[string]string) int {
	found := 0
	for i, s := range steps {
		if !s.Matches(labels) {
			continue
		}
		if found != 0 {
			return 0
		}
		found = i + 1
	}
	return found
}

// phaseLabel is the label by which RollingSync steps know phases.
const phaseLabel = "rollout-phase"

// phaseOf is the phase of a generated Application whose set orders by the label
// of phases alone.
func phaseOf(d document) model.Phase {
	if d.generated == nil {
		return model.NoPhase
	}
	all := steps(d.generated.set)
	if len(all) == 0 {
		return model.NoPhase
	}
	for _, s := range all {
		for _, e := range s.MatchExpressions {
			if e.Key != phaseLabel {
				return model.NoPhase
			}
			for _, v := range e.Values {
				if _, err := strconv.ParseUint(v, 10, 16); err != nil {
					return model.NoPhase
				}
			}
		}
	}
	phase, err := model.ParsePhase(labels(d)[phaseLabel])
	if err != nil {
		return model.NoPhase
	}
	return phase
}

// parameter is the text of a parameter of a generated Application, by its
// flattened name.
func (g *generated) parameter(name string) string {
	if g == nil {
		return ""
	}
	switch v := g.parameters[name].(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any, []any:
		return ""
	default:
		return fmt.Sprint(v)
	}
}
