package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// other is an architecture that this machine does not have.
func other() string {
	if runtime.GOARCH == "arm64" {
		return "amd64"
	}
	return "arm64"
}

func compile(t *testing.T, dir, pkg, system, arch, version, output string) {
	t.Helper()
	cmd := exec.Command("go", "build", "-tags=noplane,kustomize_disable_go_plugin_support", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w -X main.version="+version, "-o", output, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s for %s/%s: %v\n%s", pkg, system, arch, err, text)
	}
}

// nothingIn is the folder of a program that does nothing, which is compiled sooner than ladder.
func nothingIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/nothing\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const committed = 1700000000 // 2023-11-14T22:13:20Z

func arguments(what, binaries, output string, more ...string) []string {
	return append([]string{what, "-binaries", binaries, "-top", "../..", "-version", "v1.2.3", "-revision", "0123abc",
		"-time", fmt.Sprint(committed), "-output", output}, more...)
}

// TestImage makes the image of the command for this machine, and of a program that
// does nothing for another architecture, and runs what the image holds.
func TestImage(t *testing.T) {
	binaries := t.TempDir()
	compile(t, "../..", "./cmd/ladder", "linux", runtime.GOARCH, "v1.2.3", filepath.Join(binaries, "linux-"+runtime.GOARCH, "ladder"))
	nothing := nothingIn(t)
	compile(t, nothing, ".", "linux", other(), "", filepath.Join(binaries, "linux-"+other(), "ladder"))
	compile(t, nothing, ".", "darwin", "arm64", "", filepath.Join(binaries, "darwin-arm64", "ladder"))

	output := filepath.Join(t.TempDir(), "image")
	pushed := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer pushed.Close()
	to := strings.TrimPrefix(pushed.URL, "http://") + "/acme/ladder:1.2.3"
	var said bytes.Buffer
	if err := run(arguments("image", binaries, output, "-push", to), &said); err != nil {
		t.Fatal(err)
	}

	written, err := layout.ImageIndexFromPath(filepath.Join(output, "oci"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := written.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(top.Manifests) != 1 {
		t.Fatalf("the layout has %d images, want 1", len(top.Manifests))
	}
	index, err := written.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifests, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range manifests.Manifests {
		platforms = append(platforms, m.Platform.String())
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.OS + "/" + config.Architecture; got != m.Platform.String() {
			t.Errorf("the image for %s says %s", m.Platform, got)
		}
		if got := config.Config; !slices.Equal(got.Entrypoint, []string{"/usr/local/bin/ladder"}) || got.User != "65532:65532" || len(got.Cmd) > 0 {
			t.Errorf("the image for %s runs %q %q as %q", m.Platform, got.Entrypoint, got.Cmd, got.User)
		}
		if config.Created.Unix() != committed {
			t.Errorf("the image for %s is of %s", m.Platform, config.Created)
		}
		if m.Platform.Architecture == runtime.GOARCH && runtime.GOOS == "linux" {
			t.Run("runs", func(t *testing.T) { runs(t, img) })
		}
	}
	if slices.Sort(platforms); !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("the image is for %v", platforms)
	}

	t.Run("pushed", func(t *testing.T) {
		ref, err := name.ParseReference(to)
		if err != nil {
			t.Fatal(err)
		}
		got, err := remote.Index(ref)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := got.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if digest != top.Manifests[0].Digest {
			t.Errorf("pushed %s, written %s", digest, top.Manifests[0].Digest)
		}
		if pinned := ref.Context().Name() + "@" + digest.String(); !strings.Contains(said.String(), "--smoke-image "+pinned+"\n") {
			t.Errorf("it does not say how to use %s:\n%s", pinned, &said)
		}
	})
	t.Run("archive", func(t *testing.T) {
		tag, err := name.NewTag("ghcr.io/rollout-ladder/ladder:1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		img, err := tarball.ImageFromPath(filepath.Join(output, "ladder-linux-"+runtime.GOARCH+".tar"), &tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(img); err != nil {
			t.Error(err)
		}
	})
	t.Run("again", func(t *testing.T) {
		again := filepath.Join(t.TempDir(), "image")
		if err := run(arguments("image", binaries, again), io.Discard); err != nil {
			t.Fatal(err)
		}
		same(t, output, again)
	})
	t.Run("archives", func(t *testing.T) { archived(t, binaries) })
}

// archived checks the archives of the same builds.
func archived(t *testing.T, binaries string) {
	output, again := filepath.Join(t.TempDir(), "archives"), filepath.Join(t.TempDir(), "archives")
	for _, o := range []string{output, again} {
		if err := run(arguments("archives", binaries, o), io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	same(t, output, again)
	var want strings.Builder
	for _, n := range []string{"ladder_v1.2.3_darwin_arm64", "ladder_v1.2.3_linux_amd64", "ladder_v1.2.3_linux_arm64"} {
		for _, suffix := range []string{".cdx.json", ".tar.gz"} {
			content, err := os.ReadFile(filepath.Join(output, n+suffix))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(content), n+suffix)
		}
	}
	if sums, err := os.ReadFile(filepath.Join(output, "checksums.txt")); err != nil || string(sums) != want.String() {
		t.Errorf("%v: checksums:\n%s\nwant:\n%s", err, sums, &want)
	}
	host := "ladder_v1.2.3_linux_" + runtime.GOARCH
	if runtime.GOOS == "linux" {
		dir := t.TempDir()
		if text, err := exec.Command("tar", "-C", dir, "-xzf", filepath.Join(output, host+".tar.gz")).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		text, err := exec.Command(filepath.Join(dir, host, "ladder"), "version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(text), "ladder v1.2.3 (") {
			t.Errorf("ladder version: %v: %s", err, text)
		}
		for _, f := range []string{"LICENSE", "NOTICE", "third-party-licences.txt"} {
			if _, err := os.Stat(filepath.Join(dir, host, f)); err != nil {
				t.Error(err)
			}
		}
	}

	f, err := os.Open(filepath.Join(output, host+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(f, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if got := bom.Metadata.Component.PackageURL; got != "pkg:golang/github.com/rollout-ladder/ladder@v1.2.3" {
		t.Errorf("the list of parts is of %s", got)
	}
	var names []string
	for _, c := range *bom.Components {
		names = append(names, c.Name)
	}
	for _, want := range []string{"std", "helm.sh/helm/v4", "k8s.io/client-go"} {
		if !slices.Contains(names, want) {
			t.Errorf("the list of parts lacks %s", want)
		}
	}
	if slices.Contains(names, "k8s.io/kubernetes") {
		t.Error("a build without a control plane lists Kubernetes")
	}
}

// same compares two folders.
func same(t *testing.T, a, b string) {
	t.Helper()
	read := func(dir string) map[string]string {
		sums := map[string]string{}
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			content, err := os.ReadFile(p)
			rel, _ := filepath.Rel(dir, p)
			sums[rel] = fmt.Sprintf("%x", sha256.Sum256(content))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return sums
	}
	first, second := read(a), read(b)
	if len(first) == 0 || len(first) != len(second) {
		t.Errorf("%d files, then %d", len(first), len(second))
	}
	for name, sum := range first {
		if second[name] != sum {
			t.Errorf("%s differs", name)
		}
	}
}

// extract writes what an image holds, and returns who may write what.
func extract(t *testing.T, img v1.Image, dir string) {
	t.Helper()
	r := tar.NewReader(mutate.Extract(img))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != committed || h.FileInfo().Mode().Perm()&0o022 != 0 && h.Name != "tmp" {
			t.Errorf("%s: owner %d:%d, mode %o, of %s", h.Name, h.Uid, h.Gid, h.Mode, h.ModTime)
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(name, 0o700); err != nil {
				t.Fatal(err)
			}
		} else {
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(name, h.FileInfo().Mode()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRefused(t *testing.T) {
	binaries := t.TempDir()
	compile(t, nothingIn(t), ".", "linux", other(), "", filepath.Join(binaries, "linux-"+runtime.GOARCH, "ladder"))
	output := filepath.Join(t.TempDir(), "image")
	err := run(arguments("image", binaries, output), io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "is built for linux-"+other()) {
		t.Errorf("another architecture: %v", err)
	}
	err = run(arguments("image", t.TempDir(), output), io.Discard)
	if err == nil || !strings.HasSuffix(err.Error(), "has no builds") {
		t.Errorf("no builds: %v", err)
	}
	if _, err := os.Stat(output); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

// The tag is that which ladder generate of the same build writes: TestImage of
// internal/argocd/generate has the same versions.
func TestTag(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "1.2.3", "1.2.3": "1.2.3", "v1.2.3-4-gabcdef0": "dev", "v1.2.3-dirty": "dev", "a5bab97": "dev", "dev": "dev"} {
		if got := (source{version: version, time: time.Unix(committed, 0)}).tag(); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
