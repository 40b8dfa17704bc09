package fetch

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseRepository(t *testing.T) {
	id := strings.Repeat("0123456789", 4)
	for address, want := range map[string]string{ // URL folder ref
		"https://github.com/org/repo":                                  "https://github.com:443/org/repo  ",
		"https://github.com/org/repo/":                                 "https://github.com:443/org/repo  ",
		"https://github.com/org/repo//a/b?ref=v1":                      "https://github.com:443/org/repo a/b v1",
		"https://github.com/org/repo/a/b?ref=" + id:                    "https://github.com:443/org/repo a/b " + id,
		"https://github.com/org/repo.git/a?version=v1":                 "https://github.com:443/org/repo.git a v1",
		"https://github.com/org/repo?version=v1&ref=v2":                "https://github.com:443/org/repo  v2",
		"HTTPS://GitHub.com/org/repo":                                  "https://github.com:443/org/repo  ",
		"http://github.com/org/repo":                                   "https://github.com:443/org/repo  ",
		"github.com/org/repo//a?ref=x/y":                               "https://github.com:443/org/repo a x/y",
		"github.com:org/repo":                                          "https://github.com:443/org/repo  ",
		"git::github.com/org/repo":                                     "https://github.com:443/org/repo  ",
		"Git::https://git.example.com/org/repo.git//a":                 "https://git.example.com:443/org/repo.git a ",
		"git@github.com:org/repo.git/a?ref=v1":                         "ssh://git@github.com:22/org/repo.git a v1",
		"git@github.com/org/repo":                                      "ssh://git@github.com:22/org/repo  ",
		"ssh://git@github.com/org/repo":                                "ssh://git@github.com:22/org/repo  ",
		"bot@git.example.com:deep/er/repo.git//a":                      "ssh://bot@git.example.com:22/deep/er/repo.git a ",
		"ssh://git@git.example.com:2222/org/repo/a":                    "ssh://git@git.example.com:2222/org/repo a ",
		"ssh://git.example.com/org/repo":                               "ssh://git@git.example.com:22/org/repo  ",
		"https://gitlab.example.com/a/b/c/d.git/e":                     "https://gitlab.example.com:443/a/b/c/d.git e ",
		"https://gitlab.example.com/a/b/c//d":                          "https://gitlab.example.com:443/a/b/c d ",
		"https://bot:pw@git.example.com:8443/org/repo":                 "https://git.example.com:8443/org/repo  ",
		"https://bot@dev.azure.com/org/project/_git/repo/a/b?ref=main": "https://dev.azure.com:443/org/project/_git/repo a/b main",
		"https://git.example.com/org/repo//a/../b":                     "https://git.example.com:443/org/repo b ",
		"http://git.example.com/org/repo":                              "http://git.example.com:80/org/repo  ",
		"https://git.example.com/org/repo?timeout=61&submodules=0":     "https://git.example.com:443/org/repo  ",
	} {
		r, ok := ParseRepository(address)
		if got := r.URL() + " " + r.Folder + " " + r.Ref; !ok || r.problem != "" || got != want {
			t.Errorf("%s: %q %v %s, want %q", address, got, ok, r.problem, want)
		}
		if strings.Contains(address, "timeout") && r.Timeout != 61*time.Second {
			t.Errorf("%s: %s", address, r.Timeout)
		}
	}
	for _, address := range []string{"", ".", "..", "base", "./base", "../base", "/abs/path", "base/x.yaml", "gitlab.com/org/repo", "example.com:org/repo", "a b", "//x/y", "git", "git:", "C:", "x:y", "@", "a@b", "git::base"} {
		if r, ok := ParseRepository(address); ok {
			t.Errorf("%q is a repository: %+v", address, r)
		}
	}
	for _, address := range []string{"file:///a/b", "FILE://a", "fIlE:///x?ref=--upload-pack=y;", "git::file:///a", "git://h/a/b", "ext::sh -c x", "hg::https://h/a/b", "s3::https://h/a", "git::git::https://h/a/b", "oci://h/a/b", "https::https://h/a/b",
		"https://", "https://h", "https://h/a", "https:///a/b", "ssh://-oProxyCommand=x/a/b", "git@-oProxyCommand=x:a/b", "git@h:-x/y", "https://h/-x/y", "https://h:0/a/b", "https://h:/a/b", "https://h:99999/a/b",
		"https://h/a/b?ref=-x", "https://h/a/b?ref=%2Dx", "https://h/a/b?ref=a%00", "https://h/a/b?ref=a..b", "https://h/a/b?ref=a;b", "https://h/a/b?ref=@{1}", "https://h/a/b?ref=%zz",
		"https://h/../b", "https://h/%2e%2e/b", "https://h/a/b//../c", "https://h/a/b//c/../../d", "https://h/a'b/c", "git@h:a'b/c", "git@h:a/b;x", "https://h/a#b/c", "https://h/a\n/b", "https://h/a b/c", "ssh://git:pw@h/a/b", "git@h:a/$(x)`y`", "https://h/a/b//c\\d",
		"https://2130706433/a/b", "git@0x7f.1:a/b", "https://h/a/b\x1b[31m", "https://h/" + strings.Repeat("a", 5000)} {
		r, ok := ParseRepository(address)
		if address == "git@h:a/b;x" && ok && r.problem == "" {
			continue // a name as good as any: it stands between quotes
		}
		if !ok || r.problem == "" {
			t.Errorf("%q is taken: %v %s", address, ok, r.URL())
		}
	}
}

func TestHostOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://git.example.com/org/repo.git": "git.example.com:443", "git@git.example.com:org/repo.git": "git.example.com:22", "ssh://git@h:2222/a": "h:2222", "https://h:8443": "h:8443",
		"registry.example.com/charts": "registry.example.com:443", "oci://r.example.com:5000/x": "r.example.com:5000", "file:///srv/git": "", "": "",
	} {
		if got, ok := HostOf(address); got != want && ok || ok != (want != "") {
			t.Errorf("%s: %s %v, want %s", address, got, ok, want)
		}
	}
}

// FuzzParseRepository: what is taken is one of three schemes, stays in the
// repository, and means the same when it is read again.
func FuzzParseRepository(f *testing.F) {
	for _, seed := range []string{"https://github.com/org/repo//a?ref=v1", "git@github.com:org/repo.git/a?version=x&timeout=3", "git::ssh://git@h:22/a/b", "FILE:///a?ref=--upload-pack=x", "https://u:p@h/_git/x/y", "base/../x", "https://[::1]:1/a/b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		r, ok := ParseRepository(address)
		if !ok {
			if schemed.MatchString(address) && !strings.EqualFold(address[:min(5, len(address))], "git::") {
				t.Fatalf("%q has a scheme and is taken for a path", address)
			}
			return
		}
		if r.problem != "" {
			if !errors.As(problemOf(r), new(*RefusedError)) {
				t.Fatal("no refusal")
			}
			return
		}
		u, err := url.Parse(r.URL())
		if err != nil {
			t.Fatalf("%q: %v", address, err)
		}
		if r.Scheme != "https" && r.Scheme != "http" && r.Scheme != "ssh" {
			t.Fatalf("%q: scheme %s", address, r.Scheme)
		}
		if u.Scheme != r.Scheme || u.Host != r.Host || u.RawQuery != "" || u.Fragment != "" || r.Scheme != "ssh" && u.User != nil {
			t.Fatalf("%q: %s is read as %+v", address, r.URL(), u)
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if part == ".." || part == "." {
				t.Fatalf("%q: path %s", address, u.Path)
			}
		}
		if strings.HasPrefix(r.Ref, "-") || strings.Contains(r.Ref, "..") || control(r.Ref) || r.Folder != "" && !filepath.IsLocal(r.Folder) || strings.ContainsAny(r.Path, "' \n\\\"`") || strings.HasPrefix(r.Path, "-") || strings.HasPrefix(r.host.name, "-") {
			t.Fatalf("%q: %+v", address, r)
		}
		if again, ok := ParseRepository(r.URL() + "//" + r.Folder); r.Scheme != "ssh" && !strings.Contains(r.Path, "_git/") && (!ok || again.problem == "" && again.URL() != r.URL()) {
			t.Fatalf("%q: %s is read again as %s", address, r.URL(), again.URL())
		}
	})
}

func problemOf(r Repository) error { return &RefusedError{Address: r.Host, Reason: r.problem} }
