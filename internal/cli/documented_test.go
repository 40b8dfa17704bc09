package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// documented finds the commands in the examples of a page.
var documented = regexp.MustCompile(`(?m)(?:^|&& |; |run: )ladder ([^#;&\n]+)`)

// TestDocumentedCommands: every command that the pages about comparing and
// verifying show exists, with its flags.
func TestDocumentedCommands(t *testing.T) {
	for _, page := range []string{"diff", "history", "orphans", "verification"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
		if err != nil {
			t.Fatal(err)
		}
		commands := 0
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 {
				continue // prose
			}
			for _, m := range documented.FindAllStringSubmatch(block, -1) {
				commands++
				root := NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }})
				args := strings.Fields(strings.ReplaceAll(m[1], "${{ github.base_ref }}", "main"))
				cmd, rest, err := root.Find(args)
				if err == nil && cmd == root {
					t.Errorf("docs/%s.md: ladder %s: there is no such command", page, m[1])
					continue
				}
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil && cmd.Args != nil {
					err = cmd.Args(cmd, cmd.Flags().Args())
				}
				if err != nil {
					t.Errorf("docs/%s.md: ladder %s: %v", page, m[1], err)
				}
			}
		}
		if commands == 0 {
			t.Errorf("docs/%s.md shows no command", page)
		}
	}
}

// TestSeedsNameWhatIsThere: the commands and rules that the table of the design
// documents names exist.
func TestSeedsNameWhatIsThere(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "seeds.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile("`ladder ([^`]+)`").FindAllStringSubmatch(string(text), -1)
	for _, m := range commands {
		root := NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }})
		cmd, rest, err := root.Find(strings.Fields(m[1]))
		if err == nil && cmd != root {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd == root {
			t.Errorf("docs/seeds.md: ladder %s: %v", m[1], err)
		}
	}
	rules := regexp.MustCompile("rules? (?:`[a-z-]+`(?:, | and )?)+").FindAllString(string(text), -1)
	for _, list := range rules {
		for _, m := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(list, -1) {
			if _, err := os.Stat(filepath.Join(docs, "rules", m[1]+".md")); err != nil {
				t.Errorf("docs/seeds.md: there is no rule %s", m[1])
			}
		}
	}
	if len(commands) < 50 || len(rules) < 30 {
		t.Errorf("docs/seeds.md names %d commands and %d lists of rules", len(commands), len(rules))
	}
}
