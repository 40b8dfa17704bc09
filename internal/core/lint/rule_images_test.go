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
		"read":              {Image{"nginx:latest", ImageLatest}, `runs nginx:latest:`},
		"a space":           {Image{"nginx:1.29 ", ImageMalformed}, `runs "nginx:1.29 ", which is`},
		"a line of its own": {Image{"a\nerror: b\x1b[31m", ImageMalformed}, `runs "a\nerror: b\x1b[31m", which is`},
		"endless":           {Image{strings.Repeat("a", 1<<20), ImageMalformed}, `runs "` + strings.Repeat("a", longest) + `...", which is`},
	} {
		found := imageReference(Input{Objects: []Object{{Component: "c", Images: []Image{test.image}}}})
		if len(found) != 1 || !strings.Contains(found[0].Message, test.want) {
			t.Errorf("%s: got %v, want %s", name, found, test.want)
		}
	}
}
