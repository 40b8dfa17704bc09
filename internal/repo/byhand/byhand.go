package byhand

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/terraform"
)

// Instruction is one address that a command applies.
type Instruction struct {
	// Address has the values of the variables that its file sets; others may be in it. Shown
	// is how it is written, where it is not one of a file or a kustomization.
	Address, Shown string
	// Through is the file or folder that the command names, where Address is a file of
	// the repository.
	Through string
	// Position is that of the line on which the command begins.
	Position finding.Position
	// Comes is set for what the cluster has from the start.
	Comes bool
}

// Told is what the files of a repository tell people to do before.
type Told struct {
	Instructions []Instruction
	// Files are the files of the repository that scripts apply, Shown those that documents
	// do: an example may be among them. Noted are those of Shown that a comment of a
	// kustomization names.
	Files, Shown, Noted []Instruction
	// Chosen are the files of which commands apply one at a time, named by a variable.
	Chosen   []Instruction
	Releases []Release
	// Folders are the charts of the repository that scripts install, by their folders.
	Folders []Instruction
	// Helmfiles are the commands that give state files to Helmfile.
	Helmfiles []Helmfile
	// Namespaces are created by a command of their own, or in a file that one applies.
	Namespaces []Namespace
	// Objects are created by a command of their own, written out in a script or a document, or
	// of Terraform.
	Objects []Object
	// Manifests are written out in Terraform, Charts are the releases that it makes.
	Manifests []terraform.Manifest
	Charts    []terraform.Release
	// Unread is why Terraform of the repository could not be read or evaluated, whole or in part; nil where it was.
	Unread error
	// Broken are why folders of Terraform are not read.
	Broken []terraform.SyntaxError
}

// Namespace is a namespace that a command creates.
type Namespace struct {
	Name string
	// File is the file of the repository that has it, where the command applies one.
	File string
	// Position is that of the line on which the command begins.
	Position finding.Position
}

// Find reads the instructions of all files below the root of a tree: scripts first,
// since documents may tell of another way, and comments of kustomizations last, each by
// file and line.
func Find(ctx context.Context, tree *repofs.Tree) Told {
	var told Told
	all, repositories := texts(ctx, tree)
	files := &applying{ctx: ctx, tree: tree, known: map[argument]made{}, listed: map[string]kustomization{}, named: map[string]namespaced{}, kept: map[string]made{}}
	for _, t := range all {
		files.note(t, repositories)
	}
	states := newStateFiles(ctx, tree)
	for _, t := range all {
		if t.rank == remark {
			applied := files.read(t.file, t.content)
			told.Shown = append(told.Shown, ofItself(tree, t, applied.files)...)
			told.Namespaces = append(append(told.Namespaces, namespaces(t.file, t.content)...), files.namespaces(applied.files, true)...)
			continue
		}
		told.Instructions = append(told.Instructions, Read(t.file, t.content)...)
		told.Namespaces = append(told.Namespaces, namespaces(t.file, t.content)...)
		if t.rank != aside {
			told.Objects = append(told.Objects, objects(t.file, t.content)...)
		}
		applied := files.read(t.file, t.content)
		told.Instructions = append(told.Instructions, applied.addresses...)
		told.Releases = append(told.Releases, applied.releases...)
		told.Chosen = append(told.Chosen, applied.chosen...)
		told.Namespaces = append(told.Namespaces, files.namespaces(applied.files, t.rank != script)...)
		switch t.rank {
		case aside:
			noted := apart(t.file, applied.files)
			told.Shown, told.Noted = append(told.Shown, noted...), append(told.Noted, named(noted)...)
		case document:
			told.Shown = append(told.Shown, applied.files...)
		default:
			told.Files = append(told.Files, applied.files...)
			told.Folders = append(told.Folders, chartFolders(tree, t.file, t.content)...)
			for _, one := range applied.files {
				told.Releases = append(told.Releases, appliedReleases(tree, one)...)
			}
		}
		told.Helmfiles = append(told.Helmfiles, states.read(t.file, t.content)...)
		told.Releases = append(told.Releases, releases(tree, t.file, t.content, repositories)...)
	}
	installed, theirs := distributed(ctx, tree)
	told.Releases, told.Namespaces = append(told.Releases, installed...), append(told.Namespaces, theirs...)
	told.Instructions = append(told.Instructions, bootstrapped(ctx, tree)...)
	told.terraformed(ctx, tree)
	return told
}

