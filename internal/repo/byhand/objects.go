package byhand

import (
	"context"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// Object is an object that a command creates, or that stands in the text of one.
type Object struct {
	// Kind is what the API server has in the end: a SealedSecret is a Secret.
	Kind string
	// Name may hold "*" for what a variable fills in; Namespace is empty where that is not written.
	Name, Namespace string
	// Position is that of the line on which the command, or the object, begins.
	Position finding.Position
}

// Matches reports whether the object may be of a kind and have a name in a namespace. A name of which
// little is written out may be anything, and is not it.
func (o Object) Matches(kind, namespace, name string) bool {
	if o.Kind != kind || o.Namespace != "" && o.Namespace != namespace {
		return false
	}
	parts := strings.Split(o.Name, "*")
	if len(parts) == 1 {
		return o.Name == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(strings.Join(parts, "")) < minWritten || len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	middle := name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, ok := strings.Cut(middle, part)
		if !ok {
			return false
		}
		middle = rest
	}
	return true
}

// Objects are those that people create by hand, for many questions.
type Objects struct {
	named   map[[2]string][]Object // by kind and name, where this is written out
	pattern []Object
}

// maxPatterns bounds how many names with variables are compared.
const maxPatterns = 1000

// NewObjects readies objects for questions.
func NewObjects(all []Object) Objects {
	o := Objects{named: map[[2]string][]Object{}}
	for _, one := range all {
		switch key := [2]string{one.Kind, one.Name}; {
		case !strings.Contains(one.Name, "*"):
			o.named[key] = append(o.named[key], one)
		case len(o.pattern) < maxPatterns:
			o.pattern = append(o.pattern, one)
		}
	}
	return o
}

// Like are those that may be of a kind and have a name, whatever namespace they say.
func (o Objects) Like(kind, name string) []Object {
	all := slices.Clone(o.named[[2]string{kind, name}])
	for _, one := range o.pattern {
		if one.Matches(kind, one.Namespace, name) {
			all = append(all, one)
		}
	}
	return all
}

// minWritten is how much of a name with variables is written out at least.
const minWritten = 6

var (
	// makesObject is a command that creates an object of a kind, up to its arguments.
	makesObject = lazyregexp.New(`\b(?:kubectl|oc)\b[^|;&]*?\screate\s+(?:secret\s+(?:generic|tls|docker-registry)|configmap|cm|serviceaccount|sa)\s`)
	// filled is what a variable fills in.
	filled = lazyregexp.New(`\{\{[^{}]*\}\}|\$\{[^{}]*\}|\$\([^()]*\)|\$[A-Za-z_]\w*|<[\w -]+>`)
	// writtenKind is the kind in a manifest that a command is given, or a document shows.
	writtenKind = lazyregexp.New(`^\s*kind:\s*["']?([A-Za-z]+)["']?\s*$`)
	writtenName = lazyregexp.New(`^\s*name:\s*["']?([^\s"'#]+)`)
	// The namespace that a manifest, or a command, says.
	writtenNamespace = lazyregexp.New(`^\s*namespace:\s*["']?([^\s"'#]+)`)
	intoNamespace    = lazyregexp.New(`\s(?:-n|--namespace)[ =]["']?([^\s"'` + "`" + `;|&)]+)`)
	objectName       = lazyregexp.New(`^[a-z0-9*](?:[a-z0-9.*-]*[a-z0-9*])?$`)
)

// objects are those that the commands of one file create, and those that are written out
// in it.
func objects(t text) []Object {
	var all []Object
	add := func(kind, name, namespace string, line int) {
		name = filled.ReplaceAllString(name, "*")
		if !plainName.MatchString(namespace) {
			namespace = ""
		}
		if objectName.MatchString(name) {
			all = append(all, Object{kind, name, namespace, finding.Position{File: t.file, Line: line}})
		}
	}
	for _, c := range t.commands {
		for _, at := range makesObject.FindAllStringIndex(c.text, maxCreated) {
			kind := "Secret"
			switch fields := strings.Fields(c.text[at[0]:at[1]]); fields[len(fields)-1] {
			case "configmap", "cm":
				kind = "ConfigMap"
			case "serviceaccount", "sa":
				kind = "ServiceAccount"
			}
			given := c.text[at[0]:min(len(c.text), at[1]+maxGiven)]
			if name := firstArgument(given[at[1]-at[0]:]); name != "" {
				namespace := ""
				if m := intoNamespace.FindAllStringSubmatch(given, 2); len(m) == 1 {
					namespace = m[0][1]
				}
				add(kind, name, namespace, c.line)
			}
		}
	}
	lines := strings.Split(string(t.content), "\n")
	for i, line := range lines {
		if !strings.Contains(line, "kind") {
			continue
		}
		m := writtenKind.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		kind := m[1]
		if kind == "SealedSecret" {
			kind = "Secret"
		}
		if !slices.Contains([]string{"Secret", "ConfigMap", "ServiceAccount", "PersistentVolumeClaim"}, kind) {
			continue // a document shows it, and has nobody make it
		}
		name, namespace := "", ""
		for _, next := range lines[i+1 : min(len(lines), i+1+maxHead)] {
			if n := writtenName.FindStringSubmatch(next); n != nil && name == "" {
				name = n[1]
			}
			if n := writtenNamespace.FindStringSubmatch(next); n != nil && namespace == "" {
				namespace = n[1]
			}
			if writtenKind.MatchString(next) {
				break
			}
		}
		if name != "" {
			add(kind, name, namespace, i+1)
		}
	}
	return all
}

// ofSecrets matches a line of a .gitignore that keeps manifests of Secrets out of Git, but for
// those that an encrypted one is made from.
var ofSecrets = lazyregexp.New(`(?i)^[^!#]*secrets?[^/]*\.ya?ml$`)

// decrypted matches what a file is called that has an encrypted one beside it.
var decrypted = lazyregexp.New(`(?i)dec|plain|unseal|unenc|raw|clear|tmp`)

// Ignored is where the repository as a whole keeps manifests of Secrets out of Git.
func Ignored(ctx context.Context, tree *repofs.Tree) (finding.Position, bool) {
	const file = ".gitignore"
	if ctx.Err() == nil && tree.IsFile(file) {
		data, err := tree.Read(file)
		if err != nil {
			return finding.Position{}, false
		}
		for i, line := range strings.Split(string(data), "\n") {
			if line = strings.TrimSpace(line); ofSecrets.MatchString(line) && !decrypted.MatchString(line) {
				return finding.Position{File: file, Line: i + 1}, true
			}
		}
	}
	return finding.Position{}, false
}

// maxHead bounds how many lines behind the kind of an object its name stands.
const maxHead = 12

// maxCreated bounds how many objects one line creates, maxGiven how far behind a command its
// arguments are looked for, in bytes.
const (
	maxCreated = 20
	maxGiven   = 500
)

// firstArgument is the first argument that is no flag.
func firstArgument(text string) string {
	fields := strings.Fields(filled.ReplaceAllString(text, "*"))
	for i := 0; i < len(fields); i++ {
		f := fields[i]
		if !strings.HasPrefix(f, "-") {
			return strings.Trim(f, "`\"').,;:")
		}
		if slices.Contains([]string{"-n", "--namespace", "--context", "--kubeconfig"}, f) {
			i++ // its value
		}
	}
	return ""
}
