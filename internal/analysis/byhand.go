package analysis

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/byhand"
	"github.com/rollout-ladder/ladder/internal/repo/helmfile"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// namesOf are the names of CRDs and Namespaces, and of webhooks as ofWebhook has them.
func namesOf(answer catalogue.Answer) []string {
	var names []string
	for _, crd := range answer.CRDs {
		names = append(names, crd.Plural+"."+crd.Group)
	}
	for _, hook := range answer.Known.Webhooks {
		names = append(names, ofWebhook(hook.Name), ofWebhook(hook.Configuration))
	}
	for _, object := range answer.Known.Objects {
		if object.Kind == "Namespace" {
			names = append(names, object.Name)
		}
	}
	return names
}

// ofWebhook tells the name of a webhook, or of the object that configures it, from that of
// a Namespace.
func ofWebhook(name string) string { return "webhook " + name }

// madeAs is the name of an object among what commands make.
func madeAs(r finding.Resource) string {
	switch {
	case r.Group == "admissionregistration.k8s.io":
		return ofWebhook(r.Name)
	case r.Kind == "" || r.Kind == "Namespace" || r.Kind == "CustomResourceDefinition":
		return r.Name
	}
	return r.Kind + " " + r.Name // what only objects are
}

// ofEnvironment matches a file in the folder of an environment: the folder of all of them,
// and the name of the one.
var ofEnvironment = lazyregexp.New(`^((?:.*/)?(?:clusters?|overlays?|environments?|envs?|stages?))/([^/]+)/`)

// concerns reports whether a command in a file is about an environment. What lies in the
// folder of another one beside it is about that.
func concerns(tree *repofs.Tree, file, environment string) bool {
	m := ofEnvironment.FindStringSubmatch(file)
	return m == nil || m[2] == environment || !tree.IsDir(path.Join(m[1], environment))
}

// byHand answers which command in the repository applies a CRD or a webhook, as far as the
// catalogue knows what the addresses and charts hold, or creates a Namespace, in the clusters of an
// environment. Files are read when it is first asked, once for all environments.
func (r *run) byHand(ctx context.Context, tree *repofs.Tree, k *knowledge, environment string) func(finding.Resource) (finding.Evidence, bool) {
	known := r.handed(ctx, tree, k)
	return func(made finding.Resource) (finding.Evidence, bool) {
		for _, evidence := range known().byName[madeAs(made)] { // a CRD has dots in its name, a Namespace none
			if concerns(tree, evidence.File, environment) {
				return evidence, true
			}
		}
		return finding.Evidence{}, false
	}
}

// createdByHand answers which command or text creates an object by hand, as byHand does.
// Of Secrets, which others seldom are, a mention says enough; secrets are the names of those that are
// asked for.
func (r *run) createdByHand(ctx context.Context, tree *repofs.Tree, k *knowledge, p *repo.Platform, secrets func() map[string]bool) func(finding.Resource) (finding.Evidence, bool) {
	known := r.handed(ctx, tree, k)
	mentions := sync.OnceValue(func() map[string]finding.Position { return byhand.Mentions(ctx, tree, secrets()) })
	ignored := sync.OnceValues(func() (finding.Position, bool) { return byhand.Ignored(ctx, tree) })
	return func(object finding.Resource) (finding.Evidence, bool) {
		if p.Applied != nil && p.Applied.Program.File != "" {
			at := p.Applied.Program
			return finding.Evidence{Text: "what the program applies besides is not read", File: at.File, Line: at.Line}, true
		}
		environment, like := p.Environment, known().objects.Like(object.Kind, object.Name)
		for _, one := range like {
			if one.Matches(object.Kind, object.Namespace, object.Name) && concerns(tree, one.Position.File, environment) {
				return finding.Evidence{Text: object.Kind + " " + object.Name + " is created by hand", File: one.Position.File, Line: one.Position.Line}, true
			}
		}
		if object.Kind != "Secret" || len(like) > 0 { // one of another namespace is mentioned for that
			return finding.Evidence{}, false
		}
		if at, ok := mentions()[object.Name]; ok && concerns(tree, at.File, environment) {
			return finding.Evidence{Text: "Secret " + object.Name + " is mentioned", File: at.File, Line: at.Line}, true
		}
		at, ok := ignored()
		return finding.Evidence{Text: "manifests of Secrets are kept out of Git", File: at.File, Line: at.Line}, ok
	}
}

