package fetch

import (
	"net"
	"net/url"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
)

// Repository is the address of a Git repository, and of a folder in it, in the forms
// that kustomize takes. Source: kustomize, "Remote targets".
type Repository struct {
	Scheme  string // https, http or ssh; any other is refused
	User    string // of SSH; empty for the one that is usual
	Host    string // HOST:PORT
	Path    string // of the repository on the host, for SSH as its shell takes it
	Folder  string // in the repository, empty for its top
	Ref     string // branch, tag or whole commit id; empty for HEAD
	Timeout time.Duration

	host    host
	login   *url.Userinfo
	problem string // why it is refused
}

var (
	schemed  = lazyregexp.New(`^([A-Za-z][A-Za-z0-9+.-]*)(://|::)`)
	userPart = lazyregexp.New(`^([A-Za-z][A-Za-z0-9-]*)@`)
	// pathForm is what the path of a repository may consist of.
	pathForm = lazyregexp.New(`^[A-Za-z0-9._~/+@%:=,!$&()*;-]+$`)
	commitID = lazyregexp.New(`^[0-9a-f]{40}$`)
	shortID  = lazyregexp.New(`^[0-9a-f]{7,39}$`)
)

// ParseRepository reads the address of a Git repository. ok is false for what can
// only be a path in the file system. A true ok does not mean that the address is
// allowed: an address with a scheme is never a path, so that file://, ext:: and the
// like are refused when they are asked for, and not taken for something local.
func ParseRepository(address string) (r Repository, ok bool) {
	if filepath.IsAbs(address) || strings.HasPrefix(address, "/") {
		return Repository{}, false
	}
	rest, query, _ := strings.Cut(address, "?")
	if len(rest) >= 5 && strings.EqualFold(rest[:5], "git::") {
		rest = rest[5:]
	}
	if m := schemed.FindStringSubmatch(rest); m != nil {
		r.Scheme = strings.ToLower(m[1])
		if defaultPorts[r.Scheme] == "" || r.Scheme == "oci" || m[2] == "::" {
			r.problem = "its scheme is not one of https, http, ssh"
			return r, true
		}
		rest = rest[len(m[0]):]
	}
	if m := userPart.FindStringSubmatch(rest); m != nil {
		r.User, rest = m[1], rest[len(m[0]):]
	}
	lower := strings.ToLower(rest)
	github := strings.HasPrefix(lower, "github.com/") || strings.HasPrefix(lower, "github.com:")
	scp := r.Scheme == "" && (r.User != "" || github)
	if r.Scheme == "" && !scp {
		return Repository{}, false
	}
	authority, rest, colon := splitHost(rest, scp)
	if authority == "" {
		// Without a host it is a path to kustomize too, unless it has a scheme.
		r.problem = "it has no host"
		return r, r.Scheme != ""
	}
	switch {
	case github && (r.Scheme == "ssh" || r.User != ""):
		r.Scheme, authority, colon = "ssh", "github.com", true
	case github:
		r.Scheme, authority = "https", "github.com"
	case scp:
		r.Scheme = "ssh"
	}
	r.setHost(authority, colon)
	r.setPath(rest, colon)
	r.setQuery(query)
	if control(address) || len(address) > maxAddress {
		r.refuse("it has a space or a control character, or is too long")
	}
	return r, true
}

// refuse notes the first reason.
func (r *Repository) refuse(reason string) {
	if r.problem == "" {
		r.problem = reason
	}
}

// splitHost parts the host from the path. In scp form a colon does that.
func splitHost(text string, scp bool) (authority, rest string, colon bool) {
	i := strings.IndexByte(text, '/')
	if c := strings.IndexByte(text, ':'); scp && c > 0 && (i < 0 || c < i) {
		i, colon = c, true
	}
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], colon
}

func (r *Repository) setHost(authority string, colon bool) {
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		name, password, _ := strings.Cut(authority[:at], ":")
		name, err := url.PathUnescape(name)
		if err == nil {
			password, err = url.PathUnescape(password)
		}
		if err != nil || r.Scheme == "ssh" {
			r.refuse("it has a password that cannot be used")
		}
		r.login, authority = url.UserPassword(name, password), authority[at+1:]
	} else if r.User != "" && r.Scheme != "ssh" {
		r.login = url.User(r.User)
	}
	if r.Scheme != "ssh" {
		r.User = ""
	}
	name, port := authority, ""
	if n, p, err := net.SplitHostPort(authority); err == nil && !colon {
		name, port = n, p
		if p == "" {
			r.refuse("its port is empty")
		}
	}
	h, reason := parseHost(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"), port, r.Scheme)
	if reason != "" {
		r.refuse(reason)
		return
	}
	r.host, r.Host = h, h.String()
}

