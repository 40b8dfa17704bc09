package kustomize

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// origin is kustomize's own account of where a resource comes from. Source:
// kustomize, "buildMetadata: originAnnotations".
type origin struct {
	Path         string `json:"path"`
	Repo         string `json:"repo"`
	ConfiguredIn string `json:"configuredIn"`
}

// fileObjects are the documents of one file.
type fileObjects struct {
	// only is the line of the only document, 0 where there are more.
	only   int
	parsed []manifest.Parsed
}

func (f *fileObjects) read(data []byte) {
	if documents := manifest.Split(data); len(documents) == 1 {
		f.only = documents[0].Line // whatever is in it
		return
	}
	f.parsed, _ = manifest.Parse(data) // kustomize could read it, so can we
}

// origin finds the file and line an object comes from. Where kustomize does
// not tell, it is the kustomization.
func (b *build) origin(u *unstructured.Unstructured, files map[string]*fileObjects) manifest.Origin {
	own := b.position()
	fallback := manifest.Origin{File: own.File, Line: own.Line}
	var o origin
	if err := yaml.Unmarshal([]byte(u.GetAnnotations()[originAnnotation]), &o); err != nil || o.Repo != "" {
		return fallback
	}
	if o.Path == "" {
		if o.ConfiguredIn == "" || remoteReference.MatchString(o.ConfiguredIn) {
			return fallback
		}
		return manifest.Origin{File: path.Join(b.relRoot(), o.ConfiguredIn), Line: 1}
	}
	if remoteReference.MatchString(o.Path) {
		return fallback
	}
	if !b.files.own(path.Join(b.root, o.Path)) {
		return fallback
	}
	name := path.Join(b.relRoot(), o.Path)
	if chart, ok := b.charts[b.files.abs(name)]; ok {
		return chart.find(u, fallback)
	}
	file, ok := files[name]
	if !ok {
		file = &fileObjects{}
		if data, err := b.files.view.Read(name); err == nil {
			file.read(data)
		}
		files[name] = file
	}
	return manifest.Origin{File: name, Line: file.line(u)}
}

// relRoot is the folder of the kustomization relative to the platform.
func (b *build) relRoot() string { return b.files.rel(b.root) }

// line finds an object in its file: kustomize may have renamed it, mostly by a
// prefix or suffix.
func (f *fileObjects) line(u *unstructured.Unstructured) int {
	if f.only > 0 {
		return f.only
	}
	if i := match(u, len(f.parsed), func(i int) *unstructured.Unstructured { return f.parsed[i].Object }); i >= 0 {
		return f.parsed[i].Line
	}
	return 1
}

// match finds the candidate that an object was made from: of its kind, with its
// name, or with a name that its own contains, or the only one of its kind.
func match(u *unstructured.Unstructured, n int, at func(int) *unstructured.Unstructured) int {
	contained, only, ofKind := -1, -1, 0
	for i := range n {
		c := at(i)
		if c.GetKind() != u.GetKind() {
			continue
		}
		ofKind++
		only = i
		if c.GetName() == u.GetName() && (c.GetNamespace() == u.GetNamespace() || c.GetNamespace() == "") {
			return i
		}
		if c.GetName() != "" && strings.Contains(u.GetName(), c.GetName()) && (contained < 0 || len(c.GetName()) > len(at(contained).GetName())) {
			contained = i
		}
	}
	switch {
	case contained >= 0:
		return contained
	case ofKind == 1:
		return only
	}
	return -1
}

// chartOrigins are the objects that stand in for one entry of helmCharts.
type chartOrigins struct{ objects []manifest.Object }

func (c chartOrigins) find(u *unstructured.Unstructured, fallback manifest.Origin) manifest.Origin {
	if i := match(u, len(c.objects), func(i int) *unstructured.Unstructured { return c.objects[i].Unstructured }); i >= 0 {
		return c.objects[i].Origin
	}
	return fallback
}
