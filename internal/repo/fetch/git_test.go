package fetch_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

// forge is a Git server: the repositories below a folder, over HTTPS.
type forge struct {
	*server
	dir string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	backend := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"), Dir: dir,
		Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
	}
	return &forge{serve(t, backend), dir}
}

// bare is a repository on a forge.
type bare struct {
	t   *testing.T
	dir string
	url string
}

func (f *forge) repository(t *testing.T, name string) *bare {
	t.Helper()
	b := &bare{t, filepath.Join(f.dir, name), f.URL + "/" + name}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.git("", "init", "--quiet", "--bare", "--initial-branch=main")
	b.git("", "config", "uploadpack.allowAnySHA1InWant", "true")
	return b
}

func (b *bare) git(input string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = b.dir, strings.NewReader(input)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+b.dir,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2030-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2030-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// node is an entry of a tree: content for files and links, entries for folders.
type node struct {
	mode, name, content string
	entries             []node
	id                  string // instead of content
}

func (b *bare) blob(content string) string {
	return b.git(content, "hash-object", "-w", "--stdin")
}

// tree writes a tree as it is given, without the checks of Git.
func (b *bare) tree(nodes ...node) string {
	b.t.Helper()
	var text strings.Builder
	for _, n := range nodes {
		id := n.id
		switch {
		case id != "":
		case n.mode == "40000":
			id = b.tree(n.entries...)
		default:
			id = b.blob(n.content)
		}
		raw, err := hex.DecodeString(id)
		if err != nil {
			b.t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %s\x00%s", n.mode, n.name, raw)
	}
	return b.git(text.String(), "hash-object", "-w", "--stdin", "-t", "tree", "--literally")
}

// commit puts a tree onto a branch and returns the commit.
func (b *bare) commit(branch string, nodes ...node) string {
	b.t.Helper()
	args := []string{"commit-tree", "-m", "x", b.tree(nodes...)}
	if old, err := exec.Command("git", "-C", b.dir, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch).Output(); err == nil {
		args = append(args, "-p", strings.TrimSpace(string(old)))
	}
	id := b.git("", args...)
	b.git("", "update-ref", "refs/heads/"+branch, id)
	return id
}

func file(name, content string) node     { return node{mode: "100644", name: name, content: content} }
func folder(name string, n ...node) node { return node{mode: "40000", name: name, entries: n} }
func link(name, target string) node      { return node{mode: "120000", name: name, content: target} }

// contents lists what is below a folder.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			if info.Mode().Perm() != 0o700 {
				t.Errorf("%s has mode %s", rel, info.Mode())
			}
		case d.Type()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			lines = append(lines, rel+" -> "+target)
		default:
			if info.Mode() != 0o600 {
				t.Errorf("%s has mode %s", rel, info.Mode())
			}
			content, _ := os.ReadFile(path)
			lines = append(lines, rel+": "+string(content))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestRepository(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	long := strings.Repeat("a line that many versions share\n", 200)
	one := b.commit("main", file("a", "one"), folder("base", file("kustomization.yaml", "k1"), file("long", long)), node{mode: "100755", name: "run", content: "#!/bin/sh"})
	b.git("", "tag", "v1")
	b.git("", "tag", "-a", "-m", "x", "v1.1", one)
	two := b.commit("main", file("a", "two"), folder("base", file("kustomization.yaml", "k2"), file("long", long+"end"), link("top", "../a")))
	b.git("", "gc", "--quiet", "--aggressive") // makes differences
	o := allow(s.server)
	o.CacheDir, o.Now = t.TempDir(), clock
	f := open(t, o)
	first := "a: one\nbase/kustomization.yaml: k1\nbase/long: " + long + "\nrun: #!/bin/sh"
	second := "a: two\nbase/kustomization.yaml: k2\nbase/long: " + long + "end\nbase/top -> ../a"
	for _, c := range []struct{ suffix, commit, path, content string }{
		{"", two, ".", second},
		{"?ref=main", two, ".", second},
		{"?ref=HEAD", two, ".", second},
		{"?ref=refs/heads/main", two, ".", second},
		{"//base?ref=v1", one, "base", first},
		{"/base?version=v1", one, "base", first},
		{"//base/?ref=v1.1&timeout=60s&submodules=false", one, "base", first},
		{"?ref=" + one, one, ".", first},
		{"//base/kustomization.yaml?ref=" + two, two, "base/kustomization.yaml", second},
	} {
		for _, prefix := range []string{"", "git::"} {
			got, err := f.Repository(background, prefix+b.url+c.suffix)
			if err != nil {
				t.Errorf("%s: %v", c.suffix, err)
				continue
			}
			if got.Commit != c.commit || got.Path != c.path || len(got.Skipped) != 0 {
				t.Errorf("%s: %+v", c.suffix, got)
			}
			if is := contents(t, got.Dir); is != c.content {
				t.Errorf("%s:\n%s\nwant\n%s", c.suffix, is, c.content)
			}
		}
	}
	for suffix, reason := range map[string]string{
		"?ref=none":                          "no branch or tag none",
		"?ref=" + one[:10]:                   "all 40 digits",
		"//none?ref=v1":                      "has no none",
		"?ref=" + strings.Repeat("0123", 10): "commit 0123",
	} {
		if _, err := f.Repository(background, b.url+suffix); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", suffix, err)
		}
	}
	for _, suffix := range []string{"?ref=--upload-pack=touch%20x", "?ref=-x", "?ref=a..b", "?ref=../x", "?ref=a%0ab", "?ref=a%20b", "?ref=a:b", "?ref=%2d-x", "?ref=a;b", "?ref=" + strings.Repeat("a", 300),
		"?version=-x", "//../x?ref=v1", "//a/../../b?ref=v1", "/%2e%2e/x/a.git", "/../x.git", `//a\b`} {
		if _, err := f.Repository(background, b.url+suffix); err == nil {
			t.Errorf("%s is taken", suffix)
		} else if suffix != "/%2e%2e/x/a.git" && suffix != "/../x.git" {
			_ = refused(t, err, "")
		}
	}

	// A commit is there in the next run without a question, a branch after one.
	before := s.count()
	f = open(t, o)
	if _, err := f.Repository(background, b.url+"?ref="+one); err != nil || s.count() != before {
		t.Errorf("%v, %d requests", err, s.count()-before)
	}
	got, err := f.Repository(background, b.url+"?ref=main")
	if err != nil || s.count() != before+1 {
		t.Errorf("%v, %d requests", err, s.count()-before)
	}
	// A damaged checkout is fetched again.
	if err := os.WriteFile(filepath.Join(got.Dir, "a"), []byte("tw0"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = open(t, o)
	if got, err = f.Repository(background, b.url+"?ref="+two); err != nil || contents(t, got.Dir) != second {
		t.Errorf("%v, %+v", err, got)
	}
	// Without a cache it lies in a folder of the run.
	o.NoCache = true
	f = fetch.New(o)
	if got, err = f.Repository(background, b.url); err != nil || strings.HasPrefix(got.Dir, o.CacheDir) {
		t.Errorf("%v, %+v", err, got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(got.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("it is left over")
	}
}

// TestProgramsOfRepository: nothing of a repository is started, and no git.
func TestProgramsOfRepository(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	b.commit("main", file(".gitattributes", "* filter=evil\n"), file(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch\n"), file("a", "a"),
		file("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), node{mode: "160000", name: "x", id: strings.Repeat("12", 20)})
	stubs := t.TempDir()
	called := filepath.Join(stubs, "called")
	for _, name := range []string{"git", "ssh", "sh", "git-lfs", "helm", "kustomize"} {
		if err := os.WriteFile(filepath.Join(stubs, name), []byte("#!/bin/sh\n: > "+called+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := open(t, allow(s.server))
	path := os.Getenv("PATH")
	t.Setenv("PATH", stubs)
	got, err := f.Repository(background, b.url)
	t.Setenv("PATH", path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Skipped) != 1 || got.Skipped[0].Path != "x" || !strings.Contains(got.Skipped[0].Reason, "submodule") {
		t.Errorf("%+v", got.Skipped)
	}
	if _, err := os.Stat(called); err == nil {
		t.Error("a program was started")
	}
}

// TestHostileTree: what could leave the checkout, or be taken for something else in
// it, is not written and said.
func TestHostileTree(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	out := t.TempDir()
	b.commit("main",
		file("good", "good"), folder("sub", file("inside", "x"), link("up", "../good"), link("far", "../../x"), link("self", "."), link("top", ".."), link("escape", "top/..")),
		link("absolute", "/etc/passwd"), link("parent", ".."), link("through", "sub/../../x"), link("hidden", "self/.."), link("self", "."), link("empty", ""),
		link("out", out), file("out/x", "x"),
		folder(".git", file("config", "[core]\n\tfsmonitor = touch x\n")), folder(".GIT", file("config", "x")), folder(".git ", file("config", "x")), folder("git~1", file("config", "x")),
		folder(".g\u200cit", file("config", "x")), file(".git.", "x"), file(".git::$INDEX_ALLOCATION", "x"),
		file("..", "x"), file(".", "x"), file("a/b", "x"), file("../../x", "x"), file("/tmp/x", "x"), file(`..\x`, "x"),
		file("line\nbreak", "x"), file("\x1b[31mred", "x"), file("bad\xff", "x"), file(strings.Repeat("n", 256), "x"),
		node{mode: "10644", name: "fifo", content: "x"}, node{mode: "160000", name: "module", id: strings.Repeat("12", 20)},
		folder("link-then-folder"), link("link-then-folder", out), file("good", "again"), file(".gitignore", "x"), file("..data", "x"),
	)
	f := open(t, allow(s.server))
	got, err := f.Repository(background, b.url)
	if err != nil {
		t.Fatal(err)
	}
	want := "..data: x\n.gitignore: x\ngood: good\nself -> .\nsub/inside: x\nsub/self -> .\nsub/top -> ..\nsub/up -> ../good"
	if is := contents(t, got.Dir); is != want {
		t.Errorf("%s\nwant\n%s", is, want)
	}
	var skipped []string
	for _, e := range got.Skipped {
		skipped = append(skipped, e.Path)
		if strings.ContainsAny(e.Path, "\n\x1b") || e.Reason == "" {
			t.Errorf("%+v", e)
		}
	}
	if len(skipped) != 30 {
		t.Errorf("%d: %q", len(skipped), skipped)
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Error("something was written outside")
	}
	// A folder that is named through a link out of the checkout is not there.
	if _, err := f.Repository(background, b.url+"//absolute"); err == nil {
		t.Error("a link that leads out is followed")
	}
}

// TestTooMuch: each limit ends the download.
func TestTooMuch(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches as much as the limits allow")
	}
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	b.commit("zeros", file("a", strings.Repeat("0", 1<<20)))
	b.commit("many", func() (n []node) {
		id := b.blob("x")
		for i := range 2000 {
			n = append(n, node{mode: "100644", name: fmt.Sprintf("f%04d", i), id: id})
		}
		return n
	}()...)
	// A million files, each the same, of a dozen objects.
	id, mode := b.blob("x"), "100644"
	for range 6 {
		var n []node
		for i := range 10 {
			n = append(n, node{mode: mode, name: fmt.Sprint(i), id: id})
		}
		id, mode = b.tree(n...), "40000"
	}
	b.commit("million", node{mode: mode, name: "d", id: id})
	big := b.blob(strings.Repeat("1", 1<<18))
	b.commit("same", node{mode: "100644", name: "a", id: big}, node{mode: "100644", name: "b", id: big}, node{mode: "100644", name: "c", id: big})
	deep := b.tree(file("x", "x"))
	for range 150 {
		deep = b.tree(node{mode: "40000", name: "d", id: deep})
	}
	b.commit("deep", node{mode: "40000", name: "d", id: deep})
	noise := make([]byte, 1<<18)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	b.commit("noise", file("a", string(noise)))
	for _, c := range []struct {
		ref    string
		limits fetch.Limits
		limit  string // empty where it fits
	}{
		{"zeros", fetch.Limits{}, ""},
		{"zeros", fetch.Limits{File: 1<<20 - 1}, "for one file"},
		{"zeros", fetch.Limits{Checkout: 1<<20 - 1}, "1048575 bytes"},
		{"noise", fetch.Limits{}, ""},
		{"noise", fetch.Limits{Pack: 1 << 16}, "65536 bytes"},
		{"many", fetch.Limits{Files: 2000}, ""},
		{"many", fetch.Limits{Files: 1999}, "1999 files"},
		{"million", fetch.Limits{}, "200000 files"},
		{"same", fetch.Limits{Checkout: 1 << 20}, ""},
		{"same", fetch.Limits{Checkout: 1 << 19}, "524288 bytes"},
		{"deep", fetch.Limits{}, "100 nested folders"},
		{"deep", fetch.Limits{Files: 100}, "100 objects"},
	} {
		o := allow(s.server)
		o.Limits = c.limits
		_, err := open(t, o).Repository(background, b.url+"?ref="+c.ref)
		var limit *fetch.LimitError
		if c.limit == "" && err != nil || c.limit != "" && (!errors.As(err, &limit) || !strings.HasPrefix(limit.Limit+" ", c.limit) && !strings.Contains(limit.Limit, c.limit)) {
			t.Errorf("%s %+v: %v", c.ref, c.limits, err)
		}
	}
}

// TestRefusedCommit: a server that does not give out commits by id says so.
func TestRefusedCommit(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	b.git("", "config", "uploadpack.allowAnySHA1InWant", "false")
	old := b.commit("old", file("a", "1"))
	b.git("", "update-ref", "-d", "refs/heads/old")
	tip := b.commit("main", file("a", "2"))
	f := open(t, allow(s.server))
	if _, err := f.Repository(background, b.url+"?ref="+tip); err != nil {
		t.Error(err)
	}
	if _, err := f.Repository(background, b.url+"?ref="+old); err == nil || !strings.Contains(err.Error(), "give out commits") {
		t.Error(err)
	}
}

// TestNoRepository: other answers are errors that say what is wrong.
func TestNoRepository(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/empty.git")
	f := open(t, allow(s.server))
	if _, err := f.Repository(background, b.url); err == nil {
		t.Error("an empty repository has a commit")
	}
	var status *fetch.StatusError
	if _, err := f.Repository(background, s.URL+"/org/none.git"); !errors.As(err, &status) {
		t.Error(err)
	}
	web := serve(t, text("<html>"))
	if _, err := open(t, allow(web)).Repository(background, web.URL+"/a/b"); err == nil || !strings.Contains(err.Error(), "no Git repository") {
		t.Error(err)
	}
	for _, address := range []string{"base", "./a/b", "/srv/git", "../x?ref=main", ""} {
		_, err := f.Repository(background, address)
		_ = refused(t, err, "no address")
	}
}

// TestRedirectedRepository: a server may send to the name of a repository, and the
// password stays with its host.
func TestRedirectedRepository(t *testing.T) {
	s := newForge(t)
	b := s.repository(t, "org/app.git")
	b.commit("main", file("a", "1"))
	front := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Error("something was sent to the first server")
		}
		http.Redirect(w, r, s.URL+strings.Replace(r.URL.Path, "/app/", "/app.git/", 1)+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
	}))
	f := open(t, allow(s.server, front))
	got, err := f.Repository(background, strings.Replace(front.URL, "https://", "https://bot:canary@", 1)+"/org/app")
	if err != nil || contents(t, got.Dir) != "a: 1" {
		t.Fatalf("%+v, %v", got, err)
	}
	if front.last().Header.Get("Authorization") == "" {
		t.Error("the first server does not get the password")
	}
	for _, r := range s.requests {
		if r.Header.Get("Authorization") != "" {
			t.Error("the second server gets the password")
		}
	}
}
