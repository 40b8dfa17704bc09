package fetch

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Options say what may be asked, and how much of it. The zero value asks public
// addresses and keeps nothing between runs.
type Options struct {
	// Offline answers everything with an *OfflineError.
	Offline bool
	// AllowHosts are HOST or HOST:PORT of the command line: plain HTTP and private
	// addresses are allowed for them.
	AllowHosts []string
	// OwnHosts are those of the repository's own remotes, in the same form; see
	// HostOf. The hosts of the user's credentials are added to them.
	OwnHosts []string
	// CacheDir is Ladder's cache; what is fetched lies in its folder "remote". Empty
	// keeps nothing between runs.
	CacheDir string
	// NoCache neither reads nor writes the cache.
	NoCache bool
	// Limits bound each download. Zero values take the defaults.
	Limits Limits
	// Now is the clock of the cache; nil for time.Now.
	Now func() time.Time
	// Roots are the authorities that HTTPS trusts; nil for those of the system.
	Roots *x509.CertPool
	// Resolver looks names up; nil for that of the system.
	Resolver *net.Resolver
}

// Limits bound one download.
type Limits struct {
	Time     time.Duration // of one download, a checkout too
	Bytes    int64         // of a file, an index or a chart
	Pack     int64         // of what a Git server sends
	Checkout int64         // of the objects of a commit, unpacked
	File     int64         // of one object
	Files    int           // objects of a commit
}

// The limits that hold where Options name none.
var defaults = Limits{
	Time: 2 * time.Minute, Bytes: 64 << 20,
	Pack: 256 << 20, Checkout: 1 << 30, File: 64 << 20, Files: 200_000,
}

func (l Limits) withDefaults() Limits {
	pick(&l.Time, defaults.Time)
	pick(&l.Bytes, defaults.Bytes)
	pick(&l.Pack, defaults.Pack)
	pick(&l.Checkout, defaults.Checkout)
	pick(&l.File, defaults.File)
	pick(&l.Files, defaults.Files)
	return l
}

func pick[T ~int | ~int64](value *T, otherwise T) {
	if *value <= 0 {
		*value = otherwise
	}
}

// Fetcher fetches for one run. It is safe for concurrent use. Close it.
type Fetcher struct {
	rules    rules
	limits   Limits
	gate     *gate
	dialer   *dialer
	client   *http.Client
	keychain *keychain
	store    *store
	ssh      slots

	contents  once[place]
	indexes   once[string]
	checkouts once[Checkout]
}

// place is where the store holds a file.
type place struct {
	kept bool
	key  string
}

// New returns a Fetcher. Offline it reads nothing and asks nobody.
func New(o Options) *Fetcher {
	f := &Fetcher{limits: o.Limits.withDefaults(), store: &store{now: o.Now}, ssh: slots{}}
	if f.store.now == nil {
		f.store.now = time.Now
	}
	if o.CacheDir != "" && !o.NoCache {
		f.store.dir = filepath.Join(o.CacheDir, "remote")
	}
	var own []string
	if !o.Offline {
		f.keychain = openKeychain()
		own = f.keychain.names
	}
	f.rules = rules{offline: o.Offline, trusted: newHostList(o.AllowHosts, o.OwnHosts, own)}
	f.dialer = newDialer(f.rules.trusted, o.Resolver)
	f.gate = newGate(f.rules, f.dialer, httpproxy.FromEnvironment(), o.Roots)
	f.client = f.gate.client()
	return f
}

// Close ends idle connections and removes what is not kept in the cache: folders of
// checkouts may be gone afterwards.
func (f *Fetcher) Close() error {
	f.gate.direct.CloseIdleConnections()
	f.gate.proxied.CloseIdleConnections()
	return f.store.close()
}

