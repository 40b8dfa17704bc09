package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/test/fixtures"
)

// The verbs of scenarios in which something comes over the network. The servers are
// real ones on this machine: a file server, a registry of images, and Git's own.
//
//	charts NAME FOLDER     a chart repository of the charts in the folders of FOLDER
//	registry NAME FOLDER   an OCI registry that holds them, in oci://HOST/charts
//	forge NAME FOLDER      a Git server whose ops.git has the content of FOLDER on main
//	login NAME USER:PASS   it asks for a password
//	answer NAME HOW PATH   how it answers for paths that contain PATH: a status, twice
//	                       (503x2) or always (403); cut, half of the content; to:OTHER,
//	                       a redirect to another server
//	asked NAME N PATH      how many requests for such paths have come
//	close NAME             it is gone
//	fill FILE...           ${NAME} in files becomes the address of the server
//
// $NAME is the address of a server, $NAME_HOST its host and port. One whose name begins
// with TLS speaks https; NAME.pem is the certificate of all of these.
func online() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	verbs := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, verb := range map[string]struct {
		arguments int // -1: any number
		do        func(ts *testscript.TestScript, args []string)
	}{
		"charts":   {2, serveCharts},
		"registry": {2, serveRegistry},
		"forge":    {2, serveForge},
		"login": {2, func(ts *testscript.TestScript, args []string) {
			find(ts, args[0]).set(func(s *site) { s.login = args[1] })
		}},
		"answer": {3, answer},
		"asked":  {3, asked},
		"close":  {1, func(ts *testscript.TestScript, args []string) { find(ts, args[0]).Close() }},
		"fill":   {-1, fill},
	} {
		verbs[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || verb.arguments >= 0 && len(args) != verb.arguments {
				ts.Fatalf("%s takes %d arguments and no !", name, verb.arguments)
			}
			verb.do(ts, args)
		}
	}
	return verbs
}

// site is a server of a scenario.
type site struct {
	*httptest.Server
	content http.Handler

	mu     sync.Mutex
	login  string
	paths  []string // of all requests
	answer []answered
}

// answered is how a site answers for some paths instead of with its content.
type answered struct {
	path   string
	status int
	left   int // how many times yet; less than 0 is always
	cut    bool
	to     *site
}

// sites is the key of the servers of a script, by name.
type sites struct{}

// open starts a server and sets the variables that name it.
func open(ts *testscript.TestScript, variable, path string, content http.Handler) *site {
	s := &site{content: content}
	s.Server = httptest.NewUnstartedServer(s)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if strings.HasPrefix(variable, "TLS") {
		s.StartTLS()
		certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		ts.Check(os.WriteFile(ts.MkAbs(variable+".pem"), certificate, 0o600))
	} else {
		s.Start()
	}
	ts.Defer(s.Close)
	ts.Value(sites{}).(map[string]*site)[variable] = s
	_, host, _ := strings.Cut(s.URL, "://")
	ts.Setenv(variable, s.URL+path)
	ts.Setenv(variable+"_HOST", host)
	return s
}

func find(ts *testscript.TestScript, name string) *site {
	s := ts.Value(sites{}).(map[string]*site)[name]
	if s == nil {
		ts.Fatalf("there is no server %s", name)
	}
	return s
}

func (s *site) set(change func(*site)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// ServeHTTP implements http.Handler.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, password, _ := r.BasicAuth()
	var special *answered
	s.set(func(s *site) {
		s.paths = append(s.paths, r.URL.Path)
		if s.login != "" && s.login != name+":"+password {
			special = &answered{status: http.StatusUnauthorized}
			return
		}
		for i := range s.answer {
			if a := &s.answer[i]; strings.Contains(r.URL.Path, a.path) && a.left != 0 {
				a.left--
				copied := *a
				special = &copied
				return
			}
		}
	})
	switch {
	case special == nil:
		s.content.ServeHTTP(w, r)
	case special.to != nil:
		http.Redirect(w, r, special.to.URL+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	case special.cut:
		whole := httptest.NewRecorder()
		s.content.ServeHTTP(whole, r)
		_, _ = w.Write(whole.Body.Bytes()[:whole.Body.Len()/2])
	default:
		if special.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		}
		w.WriteHeader(special.status)
	}
}

