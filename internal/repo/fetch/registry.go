package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

const (
	// maxManifest bounds manifests and lists of tags, in bytes.
	maxManifest = 4 << 20
	maxTags     = 100_000
)

// chartLayers are the media types of an archive. Source: Helm, pkg/registry; that
// package is not imported because it brings the clients of Kubernetes with it.
var chartLayers = []string{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"}

// registry fetches a chart of a registry. Helm writes the whole reference as the
// repository, Argo CD the parts.
func (f *Fetcher) registry(ctx context.Context, repository, name, version string) ([]byte, error) {
	if !strings.Contains(repository, "://") {
		repository = "oci://" + repository
	}
	repository = strings.TrimSuffix(repository, "/")
	if name != "" && !strings.HasSuffix(repository, "/"+name) {
		repository += "/" + name
	}
	r, err := f.openRegistry(repository)
	if err != nil {
		return nil, err
	}
	if r.Reference.Reference != "" {
		return nil, &RefusedError{Address: show(repository), Reason: "it has a tag or a digest", Fix: "write the version into its own field"}
	}
	return f.speak(r, func() ([]byte, error) {
		tag := version
		// Source: Helm, a version that is no range is a tag.
		if version == "" || strings.ContainsAny(version, "*^~<>=|, xX") {
			if tag, err = chooseTag(ctx, r, version); err != nil {
				return nil, err
			}
		}
		return f.pull(ctx, r, strings.ReplaceAll(tag, "+", "_"))
	})
}

// reference fetches the chart of a whole reference: oci://host/path:tag.
func (f *Fetcher) reference(ctx context.Context, address string) ([]byte, error) {
	r, err := f.openRegistry(address)
	if err != nil {
		return nil, err
	}
	return f.speak(r, func() ([]byte, error) { return f.pull(ctx, r, r.Reference.Reference) })
}

// speak asks a registry over https, and one that may speak plain http and does so over
// that, without the credentials of the user: no address of a registry has a scheme.
func (f *Fetcher) speak(r *remote.Repository, ask func() ([]byte, error)) ([]byte, error) {
	answer, err := ask()
	if !errors.Is(err, http.ErrSchemeMismatch) {
		return answer, err
	}
	if _, _, err := f.rules.check("http://"+r.Reference.Registry, "http"); err != nil {
		return nil, err
	}
	r.PlainHTTP = true
	r.Client = &auth.Client{Client: f.client, Cache: auth.NewCache()}
	return ask()
}

// openRegistry returns a client for one repository of a registry.
func (f *Fetcher) openRegistry(address string) (*remote.Repository, error) {
	u, h, err := f.rules.check(address, "oci")
	if err != nil {
		return nil, err
	}
	name := u.Hostname()
	if u.Port() != "" || strings.Contains(name, ":") {
		name = h.String()
	}
	reference, err := registry.ParseReference(name + u.Path)
	if err != nil || u.RawQuery != "" {
		return nil, &RefusedError{Address: show(address), Reason: "it is no reference of a registry", Fix: fixAddress}
	}
	credential := f.keychain.registry
	if u.User != nil {
		password, _ := u.User.Password()
		credential = auth.StaticCredential(reference.Host(), auth.Credential{Username: u.User.Username(), Password: password})
	}
	r := &remote.Repository{Reference: reference, MaxMetadataBytes: maxManifest, TagListPageSize: 1000}
	r.Client = &auth.Client{Client: f.client, Cache: auth.NewCache(), Credential: credential}
	return r, nil
}

// chooseTag returns the highest tag in a range.
func chooseTag(ctx context.Context, r *remote.Repository, version string) (string, error) {
	if version == "" {
		version = "*"
	}
	constraint, err := semver.NewConstraint(version)
	if err != nil {
		return "", fmt.Errorf("version %q: %w", version, err)
	}
	var best *semver.Version
	seen := 0
	if err := r.Tags(ctx, "", func(tags []string) error {
		if seen += len(tags); seen > maxTags {
			return &LimitError{Address: show(r.Reference.String()), Limit: fmt.Sprintf("%d tags", maxTags)}
		}
		for _, tag := range tags {
			// Registries do not take "+", so Helm writes "_".
			v, err := semver.StrictNewVersion(strings.ReplaceAll(tag, "_", "+"))
			if err == nil && constraint.Check(v) && (best == nil || v.GreaterThan(best)) {
				best = v
			}
		}
		return nil
	}); err != nil {
		return "", fmt.Errorf("list versions: %w", err)
	}
	if best == nil {
		return "", fmt.Errorf("no version is %s", version)
	}
	return best.Original(), nil
}

// pull returns the archive of a chart. Its size is known before it is downloaded,
// and its digest is verified.
func (f *Fetcher) pull(ctx context.Context, r *remote.Repository, tag string) ([]byte, error) {
	shown := show(r.Reference.Registry + "/" + r.Reference.Repository)
	reference := r.Reference
	reference.Reference = tag
	if tag == "" || reference.ValidateReference() != nil {
		return nil, &RefusedError{Address: shown, Reason: "the version is no tag of a registry", Fix: "correct the version of the chart"}
	}
	descriptor, body, err := r.FetchReference(ctx, tag)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if descriptor.Size > maxManifest {
		return nil, &LimitError{Address: shown, Limit: size(maxManifest)}
	}
	text, err := content.ReadAll(body, descriptor)
	if err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, errors.New("the manifest is no JSON")
	}
	i := slices.IndexFunc(manifest.Layers, func(l ocispec.Descriptor) bool {
		return slices.Contains(chartLayers, l.MediaType)
	})
	if i < 0 {
		return nil, errors.New("it holds no Helm chart")
	}
	layer := manifest.Layers[i]
	if layer.Size > f.limits.Bytes {
		return nil, &LimitError{Address: shown, Limit: size(f.limits.Bytes)}
	}
	archive, err := content.FetchAll(ctx, r, layer) // verifies size and digest
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return archive, nil
}