// File returns the content of one remote file. A *StatusError or ErrNotFile says
// that the address is not that of a file: it may be a Git repository.
func (f *Fetcher) File(ctx context.Context, address string) ([]byte, error) {
	u, h, err := f.rules.check(address, "https", "http")
	if err != nil {
		return nil, err
	}
	entry := Entry{Address: show(address), Contents: "file"}
	return f.content(ctx, place{key: "file-" + key(u.String())}, entry, func(ctx context.Context) ([]byte, error) {
		content, header, err := f.download(withLogins(ctx, u, h, f.keychain), u)
		if err != nil {
			return nil, err
		}
		if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "text/html" {
			return nil, ErrNotFile
		}
		return content, nil
	})
}

// content returns what lies at a place, or finds it. Only where it lies is
// remembered, so that what others send does not fill the memory.
func (f *Fetcher) content(ctx context.Context, at place, entry Entry, find func(context.Context) ([]byte, error)) ([]byte, error) {
	for {
		found, err := f.contents.get(ctx, at.key, func() (place, error) {
			if at.kept {
				if _, ok := f.store.readFile(true, at.key); ok {
					return at, nil
				}
			}
			ctx, cancel := f.within(ctx, f.limits.Time)
			defer cancel()
			content, err := find(ctx)
			if err != nil {
				return place{}, failure(ctx, entry.Address, err)
			}
			put := at
			if err = f.store.writeFile(put.kept, put.key, entry, content); err != nil && put.kept {
				put.kept = false // a cache that cannot be written is no failure
				err = f.store.writeFile(put.kept, put.key, entry, content)
			}
			if err != nil {
				return place{}, fmt.Errorf("keep %s: %w", entry.Address, err)
			}
			return put, nil
		})
		if err != nil {
			return nil, err
		}
		content, ok := f.store.readFile(found.kept, found.key)
		if ok || !found.kept {
			if !ok {
				err = fmt.Errorf("%s is gone from the folder of this run", entry.Address)
			}
			return content, err
		}
		// Somebody has changed the cache meanwhile: this run does without it.
		at = place{key: at.key + "-again"}
	}
}

// within bounds the time of one download.
func (f *Fetcher) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, &TimeoutError{After: limit})
}

// download returns the content of an address, whatever kind it has.
func (f *Fetcher) download(ctx context.Context, u *url.URL) ([]byte, http.Header, error) {
	response, err := f.get(ctx, u, f.limits.Bytes)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return content, response.Header, err
}

// get asks for an address. The body ends with a *LimitError where it is longer than
// allowed, on the wire or unpacked.
func (f *Fetcher) get(ctx context.Context, u *url.URL, limit int64) (*http.Response, error) {
	return f.send(ctx, http.MethodGet, u, nil, limit, http.Header{"Accept-Encoding": {"gzip"}})
}

// send sends a request.
func (f *Fetcher) send(ctx context.Context, method string, u *url.URL, body io.Reader, limit int64, header http.Header) (*http.Response, error) {
	bare := *u
	bare.User = nil // the gate adds it, for this host alone
	request, err := http.NewRequestWithContext(ctx, method, bare.String(), body)
	if err != nil {
		return nil, err
	}
	request.Header = header
	request.Header.Set("User-Agent", "ladder")
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	shown := show(u.String())
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, &StatusError{Address: shown, Code: response.StatusCode, Status: plain(response.Status)}
	}
	if response.ContentLength > limit {
		_ = response.Body.Close()
		return nil, &LimitError{Address: shown, Limit: size(limit)}
	}
	response.Body = &limited{ReadCloser: response.Body, left: limit, limit: limit, shown: shown}
	if strings.EqualFold(response.Header.Get("Content-Encoding"), "gzip") && header.Get("Accept-Encoding") != "" {
		unpacked, err := gzip.NewReader(response.Body)
		if err != nil {
			_ = response.Body.Close()
			return nil, err
		}
		wire := response.Body
		response.Body = &limited{ReadCloser: struct {
			io.Reader
			io.Closer
		}{unpacked, wire}, left: limit, limit: limit, shown: shown}
	}
	return response, nil
}

// spool writes the content of an address into a file of this run.
func (f *Fetcher) spool(ctx context.Context, u *url.URL) (name string, err error) {
	response, err := f.get(ctx, u, f.limits.Bytes)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	dir, err := f.store.folder(false)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, "index-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(file, response.Body)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	return file.Name(), err
}
