package snapshot

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// maxText is the size up to which a file is looked through for addresses.
const maxText = 4 << 20

// addressed reports whether a file may hold addresses that Argo CD reads.
func addressed(file string) bool {
	switch strings.ToLower(path.Ext(file)) {
	case ".yaml", ".yml", ".json", ".tpl", ".jsonnet", ".libsonnet", ".env", ".properties":
		return true
	}
	return path.Base(file) == "Kustomization"
}

var (
	// address matches what may be one: with a scheme, or scp-like. It ends where
	// YAML, JSON or a template would end it.
	address = lazyregexp.New("[A-Za-z][A-Za-z+.-]*://[^\\s\"'`<>{}\\[\\](),;]+|[\\w.-]+@[\\w.-]+:[^\\s\"'`<>{}\\[\\](),;]+")
	// pattern matches an entry of sourceRepos with a star.
	pattern = lazyregexp.New("[A-Za-z][A-Za-z+.-]*://[^\\s\"'`<>{}\\[\\](),;]*\\*[^\\s\"'`<>{}\\[\\](),;]*")
	// written matches the name of a revision.
	written = lazyregexp.New(`(?m)(?:targetRevision|revision|targetBranch)["']?:\s*["']?([A-Za-z0-9][A-Za-z0-9._/-]*)`)
	project = lazyregexp.New(`(?m)^\s*"?kind"?:\s*["']?AppProject\b`)
)

// readdress replaces the repository's own addresses in a file, and notes the
// revisions that the file names.
func (b *builder) readdress(file string, content []byte) []byte {
	if b.options.Own == nil || !addressed(file) || len(content) > maxText || bytes.IndexByte(content, 0) >= 0 {
		return content
	}
	var own []string // as they are written
	changed := address.ReplaceAllFunc(content, func(found []byte) []byte {
		text := strings.TrimRight(string(found), ".")
		if !b.options.Own(text) {
			return found
		}
		own = append(own, text)
		return []byte(b.snapshot.Address + string(found[len(text):]))
	})
	if project.Match(content) {
		changed = b.allow(changed)
	}
	if len(own) > 0 {
		b.findBranches(content)
	}
	if !bytes.Equal(changed, content) {
		b.snapshot.Rewritten = append(b.snapshot.Rewritten, file)
	}
	return changed
}

// allow lets the patterns of an AppProject that match one of the repository's own
// addresses match that of the snapshot as well, by one more entry.
func (b *builder) allow(content []byte) []byte {
	lines := strings.SplitAfter(string(content), "\n")
	var out strings.Builder
	for _, line := range lines {
		found := pattern.FindString(line)
		item, quotes, ok := strings.Cut(line, found)
		if found == "" || !ok || !b.matchesOwn(found) {
			out.WriteString(line)
			continue
		}
		if strings.TrimSpace(strings.Trim(item, ` "'`)) == "-" { // one entry per line
			out.WriteString(line)
			if !strings.HasSuffix(line, "\n") {
				out.WriteString("\n")
			}
			out.WriteString(item + b.snapshot.Address + quotes)
			continue
		}
		out.WriteString(pattern.ReplaceAllStringFunc(line, func(p string) string {
			if !b.matchesOwn(p) {
				return p
			}
			quote := ""
			if i := strings.Index(line, p); i > 0 && strings.ContainsAny(line[i-1:i], `"'`) {
				quote = line[i-1 : i]
			}
			return p + quote + ", " + quote + b.snapshot.Address
		}))
	}
	return []byte(out.String())
}

// matchesOwn reports whether a pattern with stars matches an address of the
// repository. Source: Argo CD, "Projects": a star matches no slash, two match any.
func (b *builder) matchesOwn(p string) bool {
	expression := regexp.QuoteMeta(p)
	expression = strings.ReplaceAll(expression, `\*\*`, `.*`)
	expression = strings.ReplaceAll(expression, `\*`, `[^/]*`)
	re, err := regexp.Compile("^" + expression + "$")
	if err != nil {
		return false
	}
	return slices.ContainsFunc(b.options.OwnWritten, re.MatchString)
}

// findBranches notes the names of revisions, so that the commit is found under
// each of them.
func (b *builder) findBranches(content []byte) {
	for _, m := range written.FindAllSubmatch(content, -1) {
		name := string(m[1])
		if name != "HEAD" && validBranch(name) {
			b.branches = append(b.branches, name)
		}
	}
}

// validBranch is stricter than git-check-ref-format(1).
func validBranch(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") || strings.HasPrefix(part, "-") {
			return false
		}
	}
	return !strings.Contains(name, "..")
}
