package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/analysis"
	"github.com/rollout-ladder/ladder/internal/argocd/generate"
	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/core/plan"
	"github.com/rollout-ladder/ladder/internal/core/rollout"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/repo/ladderfile"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/run/session"
)

// sources is everything that a run applies and waits for, read before anything
// is changed.
type sources struct {
	platform *repo.Platform
	tree     *repofs.Tree
	// namespace is Argo CD's.
	namespace string
	// preArgo are the components that come before Argo CD, with their objects.
	preArgo []model.Component
	early   map[string][]manifest.Object
	// install is Argo CD with the settings laid over it.
	install []manifest.Object
	// brought are the parts of its ConfigMaps that no other stage writes.
	brought []manifest.Object
	// root is applied when Argo CD runs.
	root []manifest.Object
	// unlike says how the files that Argo CD reads differ from what is applied of them.
	unlike string
	// secrets are those of the configuration.
	secrets  []manifest.Object
	warnings []string
	// scripts are those of argocd-cm.
	settings map[string]string
}

// read reads the platform, renders what comes before Argo CD, and gets Argo CD.
func (r *run) read(ctx context.Context) (*sources, error) {
	o := r.options
	s := &sources{}
	var loaded *analysis.Result
	var err error
	if o.Config.Root.Generate {
		if loaded, err = analysis.Load(ctx, o.Path, o.Load); err == nil {
			s.platform = loaded.Platform
		}
	} else {
		s.platform, err = analysis.Open(ctx, o.Path, o.Load)
	}
	if err == nil {
		err = refused(s.platform)
	}
	if err != nil {
		_, wrong := r.values.secretObjects(o.Config, DefaultNamespace) // for which the platform does not matter
		return nil, toMend(err, wrong)
	}
	s.tree = &repofs.Tree{Root: s.platform.Root, Repository: s.platform.Repository}
	s.namespace = cmp.Or(o.Config.ArgoCD.Namespace, s.platform.ArgoCD.Namespace, DefaultNamespace)
	var early error
	if !o.Config.PreArgo.Skip {
		s.preArgo, s.early, early = Early(ctx, s.platform, o.Load)
	}
	settings, root := r.rootObjects(ctx, s, loaded)
	installed := r.installation(ctx, s, settings)
	var secrets error
	s.secrets, secrets = r.values.secretObjects(o.Config, s.namespace)
	s.warnings = append(s.warnings, r.values.warnings...)
	return s, toMend(early, r.checkBands(s.platform), r.checkCluster(s.tree), root, installed, secrets)
}

