package status

import (
	"reflect"
	"slices"
	"strings"
)

// IsCompared reports whether the last comparison was made with the spec as it is
// now. Source: argo-cd, needRefreshAppStatus.
func (a *Application) IsCompared() bool {
	c := a.Status.Sync.ComparedTo
	return c.Destination == a.Destination &&
		sameSources(a.Spec, c.Source, c.Sources) &&
		equal(anyList(a.IgnoreDifferences), anyList(c.IgnoreDifferences))
}

// sameSources compares the sources of a spec with those that a comparison or a
// sync was made with.
func sameSources(s Spec, source map[string]any, sources []map[string]any) bool {
	if !s.MultiSource() {
		return len(sources) == 0 && equal(anyMap(s.Source), anyMap(source))
	}
	if len(sources) != len(s.Sources) {
		return false
	}
	for i := range sources {
		if !equal(anyMap(s.Sources[i]), anyMap(sources[i])) {
			return false
		}
	}
	return true
}

// anyMap and anyList keep a nil of a type from being unlike a nil without one.
func anyMap(m map[string]any) any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func anyList(l []any) any {
	if l == nil {
		return []any{}
	}
	return l
}

// equal compares what a person wrote with what Argo CD wrote from its own types,
// which leaves zero values out. Values of charts and parameters of plugins are
// kept as written, so there a zero counts.
func equal(a, b any) bool { return reflect.DeepEqual(trim(a, ""), trim(b, "")) }

// trim drops zero values below v, which is the value of a field.
func trim(v any, field string) any {
	if field == "valuesObject" || field == "parameters" {
		return verbatim(v, field)
	}
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if t := trim(e, k); !isZero(t) {
				out[k] = t
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, trim(e, ""))
		}
		return out
	}
	return numbers(v)
}

// verbatim keeps zeros but for the absent list; helm.parameters are typed, their
// zeros are left out one level below.
func verbatim(v any, field string) any {
	list, isList := v.([]any)
	if field != "parameters" || !isList {
		return numbers(v)
	}
	out := make([]any, 0, len(list))
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			out = append(out, numbers(e))
			continue
		}
		// name, value and forceString of a chart; a plugin has string, array and map.
		p := map[string]any{}
		for k, e := range m {
			if k == "string" || k == "array" || k == "map" || !isZero(e) {
				p[k] = numbers(e)
			}
		}
		out = append(out, p)
	}
	return out
}

// numbers gives all numbers one type.
func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = numbers(e)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			out = append(out, numbers(e))
		}
		return out
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return v
}

func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	case bool:
		return !v
	case float64:
		return v == 0
	case int64:
		return v == 0
	}
	return false
}

// Want is what a rollout wants of an Application.
type Want struct {
	// Revision is the commit of the rollout, in full or its first seven digits or
	// more. Empty means that whatever the Application tracks is wanted.
	Revision string
	// Repositories are the addresses of the rollout's repository. Empty means that
	// every source that is not a chart comes from it.
	Repositories []string
}

// Pinned are the indexes of the sources that the revision is one of.
func (w Want) Pinned(s Spec) []int {
	var out []int
	for i, source := range s.AllSources() {
		if chart, _ := source["chart"].(string); chart != "" {
			continue
		}
		url, _ := source["repoURL"].(string)
		if strings.HasPrefix(url, "oci://") && len(w.Repositories) == 0 {
			continue
		}
		if len(w.Repositories) == 0 || slices.ContainsFunc(w.Repositories, func(r string) bool { return SameRepository(r, url) }) {
			out = append(out, i)
		}
	}
	return out
}

// SameRepository compares addresses as Git does, more or less: the suffix .git,
// a final slash, user names and upper case in the host mean nothing, and
// git@host:path is ssh://git@host/path. Source: argo-cd, util/git
// NormalizeGitURL.
func SameRepository(a, b string) bool { return normalURL(a) == normalURL(b) }

func normalURL(url string) string {
	url = strings.ToLower(strings.TrimSpace(url))
	if head, path, ok := strings.Cut(url, ":"); ok && !strings.HasPrefix(path, "//") && strings.Contains(head, "@") {
		url = "ssh://" + head + "/" + strings.TrimPrefix(path, "/")
	}
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndex(host, "@"); at >= 0 {
			host = host[at+1:]
		}
		url = scheme + "://" + host + "/" + path
	}
	return strings.TrimSuffix(strings.TrimSuffix(url, "/"), ".git")
}

// isRevision reports whether have is the commit that is wanted.
func (w Want) isRevision(have string) bool {
	if w.Revision == "" {
		return true
	}
	if have == "" {
		return false
	}
	return have == w.Revision || len(w.Revision) >= 7 && len(w.Revision) < len(have) && isHex(w.Revision) && strings.HasPrefix(have, w.Revision)
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}

// matches reports whether revisions, of one source or of all, are those wanted.
func (w Want) matches(s Spec, revision string, revisions []string) bool {
	for _, i := range w.Pinned(s) {
		have := revision
		if s.MultiSource() {
			if i >= len(revisions) {
				return false
			}
			have = revisions[i]
		}
		if !w.isRevision(have) {
			return false
		}
	}
	return true
}

// seen is the revision of the first source of the rollout's repository.
func (w Want) seen(s Spec, revision string, revisions []string) string {
	pinned := w.Pinned(s)
	switch {
	case len(pinned) == 0:
		return ""
	case !s.MultiSource():
		return revision
	case pinned[0] < len(revisions):
		return revisions[pinned[0]]
	}
	return ""
}
