package operators

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed data/*.yaml
var data embed.FS

// file is a file as it is written. Its facts are decoded when a kind of one of its groups is asked for: all of
// them take 5 ms, and lint of examples/zerotouch with a warm cache 1.04 x what it takes so.
type file struct {
	name, text, rules string

	facts  func() File
	owners func() map[string]bool
}

// written are the files, by name, and by the groups of their kinds.
type written struct {
	all     []*file
	byGroup map[string][]*file
}

var files = sync.OnceValue(func() written {
	w := written{byGroup: map[string][]*file{}}
	entries, err := data.ReadDir("data")
	if err != nil {
		return w // an embedded folder that is not there is empty
	}
	for _, e := range entries {
		text, err := data.ReadFile(path.Join("data", e.Name()))
		if err != nil {
			continue // it was listed just now
		}
		f := open(e.Name(), string(text))
		w.all = append(w.all, f)
		for _, group := range groups(f.text) {
			w.byGroup[group] = append(w.byGroup[group], f)
		}
	}
	return w
})

// rulesDocument begins a document of simulation rules.
const rulesDocument = "apiVersion: "

func open(name, text string) *file {
	f := &file{name: name}
	if before, after, both := strings.Cut(text, "\n---\n"); both {
		f.text, f.rules = before, after
	} else if strings.HasPrefix(text, rulesDocument) || strings.Contains(text, "\n"+rulesDocument) {
		f.rules = text
	} else {
		f.text = text
	}
	f.facts = sync.OnceValue(func() File {
		facts, err := decode(f.text)
		if err != nil {
			panic(fmt.Sprintf("operators: %s: %v", name, err)) // a test decodes every file
		}
		return facts
	})
	f.owners = sync.OnceValue(func() map[string]bool {
		owners := map[string]bool{}
		for _, kind := range f.facts().Kinds {
			for _, owner := range kind.Belongs {
				owners[owner.To] = true
			}
		}
		return owners
	})
	return f
}

func decode(text string) (facts File, err error) {
	err = yaml.UnmarshalStrict([]byte(text), &facts)
	return facts, err
}

// groups are those of the kinds in a text, each once.
func groups(text string) []string {
	var all []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		key, isKey := strings.CutPrefix(line, "  ")
		group, _, hasKind := strings.Cut(strings.TrimPrefix(key, `"`), "/")
		if isKey && hasKind && !strings.ContainsAny(group, " #{") && !seen[group] {
			seen[group] = true
			all = append(all, group)
		}
	}
	return all
}

// controllers are decoded without the rest of their files.
var controllers = sync.OnceValue(func() []Controller {
	const section = "controllers:\n"
	var text strings.Builder
	text.WriteString(section)
	for _, f := range files().all {
		if _, after, ok := strings.Cut(f.text, section); ok {
			before, _, _ := strings.Cut(after, "\nkinds:")
			text.WriteString(strings.TrimSuffix(before, "\n") + "\n")
		}
	}
	facts, err := decode(text.String())
	if err != nil {
		panic("operators: controllers: " + err.Error()) // a test decodes them
	}
	return facts.Controllers
})