// toMend joins what is wrong with the input, so that it is told all at once. Other errors
// count where there is no such.
func toMend(all ...error) error {
	var wrong []error
	var other error
	for _, err := range all {
		switch {
		case err == nil:
		case isInput(err):
			wrong = append(wrong, err)
		case other == nil:
			other = err
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	return other
}

// checkCluster refuses a configuration of the tool that makes the cluster which is not
// there.
func (r *run) checkCluster(tree *repofs.Tree) error {
	c := r.options.Config.Cluster.Create
	if c == nil || c.Config == "" {
		return nil
	}
	abs, err := (&repofs.Tree{Root: tree.Root, Repository: tree.Root}).Resolve(c.Config, c.Position)
	if err != nil {
		return err
	}
	if _, err := os.Stat(abs); err != nil {
		return &repofs.InputError{Position: c.Position, Message: fmt.Sprintf("cluster.create.config: %s does not exist", c.Config), Hint: "paths are relative to the root of the platform", Err: err}
	}
	return nil
}

// refused returns the errors of the platform that leave nothing sound to apply.
func refused(p *repo.Platform) error {
	var wrong []finding.Finding
	for _, f := range p.Findings {
		if f.Severity == finding.Error {
			wrong = append(wrong, f)
		}
	}
	if len(wrong) > 0 {
		return &session.RefusedError{Findings: wrong}
	}
	return nil
}

// rootObjects finds what is applied when Argo CD runs, and returns the settings
// that go with it.
func (r *run) rootObjects(ctx context.Context, s *sources, loaded *analysis.Result) (settings []manifest.Object, err error) {
	root := r.options.Config.Root
	var found []manifest.Object
	switch {
	case root.Generate:
		if found, err = r.generated(ctx, s, loaded); err != nil {
			return nil, err
		}
	case len(root.Paths) > 0:
		var wrong []error
		for _, p := range root.Paths {
			objects, err := r.readPath(s, p)
			wrong, found = append(wrong, err), append(found, objects...)
		}
		if err := toMend(wrong...); err != nil {
			return nil, err
		}
	default:
		folder := ladderfile.Folder(s.platform.ArgoCD.Out, s.platform.Environment)
		if _, err := os.Stat(filepath.Join(s.platform.Root, filepath.FromSlash(folder), generate.RootFile)); err != nil {
			return nil, &repofs.InputError{Position: cmp.Or(root.Position, finding.Position{File: r.options.Config.File}), Message: fmt.Sprintf("there is no %s/%s, so nothing says what Argo CD has to look after", folder, generate.RootFile),
				Hint: "write it with ladder generate, and push it; or name the files that are applied by hand: root: {paths: [...]}"}
		}
		if found, err = r.readPath(s, Path{Path: folder}); err != nil {
			return nil, err
		}
	}
	for _, o := range found {
		if o.GetNamespace() == "" {
			o.SetNamespace(s.namespace)
		}
		if o.GetKind() == "ConfigMap" && o.GetAPIVersion() == "v1" {
			settings = append(settings, o)
			continue
		}
		s.root = append(s.root, o)
	}
	return settings, nil
}

// generated is what ladder generate would write. It notes where the files that Argo CD
// reads are other ones.
func (r *run) generated(ctx context.Context, s *sources, loaded *analysis.Result) ([]manifest.Object, error) {
	planned, err := plan.Build(session.PlanInput(loaded, rollout.Phases, nil, 0))
	if err != nil {
		return nil, &repofs.InputError{Position: finding.Position{File: r.options.Config.File}, Message: "the platform cannot be planned: " + err.Error(), Err: err}
	}
	unrendered := map[string]string{}
	for _, u := range session.Unrendered(loaded) {
		if unrendered[u.Component] == "" {
			unrendered[u.Component] = u.Reason
		}
	}
	in := generate.Input{
		Platform: loaded.Platform, Components: loaded.Typed(), Plan: planned, Objects: loaded.Objects, Unrendered: unrendered, Image: r.options.Image,
		RepoURL: r.options.Config.Root.RepoURL, Revision: r.options.Config.Root.Revision,
	}
	if err := address(&in); err != nil {
		return nil, err
	}
	made, err := generate.Build(ctx, in)
	if err != nil {
		return nil, &repofs.InputError{Position: finding.Position{File: r.options.Config.File}, Message: err.Error(), Err: err}
	}
	var out []manifest.Object
	stale, missing := 0, 0
	for _, f := range made.Files {
		there, err := os.ReadFile(filepath.Join(s.platform.Root, filepath.FromSlash(f.Path)))
		if err != nil || string(there) != string(f.Content) {
			stale++
		}
		if errors.Is(err, fs.ErrNotExist) {
			missing++
		}
		if !byHand(strings.TrimPrefix(f.Path, made.Folder+"/")) {
			continue
		}
		objects, err := parse(f.Path, f.Content)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	switch {
	case missing == len(made.Files):
		s.unlike = fmt.Sprintf("%s has none of the files that Argo CD reads: write them with ladder generate -e %s, and push them", made.Folder, s.platform.Environment)
	case stale > 0:
		s.unlike = fmt.Sprintf("%d of the files below %s are not as ladder generate would write them: Argo CD reads those of the repository, so write and push them", stale, made.Folder)
	}
	return out, nil
}

// address fills in what ladder.yaml does not say of the repository.
func address(in *generate.Input) error {
	a := in.Platform.ArgoCD
	in.RepoURL, in.Revision = cmp.Or(in.RepoURL, a.RepoURL), cmp.Or(in.Revision, a.TargetRevision)
	if in.RepoURL != "" && in.Revision != "" {
		return nil
	}
	here, err := checkout.Read(in.Platform.Repository)
	if err != nil {
		return fmt.Errorf("read what the checkout says of itself: %w", err)
	}
	in.RepoURL, in.Revision = cmp.Or(in.RepoURL, here.URL), cmp.Or(in.Revision, here.Branch)
	return nil
}

// byHand reports whether a generated file is applied before the root Application
// could apply it, or is that one.
func byHand(file string) bool {
	return slices.Contains([]string{generate.RootFile, "projects.yaml", "settings/argocd-cm.yaml", "settings/argocd-cmd-params-cm.yaml"}, file)
}

// readPath reads a file of objects, or a folder: of a generated one, what is
// applied by hand, else every file in it, but not those of its sub-folders.
func (r *run) readPath(s *sources, p Path) ([]manifest.Object, error) {
	abs, err := s.tree.Resolve(p.Path, p.Position)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, &repofs.InputError{Position: p.Position, Message: fmt.Sprintf("%s does not exist", p.Path), Hint: "paths are relative to the root of the platform", Err: err}
	}
	if !info.IsDir() {
		text, err := s.tree.Read(p.Path)
		if err != nil {
			return nil, err
		}
		return parse(p.Path, text)
	}
	names, err := filesOf(abs)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Path, err)
	}
	own, err := isGenerated(filepath.Join(abs, generate.RootFile))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.Path, err)
	}
	var out []manifest.Object
	for _, name := range names {
		if own && !byHand(name) || !own && strings.Contains(name, "/") {
			continue
		}
		file := path.Join(p.Path, name)
		text, err := s.tree.Read(file)
		if err != nil {
			return nil, err
		}
		objects, err := parse(file, text)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	if len(out) == 0 {
		return nil, &repofs.InputError{Position: p.Position, Message: fmt.Sprintf("%s holds no objects", p.Path)}
	}
	return out, nil
}

