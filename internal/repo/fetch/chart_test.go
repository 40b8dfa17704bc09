package fetch_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/rollout-ladder/ladder/internal/repo/fetch"
	"github.com/rollout-ladder/ladder/test/fixtures"
)

// charts is a chart repository with an index.
func charts(t *testing.T, index *string) *server {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/charts/index.yaml" {
			_, _ = w.Write([]byte(*index))
			return
		}
		_, _ = w.Write([]byte(packed("archive " + r.URL.Path + "?" + r.URL.RawQuery)))
	}))
}

func TestChart(t *testing.T) {
	const yamlIndex = `apiVersion: v1
entries:
    # a comment
    other:
    - version: 9.9.9
      urls: [other-9.9.9.tgz]
    "app":
    - annotations:
        note: |
          - not an item
          entries:
      dependencies:
      - name: x
        version: 7.0.0
      apiVersion: v2
      urls:
      - app-1.2.0.tgz
      version: 1.2.0

    - {version: 1.10.0, urls: ["app-1.10.0.tgz"]}
    - urls: [app-2.0.0-rc.1.tgz]
      version: 2.0.0-rc.1
    - urls: [sub/app-v1.9.0.tgz]
      version: v1.9.0
    - version: nonsense
      urls: [nonsense.tgz]
    - version: 0.0.1
    zzz:
    - version: 8.8.8
      urls: [zzz.tgz]
generated: "2030-01-01T00:00:00Z"
`
	const jsonIndex = `{"apiVersion":"v1","x":{"entries":[1,{"app":[]}]},"entries":{"other":[{"version":"9.9.9"}],"app":[{"version":"1.2.0","urls":["app-1.2.0.tgz"]},{"version":"1.10.0","urls":["app-1.10.0.tgz"]},
	{"version":"2.0.0-rc.1","urls":["app-2.0.0-rc.1.tgz"]},{"version":"v1.9.0","urls":["sub/app-v1.9.0.tgz"]},{"version":"nonsense","urls":["nonsense.tgz"]},{"version":"0.0.1"}]}}`
	for _, index := range []string{yamlIndex, strings.ReplaceAll(yamlIndex, "\n", "\r\n"), strings.ReplaceAll(yamlIndex, "\n    ", "\n  "), jsonIndex} {
		s := charts(t, &index)
		f := open(t, allow(s))
		for version, want := range map[string]string{
			"1.2.0": "app-1.2.0.tgz", "": "app-1.10.0.tgz", "1.x": "app-1.10.0.tgz", "<1.10": "sub/app-v1.9.0.tgz", "1.9.0": "sub/app-v1.9.0.tgz", "v1.9.0": "sub/app-v1.9.0.tgz",
			">=2.0.0-0": "app-2.0.0-rc.1.tgz", "2.0.0-rc.1": "app-2.0.0-rc.1.tgz", "~1.2": "app-1.2.0.tgz",
		} {
			got, err := f.Chart(background, s.URL+"/charts/?token=a", "app", version)
			if err != nil || string(got) != packed("archive /charts/"+want+"?token=a") {
				t.Errorf("%s: %q, %v, want %s", version, got, err, want)
			}
		}
		for version, reason := range map[string]string{"3.x": "no version 3.x", "0.0.1": "no address", "nonsense": "version"} {
			if _, err := f.Chart(background, s.URL+"/charts", "app", version); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v", version, err)
			}
		}
		if _, err := f.Chart(background, s.URL+"/charts", "none", ""); err == nil || !strings.Contains(err.Error(), "no chart none") {
			t.Error(err)
		}
	}
}

