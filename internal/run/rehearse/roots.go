package rehearse

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/kube/health"
	"github.com/rollout-ladder/ladder/internal/plane/argocd/snapshot"
	"github.com/rollout-ladder/ladder/internal/repo"
	intakeargocd "github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// maxManifest is the size up to which a file is looked through for objects of
// Argo CD.
const maxManifest = 4 << 20

// roots finds what a person applies of a repository of Applications.
type roots struct {
	loaded   *analysis.Result
	snapshot snapshot.Snapshot
	// written are the objects of Argo CD in the files of the platform.
	written []written
}

// written is an object with its place.
type written struct {
	object   *unstructured.Unstructured
	position finding.Position
}

// find returns the settings and projects that nothing of the platform applies, and
// the roots of its environment.
func (r *roots) find() ([]*unstructured.Unstructured, error) {
	if err := r.read(); err != nil {
		return nil, err
	}
	objects := r.settings()
	for _, p := range r.loaded.Platform.Argo.Projects {
		if w, ok := r.at("AppProject", p.Name, p.Position); ok {
			objects = append(objects, w.object)
		}
	}
	for _, h := range r.loaded.Platform.Applied.ByHand {
		object, err := r.root(h)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// root is the object of one thing that is applied by hand. For a folder it is the
// Application that has it as its source, else one that is made up.
func (r *roots) root(h intakeargocd.ByHand) (*unstructured.Unstructured, error) {
	if h.Folder == "" {
		return r.readdressed(h)
	}
	for _, w := range r.written {
		source, _, _ := unstructured.NestedMap(w.object.Object, "spec", "source")
		if w.object.GetKind() == "Application" && source["repoURL"] == r.snapshot.Address && r.same(source["path"], h.Folder) {
			return w.object, nil
		}
	}
	return r.madeUp(h), nil
}

// readdressed is an object with the addresses of the snapshot.
func (r *roots) readdressed(h intakeargocd.ByHand) (*unstructured.Unstructured, error) {
	text, err := yaml.Marshal(h.Object)
	if err != nil {
		return nil, fmt.Errorf("write the %s %s: %w", h.Kind, h.Name, err)
	}
	parsed, err := manifest.Parse(r.snapshot.Readdress("root.yaml", text))
	if err != nil || len(parsed) != 1 {
		return nil, &repo.InputError{Position: h.Position, Message: fmt.Sprintf("the %s %s cannot be applied as it is made", h.Kind, h.Name), Hint: "name what is applied by hand with --root"}
	}
	return parsed[0].Object, nil
}

// same reports whether a path of a source is a folder of the platform.
func (r *roots) same(written any, folder string) bool {
	text, _ := written.(string)
	clean := strings.TrimPrefix(path.Clean("/"+text), "/")
	return text != "" && (clean == path.Clean(folder) || clean == r.inSnapshot(folder))
}

// inSnapshot is a path of the platform as the snapshot has it.
func (r *roots) inSnapshot(p string) string {
	rel, err := filepath.Rel(r.snapshot.Top, filepath.Join(r.loaded.Platform.Root, filepath.FromSlash(p)))
	if err != nil {
		return p
	}
	return filepath.ToSlash(rel)
}

// madeUp is an Application for a folder that somebody applies with kubectl, or a chart that
// somebody installs.
func (r *roots) madeUp(h intakeargocd.ByHand) *unstructured.Unstructured {
	source := map[string]any{"repoURL": r.snapshot.Address, "targetRevision": snapshot.Branch, "path": r.inSnapshot(h.Folder)}
	if helm := h.Helm(r.inSnapshot); helm != nil {
		source["helm"] = helm
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"project":     "default",
		"source":      source,
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
		"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
	}}}
	o.SetAPIVersion("argoproj.io/v1alpha1")
	o.SetKind("Application")
	o.SetName("ladder-root-" + r.loaded.Platform.Environment)
	return o
}

// settings is Argo CD's ConfigMap with what the repository writes for it in any
// form, where nothing that is rolled out has it.
func (r *roots) settings() []*unstructured.Unstructured {
	written, _ := r.loaded.Platform.Argo.Settings.Data()
	if len(written) == 0 || len(session.Settings(r.loaded)) > 0 {
		return nil
	}
	data := map[string]any{}
	for key, w := range written {
		data[key] = w.Text
	}
	o := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	o.SetAPIVersion("v1")
	o.SetKind("ConfigMap")
	o.SetName(health.ArgoCM)
	o.SetLabels(map[string]string{"app.kubernetes.io/part-of": "argocd"}) // else Argo CD does not see it
	return []*unstructured.Unstructured{o}
}

// at is the object of a kind and name that is written at a position.
func (r *roots) at(kind, name string, position finding.Position) (written, bool) {
	i := slices.IndexFunc(r.written, func(w written) bool {
		return w.object.GetKind() == kind && w.object.GetName() == name && w.position.File == position.File
	})
	if i < 0 {
		return written{}, false
	}
	return r.written[i], true
}

// read collects the objects of Argo CD in the files of the platform, with the
// addresses of the snapshot. Files that are no manifests are passed over.
func (r *roots) read() error {
	root := r.loaded.Platform.Root
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(file)):
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxManifest {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, []byte("argo")) || bytes.Contains(text, []byte("{{")) && inTemplates(file) {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		parsed, err := manifest.Parse(r.snapshot.Readdress(rel, text))
		if err != nil {
			return nil //nolint:nilerr // no manifest
		}
		for _, p := range parsed {
			r.written = append(r.written, written{object: p.Object, position: finding.Position{File: rel, Line: p.Line}})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for what is applied by hand: %w", err)
	}
	return nil
}

func inTemplates(file string) bool {
	return strings.Contains(filepath.ToSlash(file), "/templates/")
}
