package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Chart returns the archive of a chart, from a repository over HTTP or from a
// registry. The address of a registry begins with oci://, or has no scheme, as
// Argo CD writes it. The version may be a range; empty is the latest.
//
// The archive of an exact version is kept in the cache.
func (f *Fetcher) Chart(ctx context.Context, repository, name, version string) ([]byte, error) {
	if f.rules.offline {
		return nil, &OfflineError{Address: show(repository)}
	}
	oci := !strings.Contains(repository, "://") || strings.HasPrefix(strings.ToLower(repository), "oci://")
	if reason := checkChart(name, version, oci); reason != "" {
		return nil, &RefusedError{Address: show(repository), Reason: reason, Fix: "correct the name and version of the chart"}
	}
	find := f.indexed
	if oci {
		find = f.registry
	}
	at := place{kept: exact(version), key: "chart-" + key(repository, name, version)}
	entry := Entry{Address: show(repository), Name: name, Version: version, Contents: "chart"}
	return f.content(ctx, at, entry, func(ctx context.Context) ([]byte, error) { return find(ctx, repository, name, version) })
}

// exact reports whether a version names one chart for good.
func exact(version string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(version, "v"))
	return err == nil
}

// checkChart returns why the name or version of a chart cannot be asked for.
func checkChart(name, version string, oci bool) string {
	switch {
	case len(name) > maxName || len(version) > maxName:
		return "the name or version of the chart is too long"
	case name == "" && !oci:
		return "the chart has no name"
	case strings.HasPrefix(name, "-") || strings.HasPrefix(version, "-"):
		return "the name or version of the chart begins with a hyphen"
	case name != "" && (control(name) || strings.ContainsAny(name, `\?#%@:`) || !local(name)):
		return "the name of the chart is no plain name"
	case strings.ContainsFunc(version, func(r rune) bool { return r < ' ' || r > '~' }):
		return "the version of the chart has a control character or one outside of ASCII"
	}
	return ""
}

// maxName bounds names, versions and references, in bytes.
const maxName = 256

// local reports whether a slash path has no empty and no dotted part.
func local(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// indexed fetches a chart of a repository over HTTP.
func (f *Fetcher) indexed(ctx context.Context, repository, name, version string) ([]byte, error) {
	u, h, err := f.rules.check(repository, "https", "http")
	if err != nil {
		return nil, err
	}
	index := *u
	index.Path, index.RawPath = strings.TrimSuffix(u.Path, "/")+"/index.yaml", ""
	ctx = withLogins(ctx, u, h, f.keychain)
	file, err := f.indexes.get(ctx, index.String(), func() (string, error) { return f.spool(ctx, &index) })
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	address, err := lookUp(file, name, version)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.ToLower(address), "oci://") {
		return f.reference(ctx, address)
	}
	at, err := resolve(u, address)
	if err != nil {
		return nil, err
	}
	// The archive may lie on another host, which gets no credentials of this one.
	at, _, err = f.rules.check(at.String(), "https", "http")
	if err != nil {
		return nil, err
	}
	if u.Scheme == "https" && at.Scheme != "https" {
		return nil, &RefusedError{Address: show(at.String()), Reason: "the index was encrypted and the archive would not be", Fix: "ask the owner of the repository to use https"}
	}
	content, _, err := f.download(ctx, at)
	if err == nil {
		err = f.isWhole(content, show(at.String()))
	}
	return content, err
}

// isWhole fails for what is no archive, or only a part of one. A server may end in the
// middle, and a login page answers 200: neither is kept in the cache.
func (f *Fetcher) isWhole(archive []byte, shown string) error {
	unpacked, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return &DamagedError{shown, err}
	}
	unpacked.Multistream(false) // Helm ignores what comes after the archive too
	n, err := io.Copy(io.Discard, io.LimitReader(unpacked, f.limits.Bytes+1))
	switch {
	case err != nil:
		return &DamagedError{shown, err}
	case n > f.limits.Bytes:
		return &LimitError{Address: shown, Limit: size(f.limits.Bytes)}
	}
	return nil
}

// resolve makes the address of an archive absolute. Source: Helm, the field "urls"
// of an index; the query of the repository goes with it.
func resolve(repository *url.URL, address string) (*url.URL, error) {
	reference, err := url.Parse(address)
	if err != nil {
		return nil, &RefusedError{Address: show(address), Reason: "it is malformed", Fix: "ask the owner of the repository to correct its index"}
	}
	if reference.IsAbs() {
		return reference, nil
	}
	base := *repository
	base.Path, base.RawPath = strings.TrimSuffix(base.Path, "/")+"/", ""
	at := base.ResolveReference(reference)
	at.RawQuery = repository.RawQuery
	at.User = nil
	return at, nil
}