// TestHostileIndex: an index cannot take the memory, and what it names is judged.
func TestHostileIndex(t *testing.T) {
	index := ""
	s := charts(t, &index)
	other := serve(t, text(packed("elsewhere")))
	for name, c := range map[string]struct{ index, reason string }{
		"alias":     {"x: &a [1]\nentries:\n  app:\n  - version: 1.0.0\n    urls: *a\n", "unknown anchor"},
		"bomb":      {"entries:\n  app:\n  - version: 1.0.0\n    a: &a [x,x,x,x,x,x,x,x,x]\n    b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n    c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n    d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n    e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\n    urls: *e\n", ""},
		"large":     {"entries:\n  app:\n  - version: 1.0.0\n    x: " + strings.Repeat("x", 1<<19) + "\n", "larger than"},
		"deep":      {"entries:\n  app:\n  - version: 1.0.0\n    x: " + strings.Repeat("[", 200_000) + "\n", ""},
		"many":      {"entries:\n  app:\n" + strings.Repeat("  - version: 1.0.0\n", 20_001), "more than 20000"},
		"metadata":  {"entries:\n  app:\n  - {version: 1.0.0, urls: ['https://169.254.169.254/x']}\n", "never asked"},
		"private":   {"entries:\n  app:\n  - {version: 1.0.0, urls: ['https://10.0.0.1/x']}\n", "private network"},
		"http":      {"entries:\n  app:\n  - {version: 1.0.0, urls: ['http://" + s.host + "/x']}\n", "archive would not be"},
		"oci":       {"entries:\n  app:\n  - {version: 1.0.0, urls: ['oci://10.0.0.1/x/app:1.0.0']}\n", "private network"},
		"not yaml":  {"entries:\n  app:\n  - version: [\n", ""},
		"not JSON":  {`{"entries":{"app":[{"version":`, ""},
		"JSON tree": {`{"entries":` + strings.Repeat("[", 1_000_000), ""},
		// Of these, the memory would hold many times the text.
		"JSON deep":  {`{"x":` + strings.Repeat("[", 1<<20), "nested more than"},
		"JSON large": {`{"entries":{"app":[{"version":"1.0.0","urls":[` + strings.Repeat(`"",`, 1<<19) + `""]}]}}`, "larger than"},
	} {
		index = c.index
		_, err := open(t, allow(s, other)).Chart(background, s.URL+"/charts", "app", "1.0.0")
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
	// An archive on another host gets no credentials of the repository.
	index = "entries:\n  app:\n  - {version: 1.0.0, urls: ['" + other.URL + "/x']}\n"
	got, err := open(t, allow(s, other)).Chart(background, strings.Replace(s.URL, "https://", "https://bot:canary@", 1)+"/charts", "app", "1.0.0")
	if err != nil || string(got) != packed("elsewhere") {
		t.Fatalf("%q, %v", got, err)
	}
	if s.last().Header.Get("Authorization") == "" || other.last().Header.Get("Authorization") != "" {
		t.Error("the password is sent to the wrong host")
	}
}

func TestChartNames(t *testing.T) {
	s := serve(t, text(""))
	f := open(t, allow(s))
	for _, c := range [][2]string{{"-x", "1.0.0"}, {"app", "-1"}, {"app", "--upload-pack=x"}, {"../x", "1.0.0"}, {"a/../b", "1.0.0"}, {"a\nb", "1.0.0"}, {"app", "1\n0"}, {"a b", "1"}, {"a:b", "1"}, {"a@b", "1"}, {"a?b", "1"},
		{strings.Repeat("a", 300), "1"}, {"app", strings.Repeat("1", 300)}, {"", "1.0.0"}} {
		_, err := f.Chart(background, s.URL, c[0], c[1])
		_ = refused(t, err, "the ")
	}
	for _, address := range []string{s.host + "/a?b=c", s.host + "/../a", "oci://" + s.host + "/a:1.0.0", "oci://" + s.host, "oci:///a", "a b", "OCI://" + s.host + "/A"} {
		_, err := f.Chart(background, address, "", "1.0.0")
		_ = refused(t, err, "")
	}
	if s.count() != 0 {
		t.Error("the server was asked")
	}
}

// push puts a chart into a registry.
func push(t *testing.T, s *server, repository, tag, archive, mediaType string, size int) {
	t.Helper()
	if err := fixtures.PushChart(t.Context(), s.Client(), s.URL, repository, tag, []byte(archive), mediaType, size); err != nil {
		t.Fatal(err)
	}
}

const chartLayer = fixtures.ChartContent

func TestRegistry(t *testing.T) {
	corrupt := false
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if corrupt && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			_, _ = w.Write([]byte("other 1"))
			return
		}
		real.ServeHTTP(w, r)
	}))
	for _, tag := range []string{"1.2.3", "1.10.0", "2.0.0-rc.1", "1.11.0_build", "latest"} {
		push(t, s, "charts/app", tag, "chart "+tag, chartLayer, -1)
	}
	o := allow(s)
	o.CacheDir = t.TempDir()
	f := open(t, o)
	for _, repository := range []string{"oci://" + s.host + "/charts", s.host + "/charts", s.host + "/charts/app", "OCI://" + s.host + "/charts/app/"} {
		for version, want := range map[string]string{"1.2.3": "1.2.3", "": "1.11.0_build", "1.11.0+build": "1.11.0_build", "<1.11": "1.10.0", ">=2.0.0-0": "2.0.0-rc.1", "latest": "latest"} {
			got, err := f.Chart(background, repository, "app", version)
			if err != nil || string(got) != "chart "+want {
				t.Errorf("%s %s: %q, %v", repository, version, got, err)
			}
		}
	}
	if got, err := f.Chart(background, "oci://"+s.host+"/charts/app", "", "1.2.3"); err != nil || string(got) != "chart 1.2.3" {
		t.Errorf("%q, %v", got, err)
	}
	for version, reason := range map[string]string{"3.x": "no version", "3.0.0": "not found", "1.2.3@sha256": "no tag"} {
		if _, err := f.Chart(background, s.host+"/charts", "app", version); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", version, err)
		}
	}
	// What is not what the manifest says is not taken.
	push(t, s, "charts/image", "1.0.0", "x", "application/vnd.oci.image.layer.v1.tar", -1)
	push(t, s, "charts/long", "1.0.0", "x", chartLayer, 1<<40)
	push(t, s, "charts/short", "1.0.0", "xyz", chartLayer, 1)
	push(t, s, "charts/corrupt", "1.0.0", "chart 1", chartLayer, -1)
	corrupt = true
	var limit *fetch.LimitError
	if _, err := f.Chart(background, s.host+"/charts", "long", "1.0.0"); !errors.As(err, &limit) {
		t.Error(err)
	}
	for _, name := range []string{"image", "short", "corrupt"} {
		if got, err := f.Chart(background, s.host+"/charts", name, "1.0.0"); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	_, err := open(t, trust(s)).Chart(background, s.host+"/charts", "app", "1.2.3")
	_ = refused(t, err, "private network")
}

