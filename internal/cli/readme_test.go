package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/cli/stream"
)

// console finds the blocks of commands of the README, comment the remark behind a command.
var (
	console = regexp.MustCompile("(?s)\n```console\n(.*?)```")
	comment = regexp.MustCompile(`\s+# .*$`)
)

// readers are the commands that need nothing but a repository. Of the others, which need
// a plane or a cluster, the arguments are read.
var readers = []string{"lint", "explain", "plan", "inventory"}

// TestReadme runs the commands of the README, in the repository of this project where they
// name an example, else in the example that is wrong, which stands in for the reader's own.
// Output that the README shows has to be what the command writes; "..." stands for any lines.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "own")
	if err := os.CopyFS(own, os.DirFS(filepath.Join(root, "examples", "wrong-order"))); err != nil {
		t.Fatal(err)
	}
	run, compared := 0, 0
	for _, block := range console.FindAllStringSubmatch(string(text), -1) {
		for _, c := range commandsOf(block[1]) {
			args := wordsOf(c.line)
			for strings.Contains(args[0], "=") {
				args = args[1:]
			}
			switch {
			case args[0] == "go" && slices.Contains(args, "./cmd/ladder") && args[1] == "run":
				args = args[slices.Index(args, "./cmd/ladder")+1:]
			case args[0] == "ladder":
				args = args[1:]
			case args[0] == "go" && args[1] == "install":
				checkInstalled(t, root, args)
				continue
			case args[0] == "go" || args[0] == "export":
				continue
			default:
				t.Errorf("nobody knows how to run: %s", c.line)
				continue
			}
			checkArguments(t, args)
			if !slices.Contains(readers, args[0]) {
				continue
			}
			at, most := own, 1 // of an order that is wrong the answer may be no
			if strings.Contains(c.line, "examples/") {
				at, most = root, 0
			}
			t.Chdir(at)
			var out, problems bytes.Buffer
			code := Main("ladder", args, "test", &stream.Streams{In: strings.NewReader(""), Out: &out, Err: &problems, Getenv: func(string) string { return "" }})
			if code > most {
				t.Errorf("%s: exit code %d\n%s%s", c.line, code, out.String(), problems.String())
			}
			run++
			if len(c.output) == 0 {
				continue
			}
			compared++
			if !shows(c.output, strings.Split(strings.TrimRight(out.String(), "\n"), "\n")) {
				t.Errorf("%s: the README shows\n%s\nand it writes\n%s", c.line, strings.Join(c.output, "\n"), out.String())
			}
		}
	}
	if run < 8 || compared == 0 {
		t.Errorf("%d commands ran, the output of %d was compared", run, compared)
	}
}

// shown is a command with the output that is shown.
type shown struct {
	line   string
	output []string
}

// commandsOf are those of a block: with a prompt and what each writes, or without.
func commandsOf(block string) []shown {
	var all []shown
	prompts := strings.HasPrefix(block, "$ ")
	for _, line := range strings.Split(strings.TrimRight(block, "\n"), "\n") {
		command, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case prompted || !prompts:
			all = append(all, shown{line: comment.ReplaceAllString(command, "")})
		default:
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

// wordsOf are the arguments of a command as a shell reads them, and names for what the
// reader fills in.
func wordsOf(line string) []string {
	var words []string
	for _, word := range strings.Fields(line) {
		word = strings.Trim(word, `"'`)
		words = append(words, strings.NewReplacer("NAME", "default", "CLUSTER", "cluster").Replace(word))
	}
	return words
}

// checkArguments wants a command to be there, and to take its arguments.
func checkArguments(t *testing.T, args []string) {
	t.Helper()
	root := NewRoot("ladder", "test", &stream.Streams{Getenv: func(string) string { return "" }})
	cmd, rest, err := root.Find(args)
	if err == nil && cmd != root {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil || cmd == root {
		t.Errorf("ladder %s: %v", strings.Join(args, " "), err)
	}
}

// checkInstalled wants what is installed to be the command of this module, which has
// nothing that "go install" refuses in the module of another one.
func checkInstalled(t *testing.T, root string, args []string) {
	t.Helper()
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(module)
	if want := string(name[1]) + "/cmd/ladder@latest"; args[len(args)-1] != want {
		t.Errorf("%s is installed, want %s", args[len(args)-1], want)
	}
	if regexp.MustCompile(`(?m)^(replace|exclude)\b`).Match(module) {
		t.Error("go install takes no module whose go.mod replaces others")
	}
}

// shows reports whether lines are those that are shown, with any in place of "...".
func shows(shown, lines []string) bool {
	if len(shown) == 0 {
		return len(lines) == 0
	}
	if strings.TrimSpace(shown[0]) == "..." {
		for i := range len(lines) + 1 {
			if shows(shown[1:], lines[i:]) {
				return true
			}
		}
		return false
	}
	return len(lines) > 0 && strings.TrimRight(lines[0], " ") == shown[0] && shows(shown[1:], lines[1:])
}
