package flux

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// built is a folder that was built.
type built struct {
	objects []manifest.Object
	err     error
}

// objects are those of a folder as a Kustomization applies it.
func (l *loader) objects(dir string, k *Kustomization) ([]manifest.Object, error) {
	at := finding.Position{File: dir}
	name := ""
	src := model.Source{Kind: model.Kustomize, Path: dir, Kustomize: kustomizeOptions(nil), Position: at}
	if k != nil {
		at, name = k.Position, k.Name
		src = k.source()
	} else if only := l.onlyOf(dir); only != "" || l.isMisnamed(dir) {
		src = (&Kustomization{Path: dir, Plain: true, Only: only, Position: at}).source()
	}
	if _, err := l.tree.Resolve(dir, at); err != nil {
		l.problem(Problem{Kind: Build, Name: name, Position: at, Message: oneLine(err)})
		return nil, nil
	}
	if !l.tree.IsDir(dir) {
		l.problem(Problem{Kind: Missing, Name: name, Position: at, Message: "there is no folder " + dir})
		return nil, nil
	}
	found, err := l.build(src)
	if l.ctx.Err() != nil {
		return nil, l.ctx.Err()
	}
	if err == nil {
		if k != nil && l.options.Import {
			k.Filled = !l.hasKustomization(dir) || l.fills(src, found)
		}
		return found, nil
	}
	if k != nil {
		k.Unpatched = true
	}
	if len(found) > 0 {
		l.problem(Problem{
			Kind: Build, Name: name, Position: finding.Position{File: dir}, Mild: true,
			Message: fmt.Sprintf("the kustomization %s is read without a part (%s)", dir, oneLine(err)),
		})
		return found, nil
	}
	// The order must not be lost with what cannot be built.
	what, without := "the kustomization "+dir, "without its patches"
	if !l.hasKustomization(dir) {
		what, without = "the folder "+dir, "one by one"
		if k != nil {
			k.Filled = true
		}
	}
	l.problem(Problem{
		Kind: Build, Name: name, Position: finding.Position{File: dir}, Mild: true,
		Message: fmt.Sprintf("%s cannot be built (%s); its files are read %s", what, oneLine(err), without),
	})
	listed, err := l.listed(dir, map[string]bool{}, 0)
	if err != nil {
		return nil, err
	}
	var all []manifest.Object
	scopes := manifest.NewScopes()
	for _, file := range listed {
		namespace := l.placed(file, dir)
		for _, o := range l.file(file, name) {
			if gvk := o.GroupVersionKind(); namespace != "" && !scopes.ClusterWide(gvk.Group, gvk.Kind) {
				o.Unstructured = o.DeepCopy()
				o.SetNamespace(namespace)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// isMisnamed reports whether the kustomization of a folder is a file with Kustomizations of Flux:
// kubectl applies it as it is, and kustomize refuses it.
func (l *loader) isMisnamed(dir string) bool {
	file := l.kustomizationFile(dir)
	if file == "" {
		return false
	}
	data, err := l.tree.Read(file)
	if err != nil {
		return false
	}
	documents, err := yamldoc.Parse(file, data)
	return err == nil && len(documents) > 0 && strings.HasPrefix(documents[0].TextAt("apiVersion"), groupKustomize+"/")
}

// placed is the namespace that the kustomizations around a file give to its objects, as far
// as folders tell: the outermost wins. It is empty where none gives one.
func (l *loader) placed(file, top string) string {
	namespace := ""
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if given := l.namespaceIn(dir); given != "" {
			namespace = given
		}
		if dir == top || !strings.HasPrefix(dir, top+"/") {
			return namespace
		}
	}
}

// namespaceIn is the namespace that the kustomization of a folder sets.
func (l *loader) namespaceIn(dir string) string {
	if namespace, known := l.namespaces[dir]; known {
		return namespace
	}
	namespace := ""
	if file := l.kustomizationFile(dir); file != "" {
		if data, err := l.tree.Read(file); err == nil {
			if v, err := yamldoc.ParseKustomization(file, data); err == nil {
				namespace = v.TextAt("namespace")
			}
		}
	}
	l.namespaces[dir] = namespace
	return namespace
}

// source is what the Kustomization is built from.
func (k *Kustomization) source() model.Source {
	if k.Plain {
		return model.Source{Kind: model.Manifests, Path: k.Path, Recurse: k.Only != "", Include: k.Only, PostBuild: k.PostBuild, Position: k.Position}
	}
	return model.Source{
		Kind: model.Kustomize, Path: k.Path, Kustomize: kustomizeOptions(k.Options), PostBuild: k.PostBuild, Position: k.Position,
	}
}

// build builds a folder, or takes what it was built to before. Nobody changes the
// objects.
func (l *loader) build(src model.Source) ([]manifest.Object, error) {
	at := src.Position
	src.Position = finding.Position{}
	id, err := json.Marshal(src)
	if err == nil {
		if known, ok := l.built[string(id)]; ok {
			return known.objects, known.err
		}
	}
	src.Position = at
	objects, err := l.options.Renderer.Component(l.ctx, model.Component{
		Name: "build", Position: at, Phase: model.NoPhase, Enabled: true, Sources: []model.Source{src},
	})
	for i := range objects {
		if file := &objects[i].Origin.File; strings.HasPrefix(*file, "../") {
			*file = l.placeOf("..", strings.TrimPrefix(*file, "../"))
		}
	}
	if l.ctx.Err() == nil {
		l.built[string(id)] = built{objects, err}
	}
	return objects, err
}

// fills reports whether filling variables in, or taking values out that are encrypted,
// changes what a source builds.
func (l *loader) fills(src model.Source, filled []manifest.Object) bool {
	src.PostBuild = nil
	plain, err := l.build(src)
	if err != nil || len(plain) != len(filled) {
		return true
	}
	for i := range plain {
		if _, encrypted := plain[i].Object["sops"]; !encrypted && !reflect.DeepEqual(plain[i].Object, filled[i].Object) {
			return true
		}
	}
	return false
}

// kustomizationFiles are the names that kustomize knows, in its order.
var kustomizationFiles = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

func (l *loader) hasKustomization(dir string) bool { return l.kustomizationFile(dir) != "" }

func (l *loader) kustomizationFile(dir string) string {
	for _, name := range kustomizationFiles {
		if l.tree.IsFile(path.Join(dir, name)) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// listed are the files that a kustomization takes, without building it; those below
// the folder where there is none.
func (l *loader) listed(dir string, seen map[string]bool, depth int) ([]string, error) {
	if seen[dir] || depth > maxDepth || l.ctx.Err() != nil {
		return nil, l.ctx.Err()
	}
	seen[dir] = true
	file := l.kustomizationFile(dir)
	if file == "" {
		return l.below(dir, seen, depth)
	}
	data, err := l.tree.Read(file)
	if err != nil {
		return nil, err
	}
	v, err := yamldoc.ParseKustomization(file, data)
	if err != nil {
		l.problem(Problem{Kind: Invalid, Position: finding.Position{File: file}, Message: oneLine(err)})
		return nil, nil
	}
	var all []string
	for _, key := range []string{"resources", "bases", "components"} {
		list := v.At(key)
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			p := path.Join(dir, item.Text)
			if strings.Contains(item.Text, "://") || strings.Contains(item.Text, "?ref=") {
				continue
			}
			if _, err := l.tree.Resolve(p, item.Position); err != nil {
				continue
			}
			if l.tree.IsFile(p) {
				all = append(all, p)
				continue
			}
			if !l.hasKustomization(p) {
				continue
			}
			below, err := l.listed(p, seen, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// below are the files of manifests below a folder without a kustomization.
func (l *loader) below(dir string, seen map[string]bool, depth int) ([]string, error) {
	names, err := l.tree.List(dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, n := range names {
		p := path.Join(dir, n)
		switch {
		case strings.HasPrefix(n, ".") && n != ".":
			// Flux leaves the hidden files of other tools out.
		case l.tree.IsDir(p):
			inside, err := l.listed(p, seen, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, inside...)
		case (strings.HasSuffix(n, ".yaml") || strings.HasSuffix(n, ".yml")) && l.tree.IsFile(p):
			all = append(all, p)
		}
	}
	return all, nil
}

// file reads the objects of one file.
func (l *loader) file(file, name string) []manifest.Object {
	data, err := l.tree.Read(file)
	if err != nil {
		l.problem(Problem{Kind: Build, Name: name, Position: finding.Position{File: file}, Message: oneLine(err)})
		return nil
	}
	found, err := l.options.Objects(l.ctx, file, data)
	if err != nil {
		l.problem(Problem{Kind: Invalid, Name: name, Position: finding.Position{File: file}, Message: oneLine(err)})
		return nil
	}
	var all []manifest.Object
	for _, o := range found {
		if !strings.HasPrefix(o.GetAPIVersion(), "kustomize.config.k8s.io/") {
			all = append(all, o)
		}
	}
	return all
}
