package flux

import (
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// push matches a command that packs a folder into an artifact of a registry; its flags follow up to
// the end of the command. Source: Flux, flux push artifact.
var (
	push     = lazyregexp.New(`\bflux\s+push\s+artifact\s+["']?oci://([^\s"'$:@]+)((?:\\\n|[^\n|;&])*)`)
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
		for _, m := range push.FindAllSubmatch(data, -1) {
			folder := pushPath.FindStringSubmatch(string(m[2]))
			if folder == nil {
				continue
			}
			address, dir := string(m[1]), clean(folder[1])
			if have, twice := l.packed[address]; twice && have != dir {
				dir = ""
			}
			l.packed[address] = dir
		}
	}
	return l.packed
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
	if folder := path.Join(dir, p); dir != "" && l.tree.IsDir(folder) {
		return folder
	}
	return ""
}
