package fetch_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

var background = context.Background()

func TestFile(t *testing.T) {
	s := serve(t, text("kind: ConfigMap\n"))
	f := open(t, allow(s))
	for range 2 {
		got, err := f.File(background, s.URL+"/x.yaml")
		if err != nil || string(got) != "kind: ConfigMap\n" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if s.count() != 1 {
		t.Errorf("asked %d times", s.count())
	}
}

// TestNotFile: a page of HTML or another status means that the address may be that
// of a repository.
func TestNotFile(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			return
		}
		http.NotFound(w, r)
	}))
	f := open(t, allow(s))
	if _, err := f.File(background, s.URL+"/page"); !errors.Is(err, fetch.ErrNotFile) {
		t.Error(err)
	}
	var status *fetch.StatusError
	if _, err := f.File(background, s.URL+"/x?token=canary"); !errors.As(err, &status) || status.Code != 404 || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

// TestSchemes: in every place where an address can stand, a scheme that is not
// allowed is refused, whatever its case.
func TestSchemes(t *testing.T) {
	bad := []string{}
	for _, scheme := range []string{"file", "git", "ftp", "gopher", "ext", "hg", "s3", "data", "javascript", "unix", "rsync", "git+file", "git+ssh"} {
		for _, form := range []string{scheme, strings.ToUpper(scheme), strings.ToUpper(scheme[:1]) + scheme[1:]} {
			bad = append(bad, form+"://127.0.0.1/etc/passwd", form+"::sh -c touch%20x", form+"::https://127.0.0.1/a/b", "git::"+form+"://127.0.0.1/a/b", "GIT::"+form+"://127.0.0.1/a/b")
		}
	}
	bad = append(bad, "file:/etc/passwd", "FILE:///etc/passwd", "https:127.0.0.1/a/b", "https:///a/b", "https://", "ext::sh")
	var index string
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = w.Write([]byte(index))
	}))
	for _, address := range bad {
		f := open(t, allow(s))
		if _, err := f.File(background, address); err != nil {
			_ = refused(t, err, "")
		} else {
			t.Errorf("file %s is taken", address)
		}
		_, err := f.Repository(background, address+"?ref=--upload-pack=touch")
		if err == nil {
			t.Errorf("repository %s is taken", address)
		}
		_ = refused(t, err, "")
		if strings.Contains(address, "://") {
			_, err = f.Chart(background, address, "app", "1.0.0")
			_ = refused(t, err, "")
			if strings.Contains(address, " ") {
				continue // not the Location of a redirect
			}
			if _, err = f.File(background, s.URL+"/?to="+address); err == nil {
				t.Errorf("redirect to %s is followed", address)
			}
			index = fmt.Sprintf("entries:\n  app:\n  - version: 1.0.0\n    urls: [%q]\n", address)
			if _, err := f.Chart(background, s.URL, "app", "1.0.0"); err == nil {
				t.Errorf("archive at %s is taken", address)
			} else {
				_ = refused(t, err, "")
			}
		}
	}
}

func TestOffline(t *testing.T) {
	s := serve(t, text("x"))
	o := allow(s)
	o.Offline, o.CacheDir = true, t.TempDir()
	o.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name is looked up")
		return nil, errors.New("no")
	}}
	f := open(t, o)
	_, file := f.File(background, "https://u:canary@files.example.com/x")
	_, repository := f.Repository(background, "git@git.example.com:a/b")
	_, upper := f.Repository(background, "FILE:///srv/git?ref=x")
	_, chart := f.Chart(background, "https://charts.example.com", "app", "1.0.0")
	_, oci := f.Chart(background, "registry.example.com/charts", "app", "1.0.0")
	_, here := f.File(background, s.URL)
	for _, err := range []error{file, repository, upper, chart, oci, here} {
		var offline *fetch.OfflineError
		if !errors.As(err, &offline) || strings.Contains(err.Error(), "canary") {
			t.Error(err)
		}
	}
	if s.count() != 0 {
		t.Error("the server was asked")
	}
	if left, _ := os.ReadDir(o.CacheDir); len(left) != 0 {
		t.Error("the cache was written")
	}
}