// isGenerated reports whether a file is one that ladder generate wrote.
func isGenerated(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return generate.Marked(text), err
}

// filesOf lists the YAML files of a folder and of its settings, as slash paths.
func filesOf(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" || ext == ".json" {
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// parse reads the objects in a file.
func parse(file string, text []byte) ([]manifest.Object, error) {
	documents, err := manifest.Parse(text)
	if err != nil {
		at := finding.Position{File: file}
		var syntax *manifest.SyntaxError
		if errors.As(err, &syntax) {
			at.Line = syntax.Line
		}
		return nil, &repofs.InputError{Position: at, Message: "is no list of Kubernetes objects: " + err.Error(), Err: err}
	}
	var out []manifest.Object
	for _, d := range documents {
		if d.Object.GetKind() == "Kustomization" && strings.HasPrefix(d.Object.GetAPIVersion(), "kustomize.config.k8s.io/") {
			continue
		}
		out = append(out, manifest.Object{Unstructured: d.Object, Origin: manifest.Origin{File: file, Line: d.Line}, Target: d.Object.GetNamespace()})
	}
	return out, nil
}

// overlay lays objects over others of the same name: maps are merged, everything
// else is taken from above. What is not there below is added.
func overlay(below, above []manifest.Object) []manifest.Object {
	out := slices.Clone(below)
	for _, o := range above {
		i := slices.IndexFunc(out, func(b manifest.Object) bool { return b.Resource() == o.Resource() })
		if i < 0 {
			out = append(out, o)
			continue
		}
		merged, _ := merge(out[i].Object, o.Object).(map[string]any)
		out[i].Unstructured = &unstructured.Unstructured{Object: merged}
		out[i].Origin = o.Origin
	}
	return out
}

func merge(below, above any) any {
	b, ok := below.(map[string]any)
	a, both := above.(map[string]any)
	if !ok || !both {
		return above
	}
	out := make(map[string]any, len(b)+len(a))
	maps.Copy(out, b)
	for key, value := range a {
		if old, ok := out[key]; ok {
			value = merge(old, value)
		}
		out[key] = value
	}
	return out
}

// checkBands refuses bands that do not exist.
func (r *run) checkBands(p *repo.Platform) error {
	var names []string
	for _, b := range p.Ladder.Bands {
		names = append(names, b.Name)
	}
	var wrong []error
	for _, b := range r.options.Config.Wait.Bands {
		if !slices.Contains(names, b.Path) {
			wrong = append(wrong, &repofs.InputError{Position: b.Position, Message: fmt.Sprintf("wait.bands: there is no band %q", b.Path), Hint: "the bands are " + strings.Join(names, ", ")})
		}
	}
	return errors.Join(wrong...)
}
