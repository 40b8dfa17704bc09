package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

const (
	// maxRefs bounds the list of references of a server, in bytes.
	maxRefs  = 32 << 20
	infoRefs = "/info/refs"
	service  = "git-upload-pack"
)

// httpTalk is a conversation over HTTP. Source: Git, gitprotocol-http.
type httpTalk struct {
	fetcher    *Fetcher
	base       *url.URL
	repository Repository
}

func (f *Fetcher) talkHTTP(r Repository) (*httpTalk, error) {
	base, _, err := f.rules.check(r.URL(), "https", "http")
	if err != nil {
		return nil, err
	}
	base.User = r.login
	return &httpTalk{fetcher: f, base: base, repository: r}, nil
}

func (t *httpTalk) logins(ctx context.Context) context.Context {
	first, _ := url.Parse(t.repository.URL()) // it was parsed before
	first.User = t.repository.login
	return withLogins(ctx, first, t.repository.host, t.fetcher.keychain)
}

func (t *httpTalk) refs(ctx context.Context) (*packp.AdvRefs, error) {
	at := *t.base
	at.Path, at.RawPath = at.Path+infoRefs, ""
	at.RawQuery = "service=" + service
	response, err := t.fetcher.get(t.logins(ctx), &at, maxRefs)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if kind := response.Header.Get("Content-Type"); kind != "application/x-"+service+"-advertisement" {
		return nil, errors.New("it is no Git repository, or one on a server that is too old")
	}
	// A server may redirect to the name of the repository that it goes by.
	final := *response.Request.URL
	path, ok := strings.CutSuffix(final.Path, infoRefs)
	if !ok {
		return nil, errors.New("it redirects to what is no Git repository")
	}
	final.Path, final.RawPath, final.RawQuery = path, "", ""
	t.base = &final
	server := packp.NewAdvRefs()
	return server, server.Decode(response.Body)
}

func (t *httpTalk) pack(ctx context.Context, request []byte) (io.ReadCloser, error) {
	at := *t.base
	at.Path += "/" + service
	response, err := t.fetcher.send(t.logins(ctx), http.MethodPost, &at, bytes.NewReader(request), t.fetcher.limits.Pack, http.Header{
		"Content-Type": {"application/x-" + service + "-request"}, "Accept": {"application/x-" + service + "-result"},
	})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

func (t *httpTalk) close() {}
