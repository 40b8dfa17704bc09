package flux

import (
	"cmp"
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// push matches a command that packs a folder into an artifact of a registry; its flags follow up to
// the end of the command. The address may be a variable, which assigned finds and used matches, as
// scripts, make and workflows write it. Source: Flux, flux push artifact.
var (
	push     = lazyregexp.New(`\bflux\s+push\s+artifact\s+["']?oci://([^\s"'$:@]+)((?:\\\n|[^\n|;&])*)`)
	assigned = lazyregexp.New(`(?m)^\s*(?:export\s+)?([A-Za-z_]\w*)\s*(?::=|\?=|=|:)\s*["']?(oci://[^\s"'$@]+)["']?\s*$`)
	used     = lazyregexp.New(`\$\{\{\s*env\.(\w+)\s*\}\}|\$\{(\w+)\}|\$\((\w+)\)|\$(\w+)`)
	pushPath = lazyregexp.New(`\s(?:--path|-f)(?:=|\s+)["']?([^\s"'$\\]+)`)
)

// pushed are the folders of this repository that its scripts and workflows pack into artifacts, by
// the address of each; one that two are packed into is none.
func (l *loader) pushed() map[string]string {
	if l.packed != nil {
		return l.packed
	}
	l.packed = map[string]string{}
	found, err := l.tree.Find(l.ctx, ".", packs)
	if err != nil {
		return l.packed
	}
	for _, file := range found {
		if repofs.IsFixture(file) || isYAMLName(file) && !strings.HasPrefix(file, ".github/workflows/") && path.Base(file) != ".gitlab-ci.yml" && !strings.HasPrefix(strings.ToLower(path.Base(file)), "taskfile") {
			continue
		}
		data, err := l.tree.Read(file)
		if err != nil {
			continue
		}
		for _, m := range push.FindAllStringSubmatch(withAddresses(string(data)), -1) {
			folder := pushPath.FindStringSubmatch(m[2])
			if folder == nil {
				continue
			}
			address, dir := m[1], clean(folder[1])
			if have, twice := l.packed[address]; twice && have != dir {
				dir = ""
			}
			l.packed[address] = dir
		}
	}
	return l.packed
}

// withAddresses puts the addresses of artifacts in the place of the variables that a file gives
// one value to.
func withAddresses(text string) string {
	addresses := map[string]string{}
	for _, m := range assigned.FindAllStringSubmatch(text, -1) {
		if have, twice := addresses[m[1]]; twice && have != m[2] {
			m[2] = ""
		}
		addresses[m[1]] = m[2]
	}
	if len(addresses) == 0 {
		return text
	}
	return used.ReplaceAllStringFunc(text, func(variable string) string {
		if address := addresses[cmp.Or(used.FindStringSubmatch(variable)[1:]...)]; address != "" {
			return address
		}
		return variable
	})
}

func isYAMLName(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// packs reports whether a file of a name may have commands.
func packs(name string) bool {
	lower := strings.ToLower(name)
	return isYAMLName(lower) || strings.HasSuffix(lower, ".sh") || strings.HasSuffix(lower, ".mk") || lower == "makefile" || lower == "justfile"
}

// packedPath is the folder of this repository that a path in an artifact is; empty where the
// artifact is not known to be packed here.
func (l *loader) packedPath(namespace, name, p string) string {
	source, ok := l.sources[key("OCIRepository", namespace, name)]
	if !ok {
		return ""
	}
	dir := l.pushed()[strings.TrimPrefix(textAt(source.Object, "spec", "url"), "oci://")]
	if folder := path.Join(l.at(".", dir), p); dir != "" && l.tree.IsDir(folder) {
		return folder
	}
	return ""
}
