package argocd

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// withoutCopies leaves Applications out that are written again under the same name, and
// that apply the same: a cluster has one of them. Of one in the folder of an environment and
// another the former is kept, of one in the folder that both apply and another the latter, of
// others that are the same to the last field the one that lies less deep.
func (r *Repository) withoutCopies(roots []entry) []entry {
	of, outside := map[string]bool{}, map[string]bool{}
	for _, e := range roots {
		key := r.rootKey(e)
		of[key] = of[key] || folderEnvironment(path.Dir(e.file())) != ""
		outside[key] = outside[key] || !r.appliesItself(e)
	}
	roots = slices.DeleteFunc(roots, func(e entry) bool {
		key := r.rootKey(e)
		return key != "" && (folderEnvironment(path.Dir(e.file())) == "" && of[key] || r.appliesItself(e) && outside[key])
	})
	first := map[string]string{}
	before := func(a, b string) bool {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))) < 0
	}
	whole := func(e entry) string {
		key := r.rootKey(e)
		if key != "" {
			key += fmt.Sprint(e.document.value.At("spec").Any(), e.document.value.At("metadata").Any())
		}
		return key
	}
	for _, e := range roots {
		key := whole(e)
		if file, known := first[key]; !known || before(e.file(), file) {
			first[key] = e.file()
		}
	}
	return slices.DeleteFunc(roots, func(e entry) bool {
		key := whole(e)
		return key != "" && folderEnvironment(path.Dir(e.file())) == "" && e.file() != first[key]
	})
}

// appliesItself reports whether an Application lies in the folder that it applies.
func (r *Repository) appliesItself(e entry) bool {
	if r.rootKey(e) == "" {
		return false
	}
	dir, _ := r.local(e.document.sources()[0])
	_, inside := below(dir, e.file())
	return inside
}

// rootKey is what an Application is called and applies, where it takes one folder of this
// repository as it is; empty for others.
func (r *Repository) rootKey(e entry) string {
	d := e.document
	if d.value == nil || d.rendered || !d.isApplication() {
		return ""
	}
	sources := d.sources()
	if len(sources) != 1 {
		return ""
	}
	dir, ok := r.local(sources[0])
	for _, key := range []string{"helm", "kustomize", "plugin"} {
		if v := sources[0].value.At(key); v != nil && len(v.Entries) > 0 {
			return ""
		}
	}
	if !ok {
		return ""
	}
	how := ""
	if v := sources[0].value.At("directory"); v != nil {
		how = fmt.Sprint(v.Any())
	}
	return strings.Join([]string{d.value.TextAt("metadata", "namespace"), d.name(), dir, sources[0].value.TextAt("targetRevision"), destination(d), how}, "\x00")
}
