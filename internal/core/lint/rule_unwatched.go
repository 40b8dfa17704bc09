package lint

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/argo"
	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleUnwatched = "application-not-watched"

// applicationUnwatched finds Applications in a namespace that Argo CD does not look
// into: nothing happens to them. Source: Argo CD, operator manual, "Applications in any
// namespace". One speaks for all of its namespace.
func applicationUnwatched(in Input) []finding.Finding {
	s := in.Argo.Settings
	if s.Started.File == "" || len(s.Namespaces) == 0 || s.WatchedUnread != "" {
		return nil
	}
	told := map[string]bool{}
	var out []finding.Finding
	for _, app := range in.Argo.Applications {
		ns := app.Namespace
		if app.Placed.File == "" || told[ns] || slices.Contains(s.Namespaces, ns) || argo.IsCustomary(ns) || watches(s.Watched, ns) || hasOwn(in.Argo.Applications, ns) {
			continue
		}
		told[ns] = true
		f := aboutApplication(app, ruleUnwatched, finding.Warning,
			"%s is an Application in the namespace %s, and Argo CD, which is in %s, does not look for Applications there: nothing applies it",
			app.Name, ns, listed(s.Namespaces))
		f.Position = app.Placed
		f.Evidence = append(f.Evidence, where(s.Started, "application.namespaces of these settings of Argo CD does not have it"))
		f.Fix.Summary = "put it into the namespace of Argo CD, or add " + ns + " to application.namespaces in argocd-cmd-params-cm (sourceNamespaces of the ArgoCD resource)"
		out = append(out, f)
	}
	return out
}

// hasOwn reports whether a namespace seems to have an Argo CD of its own: it is called so, and
// somebody applies an Application there.
func hasOwn(all []argo.Application, namespace string) bool {
	return strings.Contains(namespace, "argo") && slices.ContainsFunc(all, func(a argo.Application) bool {
		return a.Namespace == namespace && a.Parent == "" && a.Set == ""
	})
}

// watches reports whether one of the patterns of application.namespaces matches: globs,
// and regular expressions between slashes. One that is not understood matches.
func watches(patterns []string, namespace string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if text, ok := strings.CutPrefix(pattern, "/"); ok && strings.HasSuffix(text, "/") {
			re, err := regexp.Compile(strings.TrimSuffix(text, "/"))
			return err != nil || re.MatchString(namespace)
		}
		return glob(pattern, namespace)
	})
}
