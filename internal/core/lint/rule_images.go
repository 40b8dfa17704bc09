package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// RuleImage tells images that cannot be read, and those that mean another one tomorrow.
const RuleImage = "image-reference"

// ImageForm is what is wrong with the reference of an image.
type ImageForm int

// The forms of references that are told.
const (
	// ImageMalformed is refused by the kubelet: InvalidImageName.
	ImageMalformed ImageForm = iota + 1
	// ImageWithoutTag means the tag "latest", which is not written.
	ImageWithoutTag
	ImageLatest
	// ImageEmpty is refused by the API server.
	ImageEmpty
)

// Image is an image that an object names, with a reference that is told.
type Image struct {
	Reference string
	Form      ImageForm
	// Position is where the image is written, as near as it is known, and Field the field of
	// the object; Evidence are the values that a template makes it of.
	Position finding.Position
	Field    string
	Evidence []finding.Evidence
}

// longest is how many bytes of a reference are shown. A registry takes no name of more
// than 255, nor a tag of more than 128.
const longest = 400

// shown is the reference as messages have it: quoted where it cannot be read, since one
// sees no space at its end otherwise.
func (i Image) shown() string {
	text := i.Reference
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "..."
	}
	if i.Form == ImageMalformed {
		return strconv.Quote(text)
	}
	return text
}

// imageReference finds images whose name cannot be read, and those whose name means
// another image tomorrow: one finding for each component and form. The evidence has the
// place of each image where there are several.
func imageReference(in Input) []finding.Finding {
	type key struct {
		component string
		form      ImageForm
	}
	type named struct {
		resource finding.Resource
		image    Image
	}
	all := map[key][]named{}
	for _, o := range in.Objects {
		for _, image := range o.Images {
			k := key{o.Component, image.Form}
			all[k] = append(all[k], named{o.Resource, image})
		}
	}
	var out []finding.Finding
	for k, images := range all {
		var names []string
		var evidence []finding.Evidence
		for _, n := range images {
			if name := n.image.shown(); !slices.Contains(names, name) {
				names = append(names, name)
			}
			if len(images) > 1 {
				at := finding.Evidence{Text: "runs " + n.image.shown(), File: n.image.Position.File, Line: n.image.Position.Line, Object: n.resource.String(), Field: n.image.Field}
				evidence = append(evidence, at)
			}
			evidence = append(evidence, n.image.Evidence...)
		}
		first := images[0] // the names begin with it
		f := finding.Finding{
			Rule: RuleImage, Severity: finding.Info, Scope: finding.Rule, Component: k.component, Resource: first.resource,
			Position: first.image.Position, Evidence: evidence, Basis: finding.Rendered,
			Fix: finding.Fix{Summary: "name a version, or a digest: registry.example.com/app:1.2.3"},
		}
		switch shown := few(names); k.form {
		case ImageEmpty:
			f.Severity = finding.Warning // of a custom resource, the operator may have one of its own
			if slices.ContainsFunc(images, func(n named) bool { return slices.Contains([]string{"", "apps", "batch"}, n.resource.Group) }) {
				f.Severity = finding.Error
			}
			f.Message = k.component + " runs an empty image: the API server refuses it"
		case ImageMalformed:
			f.Severity = finding.Warning
			what := "which is no image reference: the kubelet refuses it (InvalidImageName)"
			if len(names) > 1 {
				what = "which are no image references: the kubelet refuses them (InvalidImageName)"
			}
			f.Message = fmt.Sprintf("%s runs %s, %s", k.component, shown, what)
			f.Fix.Summary = "write registry/repository:tag or registry/repository@sha256:<64 hexadecimal digits>, in lower case"
		case ImageWithoutTag:
			f.Message = fmt.Sprintf("%s runs %s without a tag, which means latest: what is rolled out changes without a commit", k.component, shown)
		case ImageLatest:
			f.Message = fmt.Sprintf("%s runs %s: what is rolled out changes without a commit", k.component, shown)
		}
		out = append(out, f)
	}
	return out
}
