package byhand

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// programs are the ends of files of programs and of tools that set up clusters.
var programs = []string{".bash", ".fish", ".go", ".hcl", ".j2", ".js", ".just", ".mk", ".nix", ".nu", ".ps1", ".py", ".rb", ".sh", ".tf", ".tftpl", ".ts", ".zsh"}

var (
	// objectWord matches what may be the name of an object.
	objectWord = lazyregexp.New(`[A-Za-z0-9][A-Za-z0-9.-]*`)
	// composedName matches the beginning of a name that goes on with a variable of a shell.
	composedName = lazyregexp.New(`([A-Za-z0-9][A-Za-z0-9.-]*-)["']?\$\{?[A-Za-z_]`)
	// ofClient matches the name of a client of Kubernetes.
	ofClient = lazyregexp.New(`\b(?:kubectl|oc)\s`)
)

// maxComposed bounds how many beginnings of names are compared with all names.
const maxComposed = 1000

// Mentions finds where programs, and comments of manifests and the scripts in them, first say
// each of some names of objects that no manifest makes: there one is made, or people are told
// to make it. A script may say the beginning of a name, and have the rest in a variable.
func Mentions(ctx context.Context, tree *repofs.Tree, names map[string]bool) map[string]finding.Position {
	ends := func(file string, all ...string) bool { return slices.Contains(all, strings.ToLower(path.Ext(file))) }
	found, _ := tree.Find(ctx, ".", func(file string) bool {
		return ends(file, ".yaml", ".yml") || ends(file, programs...) || isScript(file)
	})
	said, composed := map[string]finding.Position{}, map[string]finding.Position{}
	for _, file := range found {
		if ctx.Err() != nil || repofs.IsFixture(file) {
			continue
		}
		data, err := tree.Read(file)
		if err != nil {
			continue
		}
		if ends(file, ".yaml", ".yml") && !isScript(path.Base(file)) {
			data = spoken(data)
		}
		for i, line := range strings.Split(string(data), "\n") {
			at := finding.Position{File: file, Line: i + 1}
			for _, word := range objectWord.FindAllString(line, -1) {
				word = strings.TrimRight(word, ".-")
				if len(word) < minWritten || !strings.ContainsAny(word, "-.") {
					continue // a program says such words of other things
				}
				if _, known := said[word]; names[word] && !known {
					said[word] = at
				}
			}
			for _, m := range composedName.FindAllStringSubmatch(line, -1) {
				if _, known := composed[m[1]]; !known && len(m[1]) >= minWritten && len(composed) < maxComposed {
					composed[m[1]] = at
				}
			}
		}
	}
	for name := range names {
		for beginning, at := range composed {
			if have, known := said[name]; strings.HasPrefix(name, beginning) && (!known || at.Compare(have) < 0) {
				said[name] = at
			}
		}
	}
	return said
}

// spoken are the comments of a manifest and the lines of its texts, where these name a client
// of Kubernetes; the other lines are empty.
func spoken(manifest []byte) []byte {
	said := bytes.Split(comments(manifest), []byte("\n"))
	if !ofClient.Match(manifest) {
		return bytes.Join(said, []byte("\n"))
	}
	inside := -1 // the indentation of what has the text
	for i, line := range strings.Split(string(manifest), "\n") {
		indentation := len(line) - len(strings.TrimLeft(line, " "))
		switch trimmed := strings.TrimRight(line, " \t\r"); {
		case trimmed == "" || inside >= 0 && indentation > inside:
			said[i] = []byte(line)
		case opens.MatchString(trimmed):
			inside = indentation
		default:
			inside = -1
		}
	}
	return bytes.Join(said, []byte("\n"))
}
