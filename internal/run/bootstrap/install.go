package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/confine/evaluate"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// installation gets the objects of Argo CD and lays the settings over them: those
// that come before Argo CD, those of the generated root, those that the
// configuration names. An object has one desired state, whichever stage applies
// it, so that no stage takes back what another did.
func (r *run) installation(ctx context.Context, s *sources, settings []manifest.Object) error {
	a := r.options.Config.ArgoCD
	var err error
	switch {
	case a.Manifest != nil:
		s.install, err = r.manifest(ctx, s, *a.Manifest)
	case a.Chart != nil:
		s.install, err = r.chart(ctx, s, *a.Chart)
	}
	wrong := []error{err}
	fill(s.install, s.namespace)
	s.warnings = append(s.warnings, elsewhere(s.install, s.namespace)...)
	for _, p := range a.Settings {
		objects, err := r.readPath(s, p)
		wrong = append(wrong, err)
		for _, o := range objects {
			if o.GetKind() != "ConfigMap" {
				wrong = append(wrong, &repofs.InputError{Position: o.Origin.Position(), Message: fmt.Sprintf("argocd.settings are ConfigMaps, not a %s", o.GetKind()), Hint: "list other objects under root.paths"})
			}
			if o.GetNamespace() == "" {
				o.SetNamespace(s.namespace)
			}
			settings = append(settings, o)
		}
	}
	if err := toMend(wrong...); err != nil {
		return err
	}
	seen := func(list []manifest.Object, o manifest.Object) bool {
		for _, other := range list {
			if other.Resource() == o.Resource() {
				return true
			}
		}
		return false
	}
	written := slices.Clone(settings)
	for _, c := range s.preArgo {
		written = append(written, s.early[c.Name]...)
	}
	s.brought = brought(s.install, written)
	for _, c := range s.preArgo {
		for _, o := range s.early[c.Name] {
			if seen(s.install, o) || seen(settings, o) {
				s.install = overlay(s.install, []manifest.Object{o})
			}
		}
	}
	s.install = overlay(s.install, settings)
	for _, c := range s.preArgo {
		for i, o := range s.early[c.Name] {
			for _, merged := range s.install {
				if merged.Resource() == o.Resource() {
					s.early[c.Name][i].Unstructured = merged.Unstructured
				}
			}
		}
	}
	for _, o := range s.install {
		if o.GetKind() == "ConfigMap" && o.GetName() == "argocd-cm" {
			s.settings, _, _ = unstructured.NestedStringMap(o.Object, "data")
		}
	}
	return nil
}

// brought are the settings that come with Argo CD in ConfigMaps of which the platform writes another part. Argo CD
// applies that part as the manager that the whole was applied by, and what it does not write any more would go:
// so the bootstrap owns the rest as well.
func brought(install, written []manifest.Object) []manifest.Object {
	var out []manifest.Object
	for _, o := range install {
		rest, _, _ := unstructured.NestedStringMap(o.Object, "data")
		both := false
		for _, w := range written {
			if o.GetKind() != "ConfigMap" || w.Resource() != o.Resource() {
				continue
			}
			both = true
			data, _, _ := unstructured.NestedMap(w.Object, "data")
			maps.DeleteFunc(rest, func(key, _ string) bool { _, has := data[key]; return has })
		}
		if !both || len(rest) == 0 {
			continue
		}
		part := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		part.SetName(o.GetName())
		part.SetNamespace(o.GetNamespace())
		_ = unstructured.SetNestedStringMap(part.Object, rest, "data") // of texts it cannot fail
		out = append(out, manifest.Object{Unstructured: part, Origin: o.Origin})
	}
	return out
}

// manifest reads a manifest from the repository or from elsewhere.
func (r *run) manifest(ctx context.Context, s *sources, m Manifest) ([]manifest.Object, error) {
	if m.URL != "" {
		text, err := r.download(ctx, m.URL, m.Digest)
		if err != nil {
			return nil, fmt.Errorf("get the manifest of Argo CD: %w", err)
		}
		return parse(path.Base(m.URL), text)
	}
	if m.Digest != "" {
		text, err := s.tree.Read(m.Path)
		if err != nil {
			return nil, err
		}
		if err := checkDigest(m.Path, text, m.Digest); err != nil {
			return nil, err
		}
	}
	return r.readPath(s, Path{m.Path, m.Position})
}

// argoComponent is the name of the release of a chart that has none.
const argoComponent = "argocd"

// chart renders a chart from the repository or from elsewhere.
func (r *run) chart(ctx context.Context, s *sources, c Chart) ([]manifest.Object, error) {
	source := model.Source{Kind: model.Chart, Path: c.Path, RepoURL: c.RepoURL, Name: c.Name, Version: c.Version, ReleaseName: c.ReleaseName, Values: c.Values, Position: c.Position}
	for _, f := range c.ValueFiles {
		source.ValueFiles = append(source.ValueFiles, model.ValueFile{Path: strings.TrimPrefix(f.Path, "$values/"), Position: f.Position})
	}
	address := c.RepoURL
	if c.URL != "" {
		source.RepoURL, source.Name = c.URL[:strings.LastIndexByte(c.URL, '/')], path.Base(c.URL)
		source.Version = c.Digest // a name for what it is; nothing looks it up
		address = c.URL
	}
	// A worker asks for what is fetched, and is told the text of an error only.
	var wrong *DigestError
	from := evaluate.Fetch{Chart: func(ctx context.Context, repoURL, name, version string) (data []byte, err error) {
		if c.URL != "" && repoURL == source.RepoURL && name == source.Name {
			data, err = r.download(ctx, c.URL, c.Digest)
		} else {
			data, err = r.pull(ctx, repoURL, name, version, c)
		}
		_ = errors.As(err, &wrong)
		return data, err
	}}
	release := cmp.Or(c.ReleaseName, argoComponent)
	objects, err := newRenderer(s.platform, r.options.Load, from, address != "").Component(ctx, model.Component{
		Name: release, Namespace: s.namespace, Sources: []model.Source{source}, Position: c.Position, Enabled: true, Phase: model.NoPhase,
	})
	if wrong != nil {
		return nil, wrong
	}
	if err != nil {
		return nil, input(err)
	}
	return objects, nil
}

// fill says where objects land that do not say so themselves.
func fill(objects []manifest.Object, namespace string) {
	scopes := manifest.NewScopes()
	for _, o := range objects {
		scopes.Add(o.Unstructured)
	}
	for i := range objects {
		o := &objects[i]
		gvk := o.GroupVersionKind()
		switch {
		case scopes.ClusterWide(gvk.Group, gvk.Kind):
			o.Target = ""
		case o.GetNamespace() == "":
			o.SetNamespace(namespace)
			o.Target = namespace
		default:
			o.Target = o.GetNamespace()
		}
	}
}

// elsewhere warns of roles that are bound to service accounts in another
// namespace than the one that is installed into.
func elsewhere(objects []manifest.Object, namespace string) []string {
	for _, o := range objects {
		if o.GetKind() != "ClusterRoleBinding" {
			continue
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, subject := range subjects {
			m, _ := subject.(map[string]any)
			if other, _ := m["namespace"].(string); m["kind"] == "ServiceAccount" && other != "" && other != namespace {
				return []string{fmt.Sprintf("%s: %s binds service accounts of the namespace %s, while Argo CD is installed into %s", o.Origin.Position(), o.Resource().Human(), other, namespace)}
			}
		}
	}
	return nil
}

// loopback reports whether an address is one of this machine.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1" || u.Hostname() == "localhost")
}
