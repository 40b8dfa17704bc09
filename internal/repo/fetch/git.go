package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
)

// Checkout is the content of one commit. It has plain files, folders, and symbolic
// links that stay inside; no .git.
type Checkout struct {
	Dir    string // of the repository; do not write to it
	Path   string // the folder that the address names, relative to Dir; "." for its top
	Commit string // its whole id
	// Skipped is what the commit holds and Dir does not, at most a thousand entries.
	Skipped []Skipped
}

// Skipped is an entry of a commit that was not written.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Repository returns the content of a Git repository; see ParseRepository for the
// forms of its address. Only one commit is fetched. Submodules, LFS, hooks and
// filters are not looked at.
//
// A commit is kept in the cache. What a branch or tag points to is asked once in a
// run.
func (f *Fetcher) Repository(ctx context.Context, address string) (Checkout, error) {
	if f.rules.offline {
		return Checkout{}, &OfflineError{Address: show(address)}
	}
	r, ok := ParseRepository(address)
	if !ok {
		r.problem = "it is no address of a Git repository"
	}
	if r.problem != "" {
		return Checkout{}, &RefusedError{Address: show(address), Reason: r.problem, Fix: "use https or ssh with a plain path and reference, or vendor it"}
	}
	if r.Scheme != "ssh" {
		if _, _, err := f.rules.check(r.URL(), "https", "http"); err != nil {
			return Checkout{}, err
		}
	}
	limit := f.limits.Time
	if r.Timeout > 0 {
		limit = min(limit, r.Timeout)
	}
	login := ""
	if r.login != nil {
		login = r.login.String()
	}
	c, err := f.checkouts.get(ctx, key(r.URL(), r.Path, login, r.Ref), func() (Checkout, error) {
		ctx, cancel := f.within(ctx, limit)
		defer cancel()
		c, err := f.checkOut(ctx, r)
		return c, failure(ctx, r.URL(), err)
	})
	if err != nil {
		return Checkout{}, err
	}
	c.Path = "."
	if r.Folder != "" {
		c.Path = r.Folder
		root, err := os.OpenRoot(c.Dir)
		if err != nil {
			return Checkout{}, fmt.Errorf("open checkout: %w", err)
		}
		_, err = root.Stat(filepath.FromSlash(r.Folder))
		if err = errors.Join(err, root.Close()); err != nil {
			return Checkout{}, &fetchError{r.URL(), fmt.Errorf("commit %s has no %s", c.Commit, r.Folder)}
		}
	}
	return c, nil
}

// conversation is what a client and a Git server say to each other.
type conversation interface {
	// refs returns what the server has.
	refs(ctx context.Context) (*packp.AdvRefs, error)
	// pack sends a request and returns the answer.
	pack(ctx context.Context, request []byte) (io.ReadCloser, error)
	close()
}

func (f *Fetcher) checkOut(ctx context.Context, r Repository) (Checkout, error) {
	if commitID.MatchString(r.Ref) {
		if c, ok := f.known(r, r.Ref); ok {
			return c, nil
		}
	}
	talk, err := f.talk(ctx, r)
	if err != nil {
		return Checkout{}, err
	}
	defer talk.close()
	server, err := talk.refs(ctx)
	if err != nil {
		return Checkout{}, err
	}
	want, commit, err := resolveRef(server, r.Ref)
	if err != nil {
		return Checkout{}, err
	}
	if c, ok := f.known(r, commit.String()); ok {
		return c, nil
	}
	request, text, err := ask(server, want)
	if err != nil {
		return Checkout{}, err
	}
	body, err := talk.pack(ctx, text)
	if err != nil {
		return Checkout{}, err
	}
	defer func() { _ = body.Close() }()
	pack, err := answered(request, body)
	if err != nil {
		if commitID.MatchString(r.Ref) {
			err = fmt.Errorf("commit %s: %w; the server has to have it and give out commits by their id", r.Ref, err)
		}
		return Checkout{}, err
	}
	return f.keep(ctx, r, want, pack)
}

func (f *Fetcher) talk(ctx context.Context, r Repository) (conversation, error) {
	if r.Scheme == "ssh" {
		return f.talkSSH(ctx, r)
	}
	return f.talkHTTP(r)
}

func commitKey(r Repository, commit string) string { return "git-" + key(r.URL(), r.Path, commit) }

// known returns a commit that the cache holds.
func (f *Fetcher) known(r Repository, commit string) (Checkout, bool) {
	dir, e, ok := f.store.readTree(true, commitKey(r, commit))
	return Checkout{Dir: dir, Commit: e.Version, Skipped: e.Skipped}, ok && e.Version == commit
}