func answer(ts *testscript.TestScript, args []string) {
	a := answered{path: args[2], left: -1}
	how, times, few := strings.Cut(args[1], "x")
	var err error
	switch other, redirects := strings.CutPrefix(args[1], "to:"); {
	case redirects:
		a.to = find(ts, other)
	case args[1] == "cut":
		a.cut = true
	default:
		a.status, err = strconv.Atoi(how)
		ts.Check(err)
		if few {
			a.left, err = strconv.Atoi(times)
			ts.Check(err)
		}
	}
	find(ts, args[0]).set(func(s *site) { s.answer = append(s.answer, a) })
}

func asked(ts *testscript.TestScript, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	got := 0
	find(ts, args[0]).set(func(s *site) {
		for _, path := range s.paths {
			if strings.Contains(path, args[2]) {
				got++
			}
		}
	})
	if got != want {
		ts.Fatalf("%s was asked %d times for %s, want %d", args[0], got, args[2], want)
	}
}

// archive is a packed chart.
type archive struct {
	name, version string
	content       []byte
}

// pack packs the charts in the folders of a folder, as "helm package" does.
func pack(ts *testscript.TestScript, folder string) []archive {
	top := ts.MkAbs(folder)
	entries, err := os.ReadDir(top)
	ts.Check(err)
	var archives []archive
	for _, entry := range entries {
		var chart struct{ Name, Version string }
		ts.Check(yaml.Unmarshal([]byte(ts.ReadFile(filepath.Join(top, entry.Name(), "Chart.yaml"))), &chart))
		var packed bytes.Buffer
		compressed := gzip.NewWriter(&packed)
		files := tar.NewWriter(compressed)
		packing, err := os.MkdirTemp(ts.MkAbs("."), ".packing-")
		ts.Check(err)
		ts.Check(os.CopyFS(filepath.Join(packing, entry.Name()), os.DirFS(filepath.Join(top, entry.Name()))))
		ts.Check(files.AddFS(os.DirFS(packing)))
		ts.Check(files.Close())
		ts.Check(compressed.Close())
		archives = append(archives, archive{chart.Name, chart.Version, packed.Bytes()})
	}
	return archives
}

func serveCharts(ts *testscript.TestScript, args []string) {
	entries := map[string][]map[string]any{}
	mux := http.NewServeMux()
	for _, a := range pack(ts, args[1]) {
		file := a.name + "-" + a.version + ".tgz"
		entries[a.name] = append(entries[a.name], map[string]any{"apiVersion": "v2", "name": a.name, "version": a.version, "urls": []string{file}})
		mux.HandleFunc("/charts/"+file, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(a.content) })
	}
	index, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "entries": entries})
	ts.Check(err)
	mux.HandleFunc("/charts/index.yaml", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(index) })
	open(ts, args[0], "/charts", mux)
}

func serveRegistry(ts *testscript.TestScript, args []string) {
	s := open(ts, args[0], "", registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	for _, a := range pack(ts, args[1]) {
		ts.Check(fixtures.PushChart(context.Background(), s.Client(), s.URL, "charts/"+a.name, a.version, a.content, fixtures.ChartContent, -1))
	}
	s.set(func(s *site) { s.paths = nil })
}

func serveForge(ts *testscript.TestScript, args []string) {
	top, work := ts.MkAbs(".forge-"+args[0]), ts.MkAbs(args[1])
	bare := filepath.Join(top, "ops.git")
	ts.Check(os.MkdirAll(top, 0o755))
	calling.Lock() // a call changes the environment, in which the program git is found
	defer calling.Unlock()
	git := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=2030-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2030-01-01T00:00:00Z")
		out, err := cmd.CombinedOutput()
		if err != nil {
			ts.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--bare", "--initial-branch=main", bare)
	git("--git-dir", bare, "--work-tree", work, "add", ".")
	git("--git-dir", bare, "--work-tree", work, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet", "--message", "x")
	backend := &cgi.Handler{
		Path: filepath.Join(git("--exec-path"), "git-http-backend"), Dir: top, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
		Env: []string{"GIT_PROJECT_ROOT=" + top, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + top, "GIT_CONFIG_NOSYSTEM=1"},
	}
	open(ts, args[0], "/ops.git", backend)
}

func fill(ts *testscript.TestScript, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		for server := range ts.Value(sites{}).(map[string]*site) {
			text = strings.ReplaceAll(text, "${"+server+"}", ts.Getenv(server))
			text = strings.ReplaceAll(text, "${"+server+"_HOST}", ts.Getenv(server+"_HOST"))
		}
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o644))
	}
}
