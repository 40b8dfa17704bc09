package byhand

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// maxTexts bounds the scripts, documents and comments of a repository that are searched for commands, in
// bytes. The largest that was seen had 6 MB.
const maxTexts = 12 << 20

// text is what a file says that may have commands in it.
type text struct {
	file    string
	rank    int
	content []byte
	// platform is set for a script that names Argo CD or Flux.
	platform bool
	// commands are those of the file in their order.
	commands []command
}

// newText reads the commands of a file.
func newText(file string, content []byte) text {
	return text{file: file, rank: rankOf(file), content: content, commands: speaking(file, content)}
}

// at is where a command stands.
func (t text) at(c command) finding.Position {
	return finding.Position{File: t.file, Line: c.line}
}

// texts are those of a repository, the surest first, and the repositories of charts that
// commands in them add, by their names. What comes with a chart or as the data of tests is
// not about this repository. Files that cannot be read say nothing, and neither do those
// that set up a cluster for trial alone: but where a script of the platform runs one, it is its cluster.
// left are those that are not read, because together they exceed maxTexts.
func texts(ctx context.Context, tree *repofs.Tree) (all []text, repositories map[string]string, left []string) {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return rank(name) < unread || name == "Chart.yaml" })
	charts := map[string]bool{}
	for _, file := range found {
		if path.Base(file) == "Chart.yaml" {
			charts[path.Dir(file)] = true
		}
	}
	found = append(workflows(ctx, tree), slices.DeleteFunc(found, isWorkflow)...)
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(rankOf(a), rankOf(b)) })
	ran, size := map[string]bool{}, 0 // what scripts of the platform run
	for _, file := range found {
		t := text{file: file, rank: rankOf(file)}
		if t.rank == unread || repofs.IsUnused(file) && t.rank == remark || isForeign(file, charts) || ctx.Err() != nil {
			continue
		}
		var err error
		if t.content, err = tree.Read(file); err != nil {
			continue
		}
		if t.platform = t.rank == script && !isWorkflow(file) && platform.Match(t.content); t.platform {
			t.addRuns(ran)
		}
		if !t.speaks() {
			continue
		}
		if t.rank == aside || t.rank == remark {
			t.content = comments(t.content)
		}
		if t.rank != remark && !t.speaks() {
			continue
		}
		if size += len(t.content); size > maxTexts {
			left = append(left, file)
			continue
		}
		all = append(all, t)
	}
	all = slices.DeleteFunc(all, func(t text) bool { return t.isTrial(ran) })
	repositories = map[string]string{}
	surest := map[string]int{} // the rank of the file that an address is from
	for i, t := range all {
		all[i].commands = speaking(t.file, t.content)
		for _, m := range added.FindAllSubmatch(t.content, -1) {
			name := string(m[1])
			if rank, known := surest[name]; !known || rank == t.rank {
				repositories[name], surest[name] = string(m[2]), t.rank
			}
		}
	}
	return all, repositories, left
}

// isTrial reports whether a text is about a cluster for trial alone: it makes one, it is not of the platform,
// and no script of the platform runs it.
func (t text) isTrial(ran map[string]bool) bool {
	if t.platform || !holdsAny(string(t.content), "create", "minikube", "uses:") || !trial.Match(t.content) {
		return false
	}
	return isWorkflow(t.file) || !ran[path.Base(t.file)] && (t.rank == script || !platform.Match(t.content))
}

// addRuns adds the names of the files that the commands of a script run by a path.
func (t text) addRuns(names map[string]bool) {
	for line := range strings.Lines(string(t.content)) {
		command, _, _ := strings.Cut(line, "#")
		for word := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()[]{},<>\"'`", r) }) {
			if dir, name := path.Split(word); dir != "" {
				names[name] = true
			}
		}
	}
}

// hasWord reports whether a text has a word with nothing of another one beside it.
func hasWord(text, word string) bool {
	inWord := func(c byte) bool {
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(word)
		if (start == 0 || !inWord(text[start-1])) && (end == len(text) || !inWord(text[end])) {
			return true
		}
		from = end
	}
}

// holdsAny reports whether a text holds one of some words.
func holdsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// speaks reports whether a text has the name of a client.
func (t text) speaks() bool {
	if t.rank == remark { // most manifests say nothing of the kind
		return remarks.Match(t.content)
	}
	return bytes.Contains(t.content, []byte("kubectl")) || bytes.Contains(t.content, []byte("oc ")) || bytes.Contains(t.content, []byte("helm")) || bytes.Contains(t.content, []byte("istioctl"))
}

// What a file is for who looks for commands, the surest first.
const (
	script = iota
	document
	aside  // a kustomization: its comments tell what is applied apart from it
	remark // another manifest: its comments tell what it needs
	unread
)

// rankOf is what the file of a path is for; rank what one of a name is, wherever it lies.
func rankOf(file string) int {
	if isWorkflow(file) || isTask(file) {
		return script
	}
	return rank(path.Base(file))
}

func rank(name string) int {
	switch {
	case isScript(name):
		return script
	case isDocument(name):
		return document
	case model.IsKustomizationFile(name):
		return aside
	case isYAML(name):
		return remark
	default:
		return unread
	}
}

// isScript reports whether a file is run: a shell script, or one of make, just or
// task.
func isScript(name string) bool {
	lower := strings.ToLower(name)
	switch path.Ext(lower) {
	case ".sh", ".bash", ".zsh", ".mk", ".just", ".ps1":
		return true
	}
	return slices.Contains([]string{"makefile", "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml", ".gitlab-ci.yml"}, lower)
}

// isTask reports whether a file of YAML holds tasks that a Taskfile includes. Source: home-operations'
// templates, .taskfiles.
func isTask(file string) bool {
	return isYAML(path.Base(file)) && slices.Contains(strings.Split(path.Dir(file), "/"), ".taskfiles")
}

func isDocument(name string) bool {
	return slices.Contains([]string{".md", ".markdown", ".adoc", ".rst"}, strings.ToLower(path.Ext(name)))
}

// isForeign reports whether a file is not about the platform of the repository.
func isForeign(file string, charts map[string]bool) bool {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if charts[dir] || slices.Contains([]string{"vendor", "third_party", "node_modules"}, path.Base(dir)) {
			return true
		}
	}
	return charts["."] || repofs.IsFixture(file)
}