// keep unpacks what the server sent, and writes the files of the commit.
func (f *Fetcher) keep(ctx context.Context, r Repository, want plumbing.Hash, pack io.Reader) (Checkout, error) {
	dir, err := f.store.folder(false)
	if err != nil {
		return Checkout{}, err
	}
	scratch, err := os.CreateTemp(dir, "objects-")
	if err != nil {
		return Checkout{}, err
	}
	defer func() {
		_ = scratch.Close()
		_ = os.Remove(scratch.Name())
	}()
	objects, err := unpack(ctx, pack, scratch, f.limits, r.URL())
	if err != nil {
		return Checkout{}, err
	}
	commit, tree, err := objects.peel(want)
	if err != nil {
		return Checkout{}, err
	}
	write := func(kept bool) (string, Entry, error) {
		e := Entry{Address: r.URL(), Version: commit.String(), Contents: "checkout"}
		return f.store.writeTree(kept, commitKey(r, commit.String()), e, func(dir string, e *Entry) (err error) {
			e.Skipped, err = objects.write(ctx, tree, dir)
			return err
		})
	}
	place, e, err := write(true)
	var path *os.PathError
	if errors.As(err, &path) && f.store.dir != "" {
		place, e, err = write(false) // a cache that cannot be written is no failure
	}
	if err != nil {
		return Checkout{}, err
	}
	return Checkout{Dir: place, Commit: e.Version, Skipped: e.Skipped}, nil
}

// resolveRef finds what the server has under a name: the object to ask for, and the
// commit where that is a tag. Source: Git, gitrevisions, "refname".
func resolveRef(server *packp.AdvRefs, ref string) (want, commit plumbing.Hash, err error) {
	if ref == "" {
		if server.Head == nil {
			return want, want, errors.New("it has no default branch; name one with ?ref=")
		}
		return *server.Head, *server.Head, nil
	}
	for _, rule := range []string{"", "refs/", "refs/tags/", "refs/heads/"} {
		if hash, ok := server.References[rule+ref]; ok {
			if peeled, ok := server.Peeled[rule+ref]; ok {
				return hash, peeled, nil
			}
			return hash, hash, nil
		}
	}
	switch {
	case commitID.MatchString(ref):
		hash := plumbing.NewHash(ref)
		return hash, hash, nil
	case ref == "HEAD" && server.Head != nil:
		return *server.Head, *server.Head, nil
	case shortID.MatchString(ref):
		return want, want, fmt.Errorf("it has no branch or tag %s; write a commit id with all 40 digits", ref)
	default:
		return want, want, fmt.Errorf("it has no branch or tag %s", ref)
	}
}

// ask writes the request for one object without its history.
func ask(server *packp.AdvRefs, want plumbing.Hash) (*packp.UploadPackRequest, []byte, error) {
	request := packp.NewUploadPackRequest()
	request.Wants = []plumbing.Hash{want}
	// Azure DevOps answers only who speaks one of the first two.
	for _, choice := range [][]capability.Capability{
		{capability.MultiACKDetailed, capability.MultiACK}, {capability.Sideband64k, capability.Sideband},
		{capability.OFSDelta}, {capability.NoProgress}, {capability.Shallow},
	} {
		for _, c := range choice {
			if server.Capabilities.Supports(c) {
				if err := request.Capabilities.Set(c); err != nil {
					return nil, nil, err
				}
				break
			}
		}
	}
	if request.Capabilities.Supports(capability.Shallow) {
		request.Depth = packp.DepthCommits(1)
	}
	if err := request.Validate(); err != nil {
		return nil, nil, err
	}
	var text strings.Builder
	if err := request.UploadRequest.Encode(&text); err != nil {
		return nil, nil, err
	}
	err := pktline.NewEncoder(&text).EncodeString("done\n")
	return request, []byte(text.String()), err
}

// answered reads the answer up to the pack, and returns the pack.
func answered(request *packp.UploadPackRequest, body io.ReadCloser) (io.Reader, error) {
	response := packp.NewUploadPackResponse(request)
	if err := response.Decode(body); err != nil {
		return nil, err
	}
	switch {
	case request.Capabilities.Supports(capability.Sideband64k):
		return sideband.NewDemuxer(sideband.Sideband64k, response), nil
	case request.Capabilities.Supports(capability.Sideband):
		return sideband.NewDemuxer(sideband.Sideband, response), nil
	default:
		return response, nil
	}
}
