package bootstrap

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rollout-ladder/ladder/internal/cachedir"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

// DigestError is something that is not what the configuration pins.
type DigestError struct {
	What, Want, Got string
}

// Error implements error.
func (e *DigestError) Error() string {
	return fmt.Sprintf("%s has the digest %s, and not %s as the configuration says; look at what has changed before you change the digest", e.What, e.Got, e.Want)
}

// downloadError is something that cannot be had; it is not the cluster that does
// not answer.
type downloadError struct {
	address string
	err     error
}

// Error implements error.
func (e *downloadError) Error() string { return "download " + e.address + ": " + e.err.Error() }

// Unwrap returns the cause.
func (e *downloadError) Unwrap() error { return e.err }

const (
	// maxDownload bounds what is downloaded, in bytes.
	maxDownload     = 64 << 20
	downloadTimeout = 2 * time.Minute
	maxRedirects    = 5
)

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(digest[:])
}

func checkDigest(what string, text []byte, want string) error {
	if got := sum(text); got != want {
		return &DigestError{What: what, Want: want, Got: got}
	}
	return nil
}

// download gets what an address holds, which has to have a digest. It is kept
// under the digest, so that a run that is repeated needs no network.
func (r *run) download(ctx context.Context, address, digest string) ([]byte, error) {
	shown := finding.Redact(address)
	kept := r.kept(digest)
	if kept != "" {
		if text, err := os.ReadFile(kept); err == nil && checkDigest(shown, text, digest) == nil {
			return text, nil
		}
	}
	if r.options.Load.Offline {
		return nil, fmt.Errorf("%s was not downloaded before, and --offline forbids it now", shown)
	}
	text, err := get(ctx, address)
	if err != nil {
		return nil, &downloadError{shown, err}
	}
	if err := checkDigest(shown, text, digest); err != nil {
		return nil, err
	}
	keep(kept, text)
	return text, nil
}

// pull gets a chart of a repository, which has to have the digest of the
// configuration where it is the chart itself.
func (r *run) pull(ctx context.Context, repoURL, name, version string, c Chart) ([]byte, error) {
	itself := repoURL == c.RepoURL && name == c.Name && version == c.Version
	kept := ""
	if itself {
		kept = r.kept(c.Digest)
		if text, err := os.ReadFile(kept); kept != "" && err == nil && checkDigest(name, text, c.Digest) == nil {
			return text, nil
		}
	}
	if r.options.Load.Offline {
		return nil, fmt.Errorf("chart %s was not downloaded before, and --offline forbids it now", name)
	}
	// The configuration is the user's own: the host that it names may be private.
	allowed := r.options.Load.AllowHosts
	if host, ok := fetch.HostOf(c.RepoURL); ok {
		allowed = append(slices.Clone(allowed), host)
	}
	fetcher := fetch.New(fetch.Options{AllowHosts: allowed, NoCache: true})
	defer func() { _ = fetcher.Close() }() // nothing is kept
	text, err := fetcher.Chart(ctx, repoURL, name, version)
	if err != nil || !itself {
		return text, err
	}
	if err := checkDigest("chart "+name+" "+version, text, c.Digest); err != nil {
		return nil, err
	}
	keep(kept, text)
	return text, nil
}

// get asks for an address. Redirects may not lead to an address that is not
// encrypted, unless it is on this machine.
func get(ctx context.Context, address string) ([]byte, error) {
	client := &http.Client{
		Timeout: downloadTimeout,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			if next.URL.Scheme != "https" && !loopback(next.URL.String()) {
				return fmt.Errorf("it leads to %s, which is not encrypted", next.URL.Redacted())
			}
			return nil
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("is not an address")
	}
	request.Header.Set("User-Agent", "ladder")
	response, err := client.Do(request)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) && ctx.Err() == nil {
			err = failed.Err // the address is named already
		}
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDownload+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxDownload {
		return nil, fmt.Errorf("it is larger than %d MiB", maxDownload>>20)
	}
	return text, nil
}

// kept is the file that holds what has a digest; empty where nothing is kept.
func (r *run) kept(digest string) string {
	if r.options.Load.NoCache {
		return ""
	}
	return cachedir.Join(r.options.Load.CacheDir, "bootstrap", strings.TrimPrefix(digest, "sha256:"))
}

// keep writes a file whole or not at all. What cannot be kept is downloaded again.
func keep(file string, text []byte) {
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-")
	if err != nil {
		return
	}
	defer func() { _ = os.Remove(temp.Name()) }() // gone already after the rename
	_, err = temp.Write(text)
	if closeErr := temp.Close(); err != nil || closeErr != nil {
		return
	}
	_ = os.Rename(temp.Name(), file)
}
