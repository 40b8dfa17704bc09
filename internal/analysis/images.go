package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/analysis/infer"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// images are the images of an object that say too little or cannot be read. Texts
// that something else replaces are left out: variables, build references of ko, and
// "auto", for which Istio puts its proxy.
func (r *Result) images(c model.Component, o manifest.Object) []lint.Image {
	// Values that are not known may name another image.
	incomplete := slices.ContainsFunc(c.Sources, func(s model.Source) bool { return s.Kind == model.Chart && s.Incomplete != "" })
	var out []lint.Image
	for _, image := range append(infer.Images(o), infer.OperatorImages(o)...) {
		text := image.Reference
		if text == "auto" || strings.ContainsAny(text, "${}<>%") || strings.HasPrefix(text, "ko://") || text != "" && strings.ToUpper(text) == text {
			continue
		}
		form, ok := manifest.ImageForm(text)
		if text == "" {
			if !slices.Contains([]string{"", "apps", "batch"}, o.GroupVersionKind().Group) {
				continue // the API server does not look into others, and OpenShift fills them in
			}
			form = lint.ImageEmpty
		}
		if ok || incomplete && form != lint.ImageMalformed {
			continue
		}
		at := r.fieldAt(o.Origin.Position(), image.Field)
		if _, partial := r.Partial[c.Name]; partial && strings.Contains(r.line(at), "{{") && lacksValue(text, form) {
			continue // the template was rendered without a dependency of its chart, of which it may read a value
		}
		out = append(out, lint.Image{Reference: text, Form: form, Position: at, Field: image.Field, Evidence: r.imageValues(c, text, at)})
	}
	return out
}

// smokeImage finds the image of ladder.yaml that is to run the checks of smokes, where generate
// refuses it: it writes Jobs of it for components that have checks.
func (r *Result) smokeImage() []finding.Finding {
	image := r.Platform.ArgoCD.SmokeImage
	form, ok := manifest.ImageForm(image)
	if image == "" || ok || !slices.ContainsFunc(r.Platform.Components, func(c model.Component) bool { return c.Enabled && len(c.Smoke) > 0 }) {
		return nil
	}
	why := "has no tag of its own, so that it means another one tomorrow"
	if form == lint.ImageMalformed {
		why = "is no image reference"
	}
	return []finding.Finding{{
		Rule: lint.RuleImage, Severity: finding.Warning, Scope: finding.Rule, Basis: finding.Declared, Position: r.Platform.ArgoCD.At("smoke.image"),
		Message: fmt.Sprintf("the image of smokes %q %s: generate refuses it", image, why),
		Fix:     finding.Fix{Summary: "write a tag of its own, or a digest"},
	}}
}

// lacksValue reports whether an image may be what it is for lack of a value: it has an empty part,
// or no tag of its own.
func lacksValue(image string, form lint.ImageForm) bool {
	parts := strings.Split(strings.NewReplacer(":", "/", "@", "/").Replace(image), "/")
	return form != lint.ImageMalformed || slices.Contains(parts, "")
}
