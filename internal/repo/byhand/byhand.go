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

// Instruction is one address that a command applies.
type Instruction struct {
	// Address as it is written: variables of the shell may be in it.
	Address string
	// Through is the file or folder that the command names, where Address is a file of
	// the repository.
	Through string
	// Position is that of the line on which the command begins.
	Position finding.Position
}

// Told is what the files of a repository tell people to do before.
type Told struct {
	Instructions []Instruction
	// Files are the files of the repository that scripts apply, Shown those that documents
	// do: an example may be among them.
	Files, Shown []Instruction
	Releases     []Release
	// Namespaces are created by a command of their own.
	Namespaces []Namespace
}

// Namespace is a namespace that a command creates.
type Namespace struct {
	Name string
	// Position is that of the line on which the command begins.
	Position finding.Position
}

// Find reads the instructions of all files below the root of a tree: scripts first,
// since documents may tell of another way, each by file and line. What comes with a
// chart or as the data of tests is not about this repository. Files that cannot be
// read say nothing, and neither do those that set up a cluster for trial alone.
func Find(ctx context.Context, tree *repofs.Tree) Told {
	found, _ := tree.Find(ctx, ".", func(name string) bool {
		base := path.Base(name)
		return isScript(base) || isDocument(base) || base == "Chart.yaml"
	})
	charts := map[string]bool{}
	for _, file := range found {
		if path.Base(file) == "Chart.yaml" {
			charts[path.Dir(file)] = true
		}
	}
	var names []string
	contents, repositories := map[string][]byte{}, map[string]string{}
	for _, file := range found {
		if path.Base(file) == "Chart.yaml" || isForeign(file, charts) || ctx.Err() != nil {
			continue
		}
		content, err := tree.Read(file)
		if err != nil {
			continue
		}
		if !bytes.Contains(content, []byte("kubectl")) && !bytes.Contains(content, []byte("oc ")) && !bytes.Contains(content, []byte("helm")) {
			continue
		}
		if trial.Match(content) && !platform.Match(content) {
			continue
		}
		names, contents[file] = append(names, file), content
		for _, m := range added.FindAllSubmatch(content, -1) {
			repositories[string(m[1])] = string(m[2])
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch x, y := isScript(path.Base(a)), isScript(path.Base(b)); {
		case x == y:
			return 0
		case x:
			return -1
		default:
			return 1
		}
	})
	var told Told
	files := &applying{ctx: ctx, tree: tree, known: map[argument]made{}, listed: map[string]kustomization{}}
	for _, file := range names {
		told.Instructions = append(told.Instructions, Read(file, contents[file])...)
		told.Namespaces = append(told.Namespaces, namespaces(file, contents[file])...)
		applied := files.read(file, contents[file])
		told.Instructions = append(told.Instructions, applied.addresses...)
		told.Releases = append(told.Releases, applied.releases...)
		if !isScript(path.Base(file)) {
			told.Shown = append(told.Shown, applied.files...)
			applied.files = nil
		}
		for _, one := range applied.files {
			told.Files = append(told.Files, one)
			told.Releases = append(told.Releases, appliedReleases(tree, one)...)
		}
		told.Releases = append(told.Releases, releases(tree, file, contents[file], repositories)...)
	}
	return told
}

// isScript reports whether a file is run: a shell script, or one of make, just or
// task.
func isScript(name string) bool {
	lower := strings.ToLower(name)
	switch path.Ext(lower) {
	case ".sh", ".bash", ".zsh", ".mk", ".just":
		return true
	}
	return slices.Contains([]string{"makefile", "gnumakefile", "justfile", ".justfile", "taskfile.yml", "taskfile.yaml", "taskfile.dist.yml", "taskfile.dist.yaml"}, lower)
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

var (
	// trial is what makes a cluster to try something out, platform what a cluster of the
	// platform has: what one without it applies says nothing of the others.
	trial    = lazyregexp.New(`\bkind create cluster|\bminikube start|\bk3d cluster create`)
	platform = lazyregexp.New(`(?i)argo-?cd|flux`)
	// applies is a command that creates what it is given, whatever else is in its
	// line: curl and kustomize may hand it over.
	applies = lazyregexp.New(`\b(kubectl|oc)\b[^|;&]*\s(apply|create|replace)\s`)
	// creates is a command that makes one namespace, whose name is written out.
	creates = lazyregexp.New(`\b(?:kubectl|oc)\b[^|;&]*\s(?:create\s+(?:namespace|ns)|new-project)\s+["']?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)["']?(?:[\s|;&)` + "`" + `]|$)`)
	// An address has a scheme, or is the short form of a remote kustomization.
	address = lazyregexp.New("(?:https?://|\\bgithub\\.com/)[^\\s\"'`<>|;()\\[\\]\\\\]+")
)

// Read reads the instructions of one file.
func Read(file string, content []byte) []Instruction {
	var all []Instruction
	for _, c := range commands(file, content) {
		if !applies.MatchString(c.text + " ") {
			continue
		}
		for _, found := range address.FindAllString(c.text, -1) {
			all = append(all, Instruction{Address: strings.TrimRight(found, ".,:"), Position: finding.Position{File: file, Line: c.line}})
		}
	}
	return all
}

// namespaces are those that the commands of one file create.
func namespaces(file string, content []byte) []Namespace {
	var all []Namespace
	for _, c := range commands(file, content) {
		if strings.Contains(c.text, "--dry-run") && !strings.Contains(c.text, "apply") {
			continue // it prints the namespace
		}
		for _, m := range creates.FindAllStringSubmatch(c.text, -1) {
			all = append(all, Namespace{Name: m[1], Position: finding.Position{File: file, Line: c.line}})
		}
	}
	return all
}

// command is a line of a script, or several.
type command struct {
	text string
	line int
}

// commands are the lines of a file, several where a command goes on. Those that begin
// with "#" say nothing.
func commands(file string, content []byte) []command {
	var all []command
	script := isScript(path.Base(file))
	lines := strings.Split(string(content), "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		last := strings.TrimSpace(lines[i])
		parts := []string{last}
		for i+1 < len(lines) && goesOn(last, strings.TrimSpace(lines[i+1]), script) {
			i++
			last = strings.TrimSpace(lines[i])
			parts = append(parts, last)
		}
		for j := range parts[:len(parts)-1] {
			parts[j] = strings.TrimSuffix(parts[j], `\`)
		}
		if text := strings.Join(parts, " "); !strings.HasPrefix(text, "#") {
			all = append(all, command{text, first + 1})
		}
	}
	return all
}

// blockScalar matches a line of YAML behind which a text of several lines begins.
var blockScalar = lazyregexp.New(`^(?:-\s+)*(?:[\w.-]+:\s*)?\|$`)

// goesOn reports whether a command goes on in the next line: behind a backslash or a
// pipe, and in a text of YAML, which Taskfiles are, also before a pipe. The lines of a
// table in a document have pipes on both ends.
func goesOn(line, next string, script bool) bool {
	switch {
	case strings.HasSuffix(line, `\`):
		return true
	case strings.HasPrefix(line, "#"), blockScalar.MatchString(line):
		return false
	case strings.HasSuffix(line, "|"):
		return script || !strings.HasPrefix(line, "|")
	default:
		return script && strings.HasPrefix(next, "|")
	}
}
