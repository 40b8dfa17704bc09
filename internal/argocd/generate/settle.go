package generate

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/lint"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// Settle fills in what neither the caller nor the ladder file says of the
// repository: first from the root Application that was generated before (the
// content of RootFile, nil for none), so that every clone and branch generates
// the same, then from the checkout. It returns what came from the checkout, as
// lines of ladder.yaml.
func (in *Input) Settle(root []byte, here checkout.Checkout) (assumed []string) {
	a, before := in.Platform.ArgoCD, sourceOf(root)
	if in.RepoURL = cmp.Or(in.RepoURL, a.RepoURL, before.RepoURL); in.RepoURL == "" && here.URL != "" {
		in.RepoURL = here.URL
		assumed = append(assumed, "argocd.repoURL: "+here.URL)
	}
	if in.Revision = cmp.Or(in.Revision, a.TargetRevision, before.TargetRevision); in.Revision == "" && here.Branch != "" {
		in.Revision = here.Branch
		assumed = append(assumed, "argocd.targetRevision: "+here.Branch)
	}
	return assumed
}

// sourceOf is the source of a root Application that was generated, with its
// project before it or, formerly, alone.
func sourceOf(root []byte) Source {
	if !Marked(root) {
		return Source{}
	}
	for _, document := range bytes.Split(root, []byte("\n---\n")) {
		var app Application
		if manifest.Unmarshal(document, &app) == nil && app.Kind == kindApplication && app.Spec.Source != nil {
			return *app.Spec.Source
		}
	}
	return Source{}
}

var released = lazyregexp.New(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// Image is the one that runs the checks of smokes where the ladder file names
// none: that of a released version of Ladder. For other builds, of which nobody
// publishes one, it is empty.
func Image(version string) string {
	if !released.MatchString(version) {
		return ""
	}
	return "ghcr.io/rollout-ladder/ladder:" + strings.TrimPrefix(version, "v")
}

// CheckImage refuses an image that cannot be read, and one that means another one
// tomorrow.
func CheckImage(image string) error {
	switch form, ok := manifest.ImageForm(image); {
	case ok:
		return nil
	case form == lint.ImageMalformed:
		return fmt.Errorf("%q is no image", image)
	default:
		return fmt.Errorf("the image %s has no tag of its own, so that it means another one tomorrow", image)
	}
}