// text is what a file says that may have commands in it.
type text struct {
	file    string
	rank    int
	content []byte
}

// texts are those of a repository, the surest first, and the repositories of charts that
// commands in them add, by their names. What comes with a chart or as the data of tests is
// not about this repository. Files that cannot be read say nothing, and neither do those
// that set up a cluster for trial alone: but where a script of the platform runs one, it is its cluster.
func texts(ctx context.Context, tree *repofs.Tree) (all []text, repositories map[string]string) {
	found, _ := tree.Find(ctx, ".", func(name string) bool { return rank(name) < unread || name == "Chart.yaml" })
	charts := map[string]bool{}
	for _, file := range found {
		if path.Base(file) == "Chart.yaml" {
			charts[path.Dir(file)] = true
		}
	}
	repositories = map[string]string{}
	found = slices.DeleteFunc(found, isWorkflow)
	var ofPlatform []text
	for _, file := range append(workflows(ctx, tree), found...) {
		t := text{file: file, rank: rank(path.Base(file))}
		if isWorkflow(file) || isTask(file) {
			t.rank = script
		}
		if t.rank == unread || repofs.IsUnused(file) && t.rank == remark || isForeign(file, charts) || ctx.Err() != nil {
			continue
		}
		var err error
		if t.content, err = tree.Read(file); err != nil {
			continue
		}
		if t.rank == script && !isWorkflow(file) && platform.Match(t.content) {
			ofPlatform = append(ofPlatform, t)
		}
		if !t.speaks() {
			continue
		}
		if t.rank == aside || t.rank == remark {
			t.content = comments(t.content)
		}
		if t.rank == remark || t.speaks() {
			all = append(all, t)
		}
	}
	all = slices.DeleteFunc(all, func(t text) bool {
		return trial.Match(t.content) && (isWorkflow(t.file) || !platform.Match(t.content) && !slices.ContainsFunc(ofPlatform, func(one text) bool { return one.runs(t.file) }))
	})
	for _, t := range all {
		for _, m := range added.FindAllSubmatch(t.content, -1) {
			repositories[string(m[1])] = string(m[2])
		}
	}
	slices.SortStableFunc(all, func(a, b text) int { return cmp.Compare(a.rank, b.rank) })
	return all, repositories
}

