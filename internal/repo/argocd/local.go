package argocd

import (
	"path"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// isRootPath reports whether a path is the top of a repository.
func isRootPath(p string) bool {
	return path.Clean("/"+p) == "/"
}

// parameter matches one of a template, in both languages.
var parameter = lazyregexp.New(`\{\{-?\s*\.?([\w.-]+)\s*-?\}\}`)

// normaliseURL makes the forms of one address equal: https, ssh and scp-like,
// with and without .git.
func normaliseURL(url string) string {
	url = strings.ToLower(strings.TrimSpace(parameter.ReplaceAllString(url, "{{$1}}")))
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	} else if host, rest, ok := strings.Cut(url, ":"); ok && !strings.Contains(host, "/") {
		url = host + "/" + rest
	}
	if user, rest, ok := strings.Cut(url, "@"); ok && !strings.Contains(user, "/") {
		url = rest
	}
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}

// relativeScheme is that of idpbuilder: a path relative to the file that has it.
const relativeScheme = "cnoe://"

func isRelative(url string) bool { return strings.HasPrefix(url, relativeScheme) }

// hasPlaceholder reports whether a text waits for another tool to fill it in.
func hasPlaceholder(text string) bool { return placeholder.MatchString(text) }

// placeholder matches what other tools fill in.
var placeholder = lazyregexp.New(`\{\{|\{%|\$\{[A-Za-z_]|<[A-Z][A-Z0-9_]+>|<no value>|\b__[A-Z][A-Z0-9_]*[A-Z0-9]__\b`)

// filledIn matches what other tools fill in, as a whole.
var filledIn = lazyregexp.New(`\{\{[^{}]*\}\}|\{%[^{}]*%\}|\$\{[A-Za-z_][^{}]*\}|<[A-Z][A-Z0-9_]+>|<no value>|\b__[A-Z][A-Z0-9_]*[A-Z0-9]__\b`)

// existing finds a path of a Git source below the root of the platform, or
// below the top of the repository when the platform is a part of it.
func (r *Repository) existing(written string) (string, bool) {
	p := strings.TrimPrefix(path.Clean("/"+written), "/")
	if p == "" {
		return ".", true
	}
	candidates := []string{p}
	if top := r.tree.Rel(r.tree.Repository); top != "." {
		// Below the root of the platform a path has one name only.
		rel := path.Join(top, p)
		if abs, err := r.tree.Resolve(rel, finding.Position{}); err == nil {
			rel = r.tree.Rel(abs)
		}
		candidates = append(candidates, rel)
	}
	for _, candidate := range candidates {
		if r.tree.IsDir(candidate) || r.tree.IsFile(candidate) {
			return candidate, true
		}
	}
	return p, false
}

// local maps a source to a path of this repository. ok is false for a source
// of another one.
func (r *Repository) local(s source) (string, bool) {
	if s.value.TextAt("chart") != "" {
		return "", false
	}
	if rest, ok := strings.CutPrefix(s.repoURL(), relativeScheme); ok {
		return path.Join(path.Dir(s.position.File), rest, s.path()), true
	}
	if p, ok := r.filled(s); ok {
		return p, true
	}
	if s.path() == "" || !r.own[normaliseURL(s.repoURL())] {
		return "", false
	}
	p, exists := r.existing(r.at(s, s.path()))
	if !exists && r.isCopyOf(normaliseURL(s.repoURL())) {
		return "", false // it may be there
	}
	if exists && r.isOtherTree(s, p) {
		return "", false
	}
	return p, true
}

// at is a path of a source in this repository: its address may be that of a folder, or of a
// repository around it.
func (r *Repository) at(s source, written string) string {
	url := normaliseURL(s.repoURL())
	if prefix := r.prefixes[url]; prefix != "" {
		if rest, ok := strings.CutPrefix(path.Clean("/"+written)+"/", "/"+prefix+"/"); ok {
			return path.Clean(rest)
		}
	}
	return path.Join(r.bases[url], written)
}
