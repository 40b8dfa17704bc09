package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

const ruleImage = "image-reference"

// ImageForm is what is wrong with the reference of an image.
type ImageForm int

// The forms of references that are told.
const (
	// ImageMalformed is refused by the kubelet: InvalidImageName.
	ImageMalformed ImageForm = iota + 1
	// ImageWithoutTag means the tag "latest", which is not written.
	ImageWithoutTag
	ImageLatest
)

// Image is an image that an object names, with a reference that is told.
type Image struct {
	Reference string
	Form      ImageForm
	// Position is where the image is written, as near as it is known; Evidence are the
	// values that a template makes it of.
	Position finding.Position
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
// another image tomorrow: one finding for each component and form.
func imageReference(in Input) []finding.Finding {
	type key struct {
		component string
		form      ImageForm
	}
	type first struct {
		resource finding.Resource
		image    Image
	}
	firsts, named := map[key]first{}, map[key][]string{}
	for _, o := range in.Objects {
		for _, image := range o.Images {
			k := key{o.Component, image.Form}
			if _, ok := firsts[k]; !ok {
				firsts[k] = first{o.Resource, image}
			}
			named[k] = append(named[k], image.shown())
		}
	}
	var out []finding.Finding
	for k, o := range firsts {
		// The first is the one whose position is told.
		slices.Sort(named[k][1:])
		others := slices.DeleteFunc(slices.Compact(named[k][1:]), func(name string) bool { return name == named[k][0] })
		images := some(append(named[k][:1:1], others...))
		f := finding.Finding{
			Rule: ruleImage, Severity: finding.Info, Scope: finding.Rule, Component: k.component, Resource: o.resource,
			Position: o.image.Position, Evidence: o.image.Evidence, Basis: finding.Rendered,
			Fix: finding.Fix{Summary: "name a version, or a digest: registry.example.com/app:1.2.3"},
		}
		switch k.form {
		case ImageMalformed:
			f.Severity = finding.Warning
			f.Message = fmt.Sprintf("%s runs %s, which is no image reference: the kubelet refuses it (InvalidImageName)", k.component, images)
			f.Fix.Summary = "write registry/repository:tag or registry/repository@sha256:<64 hexadecimal digits>, in lower case"
		case ImageWithoutTag:
			f.Message = fmt.Sprintf("%s runs %s without a tag, which means latest: what is rolled out changes without a commit", k.component, images)
		case ImageLatest:
			f.Message = fmt.Sprintf("%s runs %s: what is rolled out changes without a commit", k.component, images)
		}
		out = append(out, f)
	}
	return out
}