// handedOver is what people make by hand: by its name as madeAs has it, and objects.
type handedOver struct {
	byName  map[string][]finding.Evidence
	objects byhand.Objects
}

// handed are the commands by the names of what they make.
func (r *run) handed(ctx context.Context, tree *repofs.Tree, k *knowledge) func() handedOver {
	charts := k.catalogue
	if told := r.told[charts]; told != nil {
		return told
	}
	r.told[charts] = sync.OnceValue(func() handedOver {
		told := map[string][]finding.Evidence{}
		all := byhand.Find(ctx, tree)
		note := func(evidence finding.Evidence, names []string) {
			for _, name := range names {
				told[name] = append(told[name], evidence)
			}
		}
		for _, one := range all.Instructions {
			shown, _, _ := strings.Cut(cmp.Or(one.Shown, one.Address), "?") // a query may hold a token
			how := " is applied by hand"
			if one.Comes {
				how = " comes with the cluster"
			}
			evidence := finding.Evidence{Text: finding.Redact(shown) + how, File: one.Position.File, Line: one.Position.Line}
			var names []string
			if group, plural, ok := catalogue.OfFile(path.Base(one.Address)); ok {
				names = append(names, plural+"."+group)
			} else if answer, ok := charts.Find(catalogue.Asked{Source: model.Source{Kind: model.Manifests, RepoURL: one.Address}}); ok {
				evidence.Text += ", the CRDs of " + answer.Entry.Chart
				names = namesOf(answer)
			}
			note(evidence, names)
		}
		installed := func(chart, release string, at finding.Position, src model.Source, namespace string) {
			names := []string{lint.ChartByHand(src.RepoURL, chart, release, namespace).Name}
			if answer, ok := k.find(src, release, namespace); ok {
				names = append(names, namesOf(answer)...)
			}
			note(finding.Evidence{Text: "the chart " + chart + " is installed by hand", File: at.File, Line: at.Line}, names)
		}
		for _, one := range all.Releases {
			installed(one.Chart, one.Name, one.Position, one.Source(), one.Namespace)
		}
		ofHelmfile := func(one *helmfile.Release) {
			installed(one.ChartName, one.Name, one.Position, one.Source(), one.Namespace)
			if one.CreateNamespace && one.Namespace != "" {
				note(finding.Evidence{Text: "Namespace " + one.Namespace + " is created by hand", File: one.Position.File, Line: one.Position.Line}, []string{one.Namespace})
			}
		}
		beforeArgo(r.helmfiles, ofHelmfile)
		installedByHand(ctx, tree, all.Helmfiles, ofHelmfile)
		for _, one := range all.Files {
			if one.Through == one.Address {
				note(finding.Evidence{Text: finding.Plain(one.Address) + " is applied by hand", File: one.Position.File, Line: one.Position.Line}, []string{lint.NamedByHand(one.Address).Name})
			}
		}
		for _, one := range all.Folders {
			note(finding.Evidence{Text: finding.Plain(one.Address) + " is installed by hand", File: one.Position.File, Line: one.Position.Line}, []string{lint.FolderByHand(one.Address).Name})
		}
		for _, one := range slices.Concat(all.Files, all.Shown) {
			note(finding.Evidence{Text: finding.Plain(one.Address) + " is applied by hand", File: one.Position.File, Line: one.Position.Line}, []string{lint.FileByHand(one.Address).Name})
		}
		for _, one := range all.Namespaces {
			how := " is created by hand"
			if one.File != "" {
				how = " of " + one.File + " is applied by hand"
			}
			note(finding.Evidence{Text: "Namespace " + one.Name + how, File: one.Position.File, Line: one.Position.Line}, []string{one.Name})
		}
		return handedOver{told, byhand.NewObjects(all.Objects)}
	})
	return r.told[charts]
}

// commandsLeft tells of the scripts and documents that were left out where commands were asked for.
func (r *Result) commandsLeft() []finding.Finding {
	left := byhand.Left(r.tree)
	if len(left) == 0 {
		return nil
	}
	at := finding.Position{File: left[0], Line: 1}
	reason := fmt.Sprintf("the repository has more of them than are followed, so what %s apply by hand is not known, whole or in part", finding.Count(len(left), "file"))
	return []finding.Finding{{
		Rule: argocd.RuleNotRead, Severity: finding.Info, Scope: finding.Rule, Position: at, Basis: finding.Declared,
		Message: "commands of scripts and documents are followed up to this file: " + reason,
		Unread:  []finding.Unread{{Position: at, Reason: reason, Part: true}},
	}}
}