// TestAddresses: what a name resolves to is judged when the connection is made.
func TestAddresses(t *testing.T) {
	s := serve(t, text("inside"))
	for _, c := range []struct {
		name, resolves string
		allow          []string
		reason         string // empty where the file is fetched
	}{
		{"127.0.0.1", "", nil, "private network"},
		{"[::ffff:127.0.0.1]", "", nil, "private network"},
		{"localhost", "127.0.0.1", nil, "private network"},
		{"example.com", "127.0.0.1", nil, "--allow-host example.com:"},
		{"example.com", "10.0.0.1", nil, "private network"},
		{"example.com", "fd12::1", nil, "private network"},
		{"example.com", "127.0.0.1", []string{"127.0.0.1"}, "private network"},
		{"example.com", "127.0.0.1", []string{"example.com:1"}, "private network"},
		{"example.com", "127.0.0.1", []string{"example.com"}, ""},
		{"EXAMPLE.com.", "127.0.0.1", []string{"Example.com"}, ""},
		{"127.0.0.1", "", []string{"127.0.0.1"}, ""},
		{"example.com", "169.254.169.254", []string{"example.com"}, "never asked"},
		{"169.254.169.254", "", []string{"169.254.169.254"}, "never asked"},
		{"[fe80::1]", "", []string{"fe80::1"}, "never asked"},
		{"[fd00:ec2::254]", "", []string{"fd00:ec2::254"}, "never asked"},
		{"0.0.0.0", "", []string{"0.0.0.0"}, "never asked"},
		{"[::]", "", []string{"::"}, "never asked"},
		{"2130706433", "", []string{"2130706433"}, "unusual form"},
		{"127.1", "", []string{"127.1", "127.0.0.1"}, "unusual form"},
		{"0x7f000001", "", []string{"127.0.0.1"}, "unusual form"},
	} {
		o := trust(s)
		o.AllowHosts, o.Resolver = c.allow, names(t, map[string]string{strings.ToLower(strings.TrimSuffix(c.name, ".")): c.resolves, "example.com": c.resolves})
		f := open(t, o)
		got, err := f.File(background, "https://"+c.name+":"+s.port+"/x")
		if c.reason == "" {
			if err != nil || string(got) != "inside" {
				t.Errorf("%s -> %s: %v", c.name, c.resolves, err)
			}
			continue
		}
		_ = refused(t, err, c.reason)
		_, err = f.Repository(background, "ssh://git@"+c.name+":"+s.port+"/a/b")
		if err == nil {
			t.Errorf("ssh to %s", c.name)
		}
	}
	// OwnHosts are allowed as AllowHosts are.
	o := trust(s)
	o.OwnHosts = []string{s.host}
	if _, err := open(t, o).File(background, s.URL); err != nil {
		t.Error(err)
	}
}

func TestPlainHTTP(t *testing.T) {
	s := servePlain(t, text("x"))
	o := trust()
	_, err := open(t, o).File(background, s.URL)
	_ = refused(t, err, "--allow-host 127.0.0.1:")
	_, err = open(t, o).Repository(background, s.URL+"/a/b")
	_ = refused(t, err, "not encrypted")
	_, err = open(t, o).Chart(background, s.URL, "app", "1.0.0")
	_ = refused(t, err, "not encrypted")
	if s.count() != 0 {
		t.Error("it was asked")
	}
	if _, err := open(t, allow(s)).File(background, s.URL); err != nil {
		t.Error(err)
	}
}