// TestRegistryLogin: the credentials for a registry go to it, and not to where it
// redirects.
func TestRegistryLogin(t *testing.T) {
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	open1 := serve(t, real)
	push(t, open1, "charts/app", "1.2.3", "chart", chartLayer, -1)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, password, _ := r.BasicAuth(); name != "bot" || password != "canary" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.Contains(r.URL.Path, "/blobs/") {
			http.Redirect(w, r, open1.URL+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		real.ServeHTTP(w, r)
	}))
	config := filepath.Join(t.TempDir(), "config.json")
	t.Setenv("HELM_REGISTRY_CONFIG", config)
	if err := os.WriteFile(config, []byte(`{"auths":{"`+s.host+`":{"auth":"Ym90OmNhbmFyeQ=="}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := trust(s, open1) // the registry is allowed without being named
	o.AllowHosts = []string{open1.host}
	before := open1.count()
	if got, err := open(t, o).Chart(background, s.host+"/charts", "app", "1.2.3"); err != nil || string(got) != "chart" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, r := range open1.requests[before:] {
		if r.Header.Get("Authorization") != "" {
			t.Error("where it redirects gets the password")
		}
	}
	t.Setenv("HELM_REGISTRY_CONFIG", filepath.Join(t.TempDir(), "none"))
	for _, repository := range []string{"oci://bot:canary@" + s.host + "/charts", "bot:canary@" + s.host + "/charts"} {
		if got, err := open(t, allow(s, open1)).Chart(background, repository, "app", "1.2.3"); err != nil || string(got) != "chart" {
			t.Errorf("%q, %v", got, err)
		}
	}
	_, err := open(t, allow(s, open1)).Chart(background, "oci://bot:canary-2@"+s.host+"/charts", "app", "1.2.3")
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
