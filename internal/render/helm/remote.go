package helm

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/getter"
	"helm.sh/helm/v4/pkg/registry"
	repo "helm.sh/helm/v4/pkg/repo/v1"

	"github.com/rollout-ladder/ladder/internal/address"
	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/render/source"
)

// loadRemote fetches a chart from its repository. What it renders has the
// position of the descriptor that names it.
func loadRemote(ctx context.Context, view source.View, src component.Source, opts Options) (*loadedChart, error) {
	name := RemoteName(src)
	if opts.Fetch == nil {
		return nil, &UnavailableError{Lacking{Source: src, Err: &source.Error{Position: src.Position,
			Reason: fmt.Sprintf("remote chart %s is not rendered offline; vendor it or run without --offline", name)}}}
	}
	view.MarkRemote()
	data, err := opts.Fetch(ctx, src.RepoURL, src.Name, src.Version)
	if err != nil {
		return nil, &UnavailableError{Lacking{Source: src, Err: &source.Error{Position: src.Position, Err: err,
			Reason: fmt.Sprintf("remote chart %s cannot be fetched: %v; check repository, name and version, or vendor it", name, err)}}}
	}
	return loadArchive(data, src.Position, src.Position)
}

// RemoteName names a remote chart for people: "https://host/charts/name 1.2.3".
func RemoteName(src component.Source) string {
	return strings.TrimSpace(Address(src) + "/" + src.Name + " " + src.Version)
}

// Address is the repository of a remote source without credentials.
func Address(src component.Source) string {
	return strings.TrimSuffix(address.WithoutCredentials(src.RepoURL), "/")
}

// fetchTimeout bounds one request to a chart repository.
const fetchTimeout = 60 * time.Second

// Pull fetches a chart over HTTP or from an OCI registry. It is a Fetch.
func Pull(ctx context.Context, repoURL, name, version string) ([]byte, error) {
	type answer struct {
		data []byte
		err  error
	}
	done := make(chan answer, 1)
	// The SDK's clients take no context; their own timeout ends the goroutine.
	go func() {
		data, err := pull(repoURL, name, version)
		done <- answer{data, err}
	}()
	select {
	case a := <-done:
		return a.data, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func pull(repoURL, name, version string) ([]byte, error) {
	if isOCI(repoURL) {
		return pullOCI(repoURL, name, version)
	}
	getters := getter.Getters(getter.WithTimeout(fetchTimeout))
	address, err := repo.FindChartInRepoURL(repoURL, name, getters, repo.WithChartVersion(version))
	if err != nil {
		return nil, fmt.Errorf("look up chart: %w", err)
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("address of chart: %w", err)
	}
	if isOCI(address) {
		client, err := registry.NewClient()
		if err != nil {
			return nil, fmt.Errorf("open registry: %w", err)
		}
		return pullReference(client, strings.TrimPrefix(address, "oci://"))
	}
	client, err := getters.ByScheme(parsed.Scheme)
	if err != nil {
		return nil, fmt.Errorf("address of chart: %w", err)
	}
	data, err := client.Get(address, getter.WithURL(address), getter.WithTimeout(fetchTimeout))
	if err != nil {
		return nil, fmt.Errorf("download chart: %w", err)
	}
	return data.Bytes(), nil
}

// isOCI reports whether an address is that of a registry: Argo CD writes it
// without a scheme.
func isOCI(address string) bool {
	return registry.IsOCI(address) || !strings.Contains(address, "://")
}

func pullOCI(repoURL, name, version string) ([]byte, error) {
	client, err := registry.NewClient()
	if err != nil {
		return nil, fmt.Errorf("open registry: %w", err)
	}
	reference := strings.TrimSuffix(strings.TrimPrefix(repoURL, "oci://"), "/")
	// Helm writes the whole reference as the repository, Argo CD the parts.
	if name != "" && !strings.HasSuffix(reference, "/"+name) {
		reference += "/" + name
	}
	tags := []string{version}
	if version == "" || strings.ContainsAny(version, "*^~<>=|, xX") {
		if tags, err = client.Tags(reference); err != nil {
			return nil, fmt.Errorf("list versions: %w", err)
		}
	}
	tag, err := registry.GetTagMatchingVersionOrConstraint(tags, version)
	if err != nil {
		return nil, fmt.Errorf("choose version: %w", err)
	}
	return pullReference(client, reference+":"+strings.ReplaceAll(tag, "+", "_"))
}

func pullReference(client *registry.Client, reference string) ([]byte, error) {
	result, err := client.Pull(reference, registry.PullOptWithChart(true))
	if err != nil {
		return nil, fmt.Errorf("download chart: %w", err)
	}
	return result.Chart.Data, nil
}