func TestRedirects(t *testing.T) {
	plainServer := servePlain(t, text("plain"))
	other := serve(t, text("other"))
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/end":
			_, _ = w.Write([]byte("end"))
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		}
	}))
	f := open(t, allow(s, other, plainServer))
	for to, reason := range map[string]string{
		"https://169.254.169.254/latest/meta-data/": "never asked",
		"https://[fe80::1]/":                        "never asked",
		"http://169.254.169.254/":                   "not encrypted",
		plainServer.URL:                             "not encrypted",
		"https://127.0.0.1:1/":                      "private network",
		"https://10.0.0.1/":                         "private network",
		"file:///etc/passwd":                        "scheme",
		"FILE:///etc/passwd":                        "not encrypted",
		"/loop":                                     "too often",
	} {
		_, err := f.File(background, s.URL+"/?to="+to)
		var r *fetch.RefusedError
		if !errors.As(err, &r) {
			t.Errorf("%s: %v", to, err)
		} else if to != "FILE:///etc/passwd" && to != "file:///etc/passwd" && !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v, want %q", to, err, reason)
		}
	}
	if plainServer.count() != 0 {
		t.Error("the server that is not encrypted was asked")
	}
	// Credentials go to the host of the address and to no other.
	address := strings.Replace(s.URL, "https://", "https://bot:canary@", 1)
	if got, err := f.File(background, address+"/?to=/end"); err != nil || string(got) != "end" {
		t.Errorf("%q, %v", got, err)
	}
	if _, password, _ := s.last().BasicAuth(); password != "canary" {
		t.Error("the host itself does not get its password")
	}
	if got, err := f.File(background, address+"/?to="+other.URL); err != nil || string(got) != "other" {
		t.Errorf("%q, %v", got, err)
	}
	for name, values := range other.last().Header {
		if strings.Contains(fmt.Sprint(values), "canary") || name == "Authorization" || name == "Referer" {
			t.Errorf("another host got %s: %s", name, values)
		}
	}
}

func TestLimits(t *testing.T) {
	const limit = 1 << 16
	release := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			_, _ = w.Write(make([]byte, limit))
		case "/declared":
			w.Header().Set("Content-Length", "10000000000")
			_, _ = w.Write([]byte("x"))
		case "/endless/index.yaml", "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<12)); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1024 {
				_, _ = z.Write(make([]byte, 1<<16))
			}
			_ = z.Close()
		case "/header":
			for i := range 1000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 1000))
			}
		case "/drip":
			_, _ = w.Write([]byte("x"))
			w.(http.Flusher).Flush()
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	}))
	defer close(release)
	o := allow(s)
	o.Limits.Bytes = limit
	f := open(t, o)
	if got, err := f.File(background, s.URL+"/exact"); err != nil || len(got) != limit {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, path := range []string{"/declared", "/endless", "/bomb"} {
		var limit *fetch.LimitError
		if _, err := f.File(background, s.URL+path); !errors.As(err, &limit) {
			t.Errorf("%s: %v", path, err)
		}
	}
	var exceeded *fetch.LimitError
	if _, err := f.Chart(background, s.URL+"/endless", "app", "1.0.0"); !errors.As(err, &exceeded) {
		t.Error(err)
	}
	if _, err := f.File(background, s.URL+"/header"); err == nil {
		t.Error("a header without end is taken")
	}
	o.Limits.Time = time.Millisecond
	var late *fetch.TimeoutError
	if _, err := open(t, o).File(background, s.URL+"/drip"); !errors.As(err, &late) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(background)
	cancel()
	if _, err := f.File(ctx, s.URL+"/drip"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestHostThatFails is asked once, whatever is wanted of it.
func TestHostThatFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	down := listener.Addr().String()
	_ = listener.Close()
	f := open(t, fetch.Options{AllowHosts: []string{"127.0.0.1"}})
	_, err = f.File(background, "https://"+down+"/a")
	if err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Fatal(err)
	}
	// It comes up again, and is not asked in this run.
	listener, err = net.Listen("tcp", down)
	if err != nil {
		t.Skip("the port is taken by another")
	}
	defer func() { _ = listener.Close() }()
	accepted := make(chan struct{}, 1)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			accepted <- struct{}{}
		}
	}()
	if _, err := f.File(background, "https://"+down+"/b"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Error(err)
	}
	if _, err := f.Chart(background, "https://"+down, "app", "1.0.0"); err == nil {
		t.Error("a chart is found")
	}
	if len(accepted) > 0 {
		t.Error("it was asked again")
	}
}

