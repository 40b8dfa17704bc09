package analysis

import (
	"slices"

	"github.com/distribution/reference"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// chartLabel is the value of the label helm.sh/chart. Source: Helm, chart best practices,
// "Labels and Annotations".
var chartLabel = lazyregexp.New(`^(.+?)-(v?\d+\..*)$`)

// bundles are the annotations in which projects write the version that a CRD comes from.
var bundles = []string{"gateway.networking.k8s.io/bundle-version", "operator.prometheus.io/version"}

// versions are those that an object tells of itself, the surest first.
func versions(o manifest.Object) []lint.Version {
	var all []lint.Version
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	if m := chartLabel.FindStringSubmatch(labels["helm.sh/chart"]); m != nil {
		all = append(all, lint.Version{Of: "chart " + m[1], Text: m[2]})
	}
	for _, key := range bundles {
		if v := annotations[key]; v != "" {
			all = append(all, lint.Version{Of: key, Text: v})
		}
	}
	const app = "app.kubernetes.io/version"
	if v := labels[app]; v != "" {
		all = append(all, lint.Version{Of: app, Text: v})
	}
	tags := map[string][]string{}
	var names []string
	for _, image := range infer.Images(o) {
		named, err := reference.ParseNormalizedNamed(image.Reference)
		if err != nil {
			continue
		}
		if tagged, ok := named.(reference.Tagged); ok {
			names = append(names, named.Name())
			tags[named.Name()] = append(tags[named.Name()], tagged.Tag())
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		// Two tags of one image in one object are no version of it.
		if first := tags[name][0]; !slices.ContainsFunc(tags[name], func(tag string) bool { return tag != first }) {
			all = append(all, lint.Version{Of: "image " + name, Text: first})
		}
	}
	return all
}

// hasEarly reports whether something is applied before Argo CD: then there are versions to
// compare.
func hasEarly(all []model.Component) bool {
	return slices.ContainsFunc(all, func(c model.Component) bool { return c.PreArgo && c.Enabled })
}
