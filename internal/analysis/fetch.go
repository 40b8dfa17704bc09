package analysis

import (
	"github.com/rollout-ladder/ladder/internal/cachedir"
	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/fetch"
)

// Fetcher returns what fetches for a repository. The host of its own remote may be
// private. The caller closes it.
func (o Options) Fetcher(repository string) *fetch.Fetcher {
	out := fetch.Options{Offline: o.Offline, AllowHosts: o.AllowHosts, NoCache: o.NoCache, CacheDir: cachedir.Join(o.CacheDir)}
	if here, err := checkout.Read(repository); err == nil {
		if host, ok := fetch.HostOf(here.URL); ok {
			out.OwnHosts = []string{host}
		}
	}
	return fetch.New(out)
}

// fetch fetches for all environments of the run.
func (r *run) fetch(repository string) evaluate.Fetch {
	if r.fetcher == nil {
		r.fetcher = r.options.Fetcher(repository)
	}
	return evaluate.With(r.fetcher)
}

// close removes what was fetched and is not kept.
func (r *run) close() {
	if r.fetcher != nil {
		_ = r.fetcher.Close() // folders of its own, which nobody misses
	}
}
