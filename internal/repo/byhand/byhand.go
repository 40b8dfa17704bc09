package byhand

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
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
	left   []string
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
// file and line. All who ask of one tree get the same, which nobody may change.
func Find(ctx context.Context, tree *repofs.Tree) Told {
	told := tree.Once(found{}, func() any { return findAll(ctx, tree) }).(Told)
	if ctx.Err() != nil { // not all was read
		tree.Forget(found{})
	}
	return told
}

// found is the key of what Find finds in a tree.
type found struct{}

// Left are the scripts and documents that Find left out, whole or in part, where somebody asked it: with the
// others they are larger than maxTexts, or apply more than is followed.
func Left(tree *repofs.Tree) []string {
	told, ok := tree.Made(found{})
	if !ok {
		return nil
	}
	return told.(Told).left
}

func findAll(ctx context.Context, tree *repofs.Tree) Told {
	var told Told
	all, repositories, tooLarge := texts(ctx, tree)
	files := &applying{ctx: ctx, tree: tree, known: map[argument]made{}, listed: map[string]kustomization{}, named: map[string]namespaced{}, kept: map[string]made{}, ends: map[string][]string{}}
	for _, t := range all {
		files.note(t, repositories)
	}
	states := newStateFiles(ctx, tree)
	for _, t := range all {
		told.read(tree, t, files, states, repositories)
	}
	installed, theirs := distributed(ctx, tree)
	told.Releases, told.Namespaces = append(told.Releases, installed...), append(told.Namespaces, theirs...)
	told.Instructions = append(told.Instructions, bootstrapped(ctx, tree)...)
	told.terraformed(ctx, tree)
	told.left = slices.Compact(slices.Concat(files.cut, states.cut, tooLarge))
	return told
}

// read reads what the commands of one file do.
func (told *Told) read(tree *repofs.Tree, t text, files *applying, states *stateFiles, repositories map[string]string) {
	if t.rank == remark {
		applied := files.read(t)
		told.Shown = append(told.Shown, ofItself(tree, t, applied.files)...)
		told.Namespaces = append(append(told.Namespaces, namespaces(t)...), files.namespaces(applied.files, true)...)
		return
	}
	told.Instructions = append(told.Instructions, instructions(t)...)
	told.Namespaces = append(told.Namespaces, namespaces(t)...)
	if t.rank != aside {
		told.Objects = append(told.Objects, objects(t)...)
	}
	applied := files.read(t)
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
		told.Folders = append(told.Folders, chartFolders(tree, t)...)
		for _, one := range applied.files {
			told.Releases = append(told.Releases, appliedReleases(tree, one)...)
		}
	}
	told.Helmfiles = append(told.Helmfiles, states.read(t)...)
	told.Releases = append(told.Releases, releases(tree, t, repositories)...)
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

// instructions are the addresses that the commands of one file apply.
func instructions(t text) []Instruction {
	var all []Instruction
	for _, c := range t.commands {
		if !applies.MatchString(c.text + " ") {
			continue
		}
		for _, found := range c.addresses() {
			all = append(all, Instruction{Address: found[0], Shown: found[1], Position: t.at(c)})
		}
	}
	return all
}

// namespaces are those that the commands of one file create.
func namespaces(t text) []Namespace {
	var all []Namespace
	for _, c := range t.commands {
		if strings.Contains(c.text, "--dry-run") && !strings.Contains(c.text, "apply") {
			continue // it prints the namespace
		}
		for _, m := range creates.FindAllStringSubmatch(c.text, -1) {
			all = append(all, Namespace{Name: m[1], Position: t.at(c)})
		}
		if mesh.MatchString(c.text) {
			all = append(all, Namespace{Name: meshNamespace, Position: t.at(c)})
		}
		for _, part := range parts(c.text) {
			m := intoNamespace.FindStringSubmatch(part)
			if m != nil && plainName.MatchString(m[1]) && strings.Contains(part, "--create-namespace") && !strings.Contains(part, "--create-namespace=false") && installs.MatchString(part) {
				all = append(all, Namespace{Name: m[1], Position: t.at(c)})
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

// speaks reports whether a command may say something to a reader: it has the name of a client, fetches
// or goes to a folder. Most lines are prose, on which the patterns of readers are slow.
func (c command) speaks() bool {
	return holdsAny(c.text, "kubectl", "helm", "istioctl", "curl", "wget", "cd", "pushd", "popd", "run:", "name:", "uses:") || hasWord(c.text, "oc")
}

// speaking are the commands of a file that may say something.
func speaking(file string, content []byte) []command {
	var all []command
	for _, c := range commands(file, content) {
		if c.speaks() {
			all = append(all, c)
		}
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
		if text := strings.Join(parts, " "); text != "" && !strings.HasPrefix(text, "#") {
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
