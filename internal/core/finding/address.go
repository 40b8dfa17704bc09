package finding

import (
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// WithoutCredentials takes user, password and query out of an address
// ("https://user:token@host/path?token=x"). The user of SSH is no secret and part
// of the address. What has no scheme (git@host:path, a folder) stays as it is.
func WithoutCredentials(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	credentials, clean := split(rest)
	clean, _, _ = strings.Cut(clean, "?")
	if scheme == "ssh" {
		if user, _, _ := strings.Cut(credentials, ":"); sshUser.MatchString(strings.TrimSuffix(user, "@")) {
			clean = strings.TrimSuffix(user, "@") + "@" + clean
		}
	}
	return scheme + "://" + clean
}

var sshUser = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

var (
	schemes = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://?`) // a path that is cleaned has one slash
	ends    = lazyregexp.New("[\\s\"'`<>]")
)

// Redact takes the credentials out of the addresses in a text: what is read from
// a repository may hold them, what is shown may not.
func Redact(text string) string {
	if !strings.Contains(text, ":/") {
		return text // most texts, and faster than the expression
	}
	found := schemes.FindAllStringIndex(text, -1)
	if found == nil {
		return text
	}
	var b strings.Builder
	done := 0
	for i, at := range found {
		if at[0] < done {
			continue // it is part of the address before
		}
		b.WriteString(text[done:at[1]])
		rest := text[at[1]:]
		if stop := ends.FindStringIndex(rest); stop != nil {
			rest = rest[:stop[0]]
		}
		inner := -1 // where a word with a colon and one slash begins: an address, or a password
		for _, next := range found[i+1:] {
			if next[0] >= at[1]+len(rest) {
				break
			}
			switch {
			case strings.HasSuffix(text[next[0]:next[1]], "//"):
				rest = text[at[1]:next[0]]
			default:
				inner = max(inner, next[0]-at[1])
			}
		}
		credentials, clean := split(rest)
		if last := strings.LastIndexByte(rest, '@'); inner >= 0 && last > inner {
			credentials, clean = rest[:last+1], rest[last+1:]
		}
		if credentials != "" {
			b.WriteString("***@")
		}
		b.WriteString(clean)
		done = at[1] + len(rest)
	}
	b.WriteString(text[done:])
	return b.String()
}

// split parts what stands before the host, behind the scheme, from the host and
// what follows it. A slash in a password that is not escaped ends the host for a
// parser, and what it takes for a port is none: then the host is further behind. So
// it is where something stood before a host that is a single word, and another at
// sign follows: to show too little of an address does less harm than a password.
func split(rest string) (credentials, clean string) {
	clean = rest
	for {
		host := clean
		if i := strings.IndexAny(clean, "/?#"); i >= 0 {
			host = clean[:i]
		}
		at := strings.LastIndexByte(host, '@')
		if at < 0 && (!hasPort(host) || len(clean) < len(rest) && !strings.ContainsAny(host, ".:[")) {
			at = strings.IndexByte(clean, '@')
		}
		if at < 0 {
			return rest[:len(rest)-len(clean)], clean
		}
		clean = clean[at+1:]
	}
}

// hasPort reports whether what follows the first colon of a host can be a port, or
// is a placeholder for one, or no colon is there.
func hasPort(host string) bool {
	host = version6.ReplaceAllLiteralString(host, "")
	_, port, ok := strings.Cut(host, ":")
	return !ok || strings.Trim(port, "0123456789") == "" || placeholder.MatchString(port)
}

var (
	version6    = lazyregexp.New(`^\[[0-9A-Fa-f:.]+(%[0-9A-Za-z]+)?\]`)
	placeholder = lazyregexp.New(`^(\{\{.*\}\}|\$\{.*\}|\$\(.*\))$`)
)

// WithoutUser is an address without credentials.
func WithoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, tail, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if at < 0 {
		return address
	}
	return strings.TrimSuffix(scheme+"://"+host[at+1:]+"/"+tail, "/")
}
