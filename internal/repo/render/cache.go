package render

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate/wire"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/render/source"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// formatVersion is part of every key: raise it when the same files render to
// something else, or when the format of the entries changes.
const formatVersion = "18"

// entry is a reply without the values of its Secrets: they are on disk only where
// the user has put them.
type entry struct {
	// Dropped is set where a Secret had values.
	Dropped bool       `json:"dropped,omitempty"`
	Reply   wire.Reply `json:"reply"`
}

// question is everything but files that a result depends on.
type question struct {
	Format, KubeVersion, Namespace, Release string
	// Asks is set for results that depend on APIVersions.
	Asks        bool
	APIVersions []string
	Offline     bool
	Partial     bool
	MaxOutput   int
	Source      model.Source
}

func (q question) key() (string, bool) {
	data, err := json.Marshal(q)
	if err != nil {
		return "", false
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), true
}

// result renders a source, or takes its result from the cache.
func (r *Renderer) result(ctx context.Context, c model.Component, src model.Source, versions []string) (wire.Reply, []manifest.Object, error) {
	reply, objects, err := r.cached(ctx, c, src, versions)
	if r.opts.SecretKeysOnly {
		// Also what has just been rendered: a cold run sees what a warm one sees.
		for i, o := range objects {
			kept, _ := manifest.KeysOnly(o.Object)
			objects[i].Unstructured = &unstructured.Unstructured{Object: kept}
		}
	}
	return reply, objects, err
}

// cached renders a source, or takes its result from the cache where that has all
// that is asked for.
func (r *Renderer) cached(ctx context.Context, c model.Component, src model.Source, versions []string) (wire.Reply, []manifest.Object, error) {
	view := r.tree.View()
	if r.cache == nil {
		return r.fresh(ctx, view, c, src, versions)
	}
	ask := question{Format: formatVersion, KubeVersion: r.opts.KubeVersion, Namespace: c.Namespace, Release: c.Name,
		Offline: r.opts.Offline, Partial: r.opts.Partial, MaxOutput: r.opts.MaxOutput, Source: src}
	// A result that does not depend on API versions is kept under a key
	// without them, so that a new CRD elsewhere does not make it stale.
	plainKey, ok := ask.key()
	ask.Asks, ask.APIVersions = true, slices.Concat(r.opts.APIVersions, versions)
	fullKey, okFull := ask.key()
	if !ok || !okFull {
		return r.fresh(ctx, view, c, src, versions)
	}
	for _, key := range []string{plainKey, fullKey} {
		if e, ok := r.cache.find(key, r.tree); ok && (r.opts.SecretKeysOnly || !e.Dropped) {
			if objects, ok := objectsOf(e.Reply); ok {
				return e.Reply, objects, nil
			}
		}
	}
	reply, objects, err := r.fresh(ctx, view, c, src, versions)
	if err != nil {
		return reply, objects, err
	}
	if trace, ok := view.Trace(); ok {
		key := plainKey
		if reply.Asks {
			key = fullKey
		}
		r.cache.store(key, trace, reply, objects)
	}
	return reply, objects, nil
}

// fresh renders a source and reads its objects.
func (r *Renderer) fresh(ctx context.Context, view *source.Recording, c model.Component, src model.Source, versions []string) (wire.Reply, []manifest.Object, error) {
	reply, err := r.source(ctx, view, c, src, versions)
	objects, readable := objectsOf(reply)
	if err == nil && !readable {
		err = source.Errorf(src.Position, "what the source renders to cannot be read")
	}
	return reply, objects, err
}

// find returns the variant whose files are as they were.
func (c *cache) find(key string, tree *source.Tree) (entry, bool) {
	for _, name := range c.variants(key) {
		data, err := repofs.ReadRegular(name, maxEntry)
		if err != nil {
			continue
		}
		head, content, ok := sealed(data)
		if !ok {
			continue
		}
		var trace source.Trace
		if json.Unmarshal(head, &trace) != nil || len(trace) == 0 || !tree.Holds(trace) {
			continue
		}
		var e entry
		if json.Unmarshal(content, &e) == nil {
			return e, true
		}
	}
	return entry{}, false
}

func checksum(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// store writes a variant; a cache that cannot be written is no failure.
// Nothing is written where a part is left out that has values: they may hold
// secrets, and what the part requires depends on them.
func (c *cache) store(key string, trace source.Trace, reply wire.Reply, objects []manifest.Object) {
	e := entry{Reply: reply}
	e.Reply.Objects = slices.Clone(reply.Objects)
	for i, o := range objects {
		kept, had := manifest.KeysOnly(o.Object)
		if !had {
			continue
		}
		e.Dropped = true
		raw, err := json.Marshal(kept)
		if err != nil {
			return
		}
		e.Reply.Objects[i].Object = raw
	}
	for _, l := range reply.Lacking {
		if len(l.Source.Values)+len(l.Source.Parameters)+len(l.Source.StringParameters) > 0 {
			return
		}
	}
	c.write(key, trace, e)
}

// write adds an entry: what it rests on, and its content as JSON.
func (c *cache) write(key string, trace source.Trace, content any) {
	head, err := json.Marshal(trace)
	if err != nil {
		return
	}
	body, err := json.Marshal(content)
	if err != nil {
		return
	}
	c.add(key, checksum(head), seal(head, body))
}

// objectsOf reads the objects of a reply.
func objectsOf(reply wire.Reply) ([]manifest.Object, bool) {
	out := make([]manifest.Object, len(reply.Objects))
	for i, o := range reply.Objects {
		var m map[string]any
		if err := utiljson.Unmarshal(o.Object, &m); err != nil || m == nil {
			return nil, false
		}
		out[i] = manifest.Object{Unstructured: &unstructured.Unstructured{Object: m}, Origin: o.Origin, CRDFolder: o.CRDFolder}
	}
	return out, true
}