// runs reports whether a script has a command with the name of another one.
func (t text) runs(file string) bool {
	for line := range strings.Lines(string(t.content)) {
		before, after, found := strings.Cut(line, path.Base(file))
		if found && !strings.Contains(before, "#") && strings.HasSuffix(strings.TrimRight(before, `"'`), "/") && (after == "" || strings.ContainsAny(after[:1], " \t\r\n;&|)\"'")) {
			return true
		}
	}
	return false
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

var (
	// remarks is a comment of a manifest that has somebody create or apply something.
	remarks = lazyregexp.New(`#[^\n]*\b(?:kubectl|oc)\s[^\n]*\b(?:apply|create|new-project)\b`)
	// trial is what makes a cluster to try something out, platform what a cluster of the
	// platform has: what one without it applies says nothing of the others.
	trial    = lazyregexp.New(`\bkind create cluster|\bminikube start|\bk3d cluster create|uses:\s*\S*/(?:kind-action|setup-kind|setup-minikube|setup-k3d\S*)\b`)
	platform = lazyregexp.New(`(?i)argo-?cd|flux`)
	// applies is a command that creates what it is given, whatever else is in its
	// line: curl and kustomize may hand it over.
	applies = lazyregexp.New(`\b(kubectl|oc)\b[^|;&]*\s(apply|create|replace)\s`)
	// creates is a command that makes one namespace, whose name is written out.
	creates   = lazyregexp.New(`\b(?:kubectl|oc)\b[^|;&]*\s(?:create\s+(?:namespace|ns)|new-project)\s+["']?([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)["']?(?:[\s|;&)` + "`" + `]|$)`)
	plainName = lazyregexp.New(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)
	// An address has a scheme, or is the short form of a remote kustomization.
	address = lazyregexp.New("(?:https?://|\\bgithub\\.com/)[^\\s\"'`<>|;()\\[\\]\\\\]+")
)

// talks reports whether a command prints something for people, and nothing for another command.
func talks(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return slices.Contains([]string{"echo", "printf", "log", "info", "warn"}, strings.TrimPrefix(first, "@")) && !strings.ContainsAny(text, "|>")
}

// Read reads the instructions of one file.
func Read(file string, content []byte) []Instruction {
	var all []Instruction
	for _, c := range commands(file, content) {
		if !applies.MatchString(c.text + " ") {
			continue
		}
		for _, found := range c.addresses() {
			all = append(all, Instruction{Address: found[0], Shown: found[1], Position: finding.Position{File: file, Line: c.line}})
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
		if mesh.MatchString(c.text) {
			all = append(all, Namespace{Name: meshNamespace, Position: finding.Position{File: file, Line: c.line}})
		}
		for _, part := range segment.Split(c.text, -1) {
			m := intoNamespace.FindStringSubmatch(part)
			if m != nil && plainName.MatchString(m[1]) && strings.Contains(part, "--create-namespace") && !strings.Contains(part, "--create-namespace=false") && installs.MatchString(part) {
				all = append(all, Namespace{Name: m[1], Position: finding.Position{File: file, Line: c.line}})
			}
		}
	}
	return all
}

// command is a line of a script, or several.
type command struct {
	text string
	// written is the text without the values of variables: one may be a secret.
	written string
	// open is the text where a loop gives its variable one word after the other.
	open string
	line int
}

// addresses are those in a command, each with how it is written.
func (c command) addresses() (all [][2]string) {
	found, written := address.FindAllString(c.text, -1), address.FindAllString(c.written, -1)
	for i, one := range found {
		shown := "an address"
		if len(written) == len(found) {
			shown = strings.TrimRight(written[i], ".,:")
		}
		all = append(all, [2]string{strings.TrimRight(one, ".,:"), shown})
	}
	return all
}

// commands are the lines of a file, several where a command goes on, with the variables
// that the file sets filled in. Those that begin with "#" say nothing.
func commands(file string, content []byte) []command {
	script := isScript(path.Base(file)) || isTask(file)
	known := variablesOf(content)
	all := linesOf(string(content), script || isWorkflow(file), known)
	if script {
		all = append(all, ofCalls(functionsOf(content), all, known)...)
	}
	return all
}

func linesOf(content string, pipes bool, known *variables) []command {
	var all []command
	lines := strings.Split(content, "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		last := unticked(lines[i], pipes)
		parts := []string{last}
		for i+1 < len(lines) && goesOn(last, strings.TrimSpace(lines[i+1]), pipes) {
			i++
			last = unticked(lines[i], pipes)
			parts = append(parts, last)
		}
		for j := range parts[:len(parts)-1] {
			parts[j] = strings.TrimSuffix(parts[j], `\`)
		}
		if text := strings.Join(parts, " "); !strings.HasPrefix(text, "#") {
			filled := known.fill(text)
			for _, one := range known.each(filled) {
				all = append(all, command{one, text, filled, first + 1})
			}
		}
	}
	return all
}

// unticked is a line without blanks around it, and with the sign of a shell for a command that goes on in
// place of that of PowerShell. Comments between its lines are no end of it there.
func unticked(line string, script bool) string {
	line = strings.TrimSpace(line)
	if rest, ok := strings.CutSuffix(line, " `"); ok && script {
		if strings.HasPrefix(rest, "#") {
			rest = ""
		}
		return rest + ` \`
	}
	return line
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
