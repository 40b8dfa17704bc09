package manifest

import (
	"github.com/distribution/reference"

	"github.com/rollout-ladder/ladder/internal/core/lint"
)

// ImageForm says what is wrong with a reference; ok is true where nothing is.
func ImageForm(text string) (form lint.ImageForm, ok bool) {
	named, err := reference.ParseNormalizedNamed(text)
	if err != nil {
		return lint.ImageMalformed, false
	}
	if _, digested := named.(reference.Digested); digested {
		return 0, true
	}
	switch tagged, is := named.(reference.Tagged); {
	case !is:
		return lint.ImageWithoutTag, false
	case tagged.Tag() == "latest":
		return lint.ImageLatest, false
	default:
		return 0, true
	}
}
