package lint

import (
	"strings"
	"testing"
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