// setPath parts the repository from the folder in it: at _git/NAME, at //, behind
// .git, else after two elements.
func (r *Repository) setPath(text string, colon bool) {
	repository, folder := text, ""
	if i := strings.Index(text, "_git/"); i >= 0 {
		name, below, _ := strings.Cut(text[i+len("_git/"):], "/")
		repository, folder = text[:i+len("_git/")]+name, below
	} else if i := strings.Index(text, "//"); i >= 0 {
		repository, folder = text[:i], text[i+2:]
	} else if i := strings.Index(text, ".git"); i >= 0 {
		repository, folder = text[:i+len(".git")], text[i+len(".git"):]
	} else if parts := strings.SplitN(text, "/", 3); len(parts) == 1 || parts[0] == "" || parts[1] == "" {
		r.refuse("its path names no repository")
	} else if len(parts) == 3 {
		repository, folder = parts[0]+"/"+parts[1], parts[2]
	}
	repository = strings.TrimRight(repository, "/")
	folder = path.Clean(strings.TrimLeft(folder, "/"))
	if !filepath.IsLocal(folder) || strings.ContainsAny(folder, `\`) {
		r.refuse("the folder leads out of the repository")
	}
	if folder != "." {
		r.Folder = folder
	}
	plain, err := url.PathUnescape(repository)
	switch {
	case err != nil || repository == "" || len(repository) > 1024 || !pathForm.MatchString(repository):
		r.refuse("the path of the repository has a character that is not allowed")
	case control(plain) || !local(strings.Trim(plain, "/")):
		r.refuse("the path of the repository has an empty or dotted element")
	case strings.HasPrefix(strings.TrimLeft(plain, "/"), "-"):
		r.refuse("the path of the repository begins with a hyphen")
	}
	if r.Scheme == "ssh" {
		// In scp form the path is relative to the home folder; so is /~ in a URL.
		if !colon && !strings.HasPrefix(repository, "~") {
			repository = "/" + repository
		}
		r.Path = repository
		return
	}
	r.Path = "/" + strings.TrimLeft(repository, "/")
}

func (r *Repository) setQuery(query string) {
	values, err := url.ParseQuery(query)
	if err != nil {
		r.refuse("what follows its question mark is malformed")
		return
	}
	if r.Ref = values.Get("ref"); r.Ref == "" {
		r.Ref = values.Get("version")
	}
	if reason := checkRef(r.Ref); reason != "" {
		r.refuse(reason)
	}
	// Source: kustomize, a number of seconds or a duration.
	if n, err := strconv.ParseInt(values.Get("timeout"), 10, 32); err == nil && n > 0 {
		r.Timeout = time.Duration(n) * time.Second
	} else if d, err := time.ParseDuration(values.Get("timeout")); err == nil && d > 0 {
		r.Timeout = d
	}
}

// checkRef returns why a reference cannot be asked for. Source: Git,
// git-check-ref-format.
func checkRef(ref string) string {
	switch {
	case ref == "":
		return ""
	case strings.HasPrefix(ref, "-"):
		return "the reference begins with a hyphen"
	case len(ref) > maxName || control(ref) || strings.ContainsAny(ref, `~^:?*[\"';&|<>$(){}`+"`") || !local(ref) ||
		strings.Contains(ref, "..") || strings.Contains(ref, "@{") || strings.HasSuffix(ref, "."):
		return "the reference is no valid name of a branch, a tag or a commit"
	}
	return ""
}

// URL returns the address of the repository without folder, reference and
// credentials.
func (r Repository) URL() string {
	if r.Scheme == "ssh" {
		user := r.User
		if user == "" {
			user = "git"
		}
		return "ssh://" + user + "@" + r.Host + "/" + strings.TrimPrefix(r.Path, "/")
	}
	return r.Scheme + "://" + r.Host + r.Path
}