// TestWithoutNetwork: after three hosts that fail no further one is asked.
func TestWithoutNetwork(t *testing.T) {
	var asked sync.Map
	f := open(t, fetch.Options{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asked.Store("x", true)
		return nil, errors.New("no network")
	}}})
	for i := range 3 {
		if _, err := f.File(background, fmt.Sprintf("https://h%d.example.com/", i)); err == nil || strings.Contains(err.Error(), "not asked") {
			t.Fatal(err)
		}
	}
	asked.Clear()
	if _, err := f.File(background, "https://h4.example.com/"); err == nil || !strings.Contains(err.Error(), "no other host could be reached") {
		t.Error(err)
	}
	if _, ok := asked.Load("x"); ok {
		t.Error("a name is looked up")
	}
}

// TestOnce: who wants the same at the same time gets one answer, and what one
// context breaks off another may still have.
func TestOnce(t *testing.T) {
	entered, release := make(chan struct{}, 100), make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		_, _ = w.Write([]byte("x"))
	}))
	f := open(t, allow(s))
	ctx, cancel := context.WithCancel(background)
	var first, others sync.WaitGroup
	first.Go(func() {
		if _, err := f.File(ctx, s.URL); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-entered
	for range 20 {
		others.Go(func() {
			if got, err := f.File(background, s.URL); err != nil || string(got) != "x" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	cancel()
	first.Wait()
	<-entered
	close(release)
	others.Wait()
	if s.count() != 2 {
		t.Errorf("asked %d times", s.count())
	}
}

func TestCredentials(t *testing.T) {
	s := serve(t, text("x"))
	other := serve(t, text("x"))
	home := t.TempDir()
	t.Setenv("HOME", home)
	netrc := "# machine example.org login comment password canary\nmacdef init\nmachine example.net login m password canary\n\nmachine 127.0.0.1 login bot password secret-1\ndefault login any password canary\n"
	if err := os.WriteFile(filepath.Join(home, ".netrc"), []byte(netrc), 0o600); err != nil {
		t.Fatal(err)
	}
	o := trust(s, other) // the host of netrc is allowed without being named
	o.AllowHosts = []string{"example.com"}
	o.Resolver = names(t, map[string]string{"example.com": "127.0.0.1"})
	f := open(t, o)
	if _, err := f.File(background, s.URL); err != nil {
		t.Fatal(err)
	}
	if _, password, _ := s.last().BasicAuth(); password != "secret-1" {
		t.Error("the host of netrc does not get its password")
	}
	if _, err := f.File(background, "https://example.com:"+other.port); err != nil {
		t.Fatal(err)
	}
	if other.last().Header.Get("Authorization") != "" {
		t.Error("another host gets a password")
	}
	if _, err := f.File(background, "https://example.net/"); err == nil {
		t.Error("found")
	}
	// Without encryption nothing of the user is sent.
	plainServer := servePlain(t, text("x"))
	if _, err := f.File(background, plainServer.URL); err != nil {
		t.Fatal(err)
	}
	if plainServer.last().Header.Get("Authorization") != "" {
		t.Error("a password is sent without encryption")
	}
	// Helm's repositories.
	helm := filepath.Join(home, "repositories.yaml")
	t.Setenv("HELM_REPOSITORY_CONFIG", helm)
	t.Setenv("NETRC", filepath.Join(home, "none"))
	if err := os.WriteFile(helm, []byte("apiVersion: v1\nrepositories:\n- name: a\n  url: "+s.URL+"/charts\n  username: bot\n  password: secret-2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = open(t, trust(s, other))
	if _, err := f.File(background, s.URL); err != nil {
		t.Fatal(err)
	}
	if _, password, _ := s.last().BasicAuth(); password != "secret-2" {
		t.Error("the repository of Helm does not get its password")
	}
	_, err := f.File(background, other.URL)
	_ = refused(t, err, "private network")
}

// TestProxy: a proxy of the environment is used, its own address is not judged, and
// an IP address in the request still is.
func TestProxy(t *testing.T) {
	s := serve(t, text("through"))
	proxy := servePlain(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		there, err := net.Dial("tcp", s.host)
		if err != nil {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		here, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() { _, _ = buffered.WriteTo(there) }()
		go func() {
			defer func() { _ = here.Close() }()
			_, _ = bytes.NewBuffer(nil).WriteTo(here)
			pipe(here, there)
		}()
	}))
	t.Setenv("HTTPS_PROXY", proxy.URL)
	f := open(t, trust(s))
	if got, err := f.File(background, "https://example.com/x"); err != nil || string(got) != "through" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, address := range []string{"https://169.254.169.254/", "https://10.0.0.1/", "https://2130706433/", "https://" + proxy.host + "/"} {
		_, err := f.File(background, address)
		_ = refused(t, err, "")
	}
	if proxy.count() != 1 {
		t.Errorf("the proxy was asked %d times", proxy.count())
	}
}

func pipe(to, from net.Conn) {
	buffer := make([]byte, 1<<12)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestCache: an exact version is kept between runs with what is known of it, a torn
// entry is fetched again, and ranges and files are kept for one run.
func TestCache(t *testing.T) {
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "index.yaml") {
			_, _ = w.Write([]byte("entries:\n  app:\n  - version: 1.2.3\n    urls:\n    - app-1.2.3.tgz\n"))
			return
		}
		_, _ = w.Write([]byte(packed("archive")))
	}))
	o := allow(s)
	o.CacheDir, o.Now = t.TempDir(), clock
	address := strings.Replace(s.URL, "https://", "https://bot:canary@", 1)
	get := func(version string, o fetch.Options) {
		t.Helper()
		f := fetch.New(o)
		for range 2 {
			if got, err := f.Chart(background, address, "app", version); err != nil || string(got) != packed("archive") {
				t.Fatalf("%q, %v", got, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	asked := func(want int) {
		t.Helper()
		if got := s.count(); got != want {
			t.Fatalf("asked %d times, want %d", got, want)
		}
	}
	get("1.2.3", o)
	asked(2)
	get("1.2.3", o)
	asked(2)
	get("^1", o)
	asked(4)
	get("^1", o)
	asked(6)
	without := o
	without.NoCache = true
	get("1.2.3", without)
	asked(8)
	entries, err := filepath.Glob(filepath.Join(o.CacheDir, "remote", "chart-*"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	data, err := os.ReadFile(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(data, []byte("\n"))
	var e fetch.Entry
	if err := json.Unmarshal(head, &e); err != nil || e.Address != s.URL || e.Version != "1.2.3" || !e.Fetched.Equal(clock()) || strings.Contains(string(data), "canary") {
		t.Errorf("%s, %v", head, err)
	}
	for _, name := range append(entries, filepath.Dir(entries[0])) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.WriteFile(entries[0], data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	get("1.2.3", o)
	asked(10)
	get("1.2.3", o)
	asked(10)
	// A cache that cannot be written is no failure.
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.CacheDir = file
	get("1.2.3", o)
	asked(12)
}

// TestClose leaves nothing outside of the cache.
func TestClose(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := serve(t, text("x"))
	f := fetch.New(allow(s))
	if _, err := f.File(background, s.URL); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(temp); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
