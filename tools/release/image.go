package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	// user is the one that the Jobs of smokes run as.
	user   = "65532:65532"
	binary = "usr/local/bin/ladder"
	about  = "usr/share/doc/ladder/"
	// repository is where releases are published.
	repository = "ghcr.io/rollout-ladder/ladder"
)

var released = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+$`)

// tag is that which ladder generate of the same build writes where nobody names an
// image.
func (s source) tag() string {
	if released.MatchString(s.version) {
		return strings.TrimPrefix(s.version, "v")
	}
	return "dev"
}

// image writes the image of all builds for Linux as an OCI layout, and for each
// architecture an archive for those that load one, and the list of its parts.
func image(s source, builds []build, output, push string, out io.Writer) error {
	var to name.Reference
	var err error
	if push != "" { // before anything is made
		if to, err = name.ParseReference(push, name.StrictValidation); err != nil {
			return fmt.Errorf("-push: %w", err)
		}
	}
	tag, err := name.NewTag(repository + ":" + s.tag())
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range of(builds, "linux") {
		parts, err := s.parts(b)
		if err != nil {
			return err
		}
		img, err := s.image(b, parts)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}},
		})
		base := filepath.Join(output, "ladder-"+b.platform())
		if err := os.WriteFile(base+".cdx.json", parts, 0o644); err != nil {
			return err
		}
		if err := tarball.WriteToFile(base+".tar", tag, img); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s.tar  %s for %s\n", base, tag, b.platform())
	}
	index = mutate.Annotations(index, s.annotations()).(v1.ImageIndex)
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	// The layout is an index of images: of one, which is the index of architectures.
	at := filepath.Join(output, "oci")
	if _, err := layout.Write(at, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add: index, Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": s.tag()}},
	})); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s  %s\n", at, digest)
	if to == nil {
		return nil
	}
	if err := remote.WriteIndex(to, index, remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", to, err)
	}
	fmt.Fprintf(out, "pushed; ladder generate --smoke-image %s@%s\n", to.Context(), digest)
	return nil
}

// image has the command, its licences and parts, and a folder for what is temporary:
// no shell, no certificates.
func (s source) image(b build, parts []byte) (v1.Image, error) {
	licences, err := s.licences(about)
	if err != nil {
		return nil, err
	}
	files := []file{{"tmp/", 0o1777, nil}}
	for _, folder := range []string{"usr/", "usr/local/", "usr/local/bin/", "usr/share/", "usr/share/doc/", about} {
		files = append(files, file{folder, 0o755, nil})
	}
	files = append(append(files, file{binary, 0o755, b.binary}, file{about + "ladder.cdx.json", 0o644, parts}), licences...)
	plain, err := pack(files, s.time)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: s.time}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "make image"}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, created
	config.Config = v1.Config{
		Entrypoint: []string{"/" + binary}, User: user, WorkingDir: "/tmp", Labels: s.annotations(),
		Env: []string{"PATH=/usr/local/bin", "HOME=/tmp"},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(img, s.annotations()).(v1.Image), nil
}

func (s source) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":    "ladder",
		"org.opencontainers.image.version":  s.version,
		"org.opencontainers.image.revision": s.revision,
		"org.opencontainers.image.source":   "https://github.com/rollout-ladder/ladder",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
}
