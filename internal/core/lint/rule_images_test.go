package lint

import (
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// TestShownImages: a reference that cannot be read is quoted, so that its spaces and
// control characters are seen, and none fills the page.
func TestShownImages(t *testing.T) {
	for name, test := range map[string]struct {
		image Image
		want  string
	}{
		"read":              {Image{Reference: "nginx:latest", Form: ImageLatest}, `runs nginx:latest:`},
		"a space":           {Image{Reference: "nginx:1.29 ", Form: ImageMalformed}, `runs "nginx:1.29 ", which is`},
		"a line of its own": {Image{Reference: "a\nerror: b\x1b[31m", Form: ImageMalformed}, `runs "a\nerror: b\x1b[31m", which is`},
		"endless":           {Image{Reference: strings.Repeat("a", 1<<20), Form: ImageMalformed}, `runs "` + strings.Repeat("a", longest) + `...", which is`},
	} {
		found := imageReference(Input{Objects: []Object{{Component: "c", Images: []Image{test.image}}}})
		if len(found) != 1 || !strings.Contains(found[0].Message, test.want) {
			t.Errorf("%s: got %v, want %s", name, found, test.want)
		}
	}
}

// TestImagesHaveTheirPlaces: the message begins with the image whose place the finding has, and every
// image of several is in the evidence with a place of its own.
func TestImagesHaveTheirPlaces(t *testing.T) {
	var images []Image
	for i, text := range []string{"z:1:1", "B", "a:1:1", "C", "B"} {
		images = append(images, Image{Reference: text, Form: ImageMalformed, Position: finding.Position{File: "a.yaml", Line: i + 1}, Field: "spec.containers[0].image"})
	}
	found := imageReference(Input{Objects: []Object{{Component: "c", Images: images}}})
	if len(found) != 1 || found[0].Message != `c runs "z:1:1", "B", "a:1:1" and 1 more, which are no image references: the kubelet refuses them (InvalidImageName)` {
		t.Fatalf("got %v", found)
	}
	if found[0].Position.Line != 1 || len(found[0].Evidence) != len(images) {
		t.Fatalf("place %v, evidence %v", found[0].Position, found[0].Evidence)
	}
	for i, e := range found[0].Evidence {
		if e.File != "a.yaml" || e.Line != i+1 || e.Field == "" || e.Text != "runs "+images[i].shown() {
			t.Errorf("evidence %d: %+v", i, e)
		}
	}
	found = imageReference(Input{Objects: []Object{{Component: "c", Images: []Image{{Form: ImageEmpty}}}}})
	if len(found) != 1 || found[0].Severity != finding.Error || found[0].Message != "c runs an empty image: the API server refuses it" {
		t.Errorf("an empty image: %v", found)
	}
}
