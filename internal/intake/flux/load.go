package flux

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rollout-ladder/ladder/internal/component"
	"github.com/rollout-ladder/ladder/internal/finding"
	"github.com/rollout-ladder/ladder/internal/intake/files"
	"github.com/rollout-ladder/ladder/internal/intake/yamlpos"
	"github.com/rollout-ladder/ladder/internal/manifest"
)

// Renderer builds kustomizations.
type Renderer interface {
	Component(ctx context.Context, c component.Component) ([]manifest.Object, error)
}

// Options say what is read.
type Options struct {
	// Path is the folder that is searched, relative to the root.
	Path string
	// Clusters are those to read; empty for all.
	Clusters []string
	Renderer Renderer
	// Objects parses the manifests of a file.
	Objects func(ctx context.Context, file string, data []byte) ([]manifest.Object, error)
}

// The groups of Flux's kinds.
const (
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupHelm      = "helm.toolkit.fluxcd.io"
	groupSuffix    = "toolkit.fluxcd.io"
	groupExtension = "source.extensions.fluxcd.io"
	groupInstance  = "fluxcd.controlplane.io"
)

// The limits on what is followed.
const (
	maxKustomizations = 5000
	maxDepth          = 30
	// maxFilled is how much the values of variables may add to all objects together,
	// in bytes.
	maxFilled = 64 << 20
)

// Load reads the clusters of a repository.
func Load(ctx context.Context, tree *files.Tree, o Options) (*Result, error) {
	l := &loader{ctx: ctx, tree: tree, options: o, result: &Result{}, room: maxFilled}
	roots, err := l.roots()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range roots {
		names = append(names, r.name)
	}
	for _, name := range o.Clusters {
		if !slices.Contains(names, name) {
			return nil, &files.InputError{Message: fmt.Sprintf("there is no cluster %q", name), Hint: "the clusters are " + strings.Join(names, ", ")}
		}
	}
	for _, r := range roots {
		if len(o.Clusters) > 0 && !slices.Contains(o.Clusters, r.name) {
			continue
		}
		if err := l.cluster(r); err != nil {
			return nil, err
		}
	}
	return l.result, ctx.Err()
}

type loader struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one Load
	tree    *files.Tree
	options Options
	result  *Result

	current *Cluster
	// objects are Flux's own and ConfigMaps of the current cluster.
	sources map[string]manifest.Object
	seen    map[string]int
	root    string
	// generated maps the artifacts of ArtifactGenerators to folders.
	artifacts map[string][]copied
	built     map[string][]manifest.Object
	// room is how much the values of variables may still add, in bytes.
	room int
}

// copied says that an artifact holds a folder of the repository at a place.
type copied struct{ from, to string }

// cluster reads everything that a root applies.
func (l *loader) cluster(r rootFolder) error {
	l.current = &Cluster{Name: r.name, Path: r.path}
	l.sources, l.seen, l.built = map[string]manifest.Object{}, map[string]int{}, map[string][]manifest.Object{}
	l.artifacts = map[string][]copied{}
	l.root = r.path
	queue := []pending{{path: r.path, parent: -1}}
	// Sources and generators may be anywhere, so that Kustomizations are followed
	// before what they hold is read.
	for depth := 0; len(queue) > 0; depth++ {
		if depth > maxDepth {
			return &files.InputError{Position: finding.Position{File: r.path}, Message: "Kustomizations apply others too deep"}
		}
		var next []pending
		for _, p := range queue {
			more, err := l.follow(p)
			if err != nil {
				return err
			}
			next = append(next, more...)
		}
		queue = next
	}
	l.releases()
	l.result.Clusters = append(l.result.Clusters, *l.current)
	return nil
}

// pending is a folder that is still to be read, with the Kustomization that
// applies it; -1 for the root.
type pending struct {
	path   string
	parent int
}

// follow reads a folder and returns what its Kustomizations apply.
func (l *loader) follow(p pending) ([]pending, error) {
	var k *Kustomization
	if p.parent >= 0 {
		k = &l.current.Kustomizations[p.parent]
	}
	objects, err := l.objects(p.path, k)
	if err != nil {
		return nil, err
	}
	if k != nil {
		l.keep(k, objects)
	}
	var own []manifest.Object
	for _, o := range objects {
		switch group := o.GroupVersionKind().Group; {
		case group == groupKustomize && o.GetKind() == "Kustomization":
			own = append(own, o)
		case isFlux(group) || o.GetKind() == "ConfigMap" && group == "":
			l.sources[key(o.GetKind(), namespaceOf(o, k), o.GetName())] = l.owned(o, p.parent)
			l.generator(o)
		}
	}
	var next []pending
	for _, o := range own {
		child, ok, err := l.kustomization(o, p.parent)
		if err != nil {
			return nil, err
		}
		if ok {
			next = append(next, child)
		}
	}
	return next, nil
}

func key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// namespaceOf is where an object lands; that of its Kustomization where it names
// none.
func namespaceOf(o manifest.Object, k *Kustomization) string {
	switch {
	case o.GetNamespace() != "":
		return o.GetNamespace()
	case k != nil:
		return k.Namespace
	default:
		return "flux-system"
	}
}

// isFlux reports whether a group is one of Flux's own.
func isFlux(group string) bool {
	return strings.HasSuffix(group, groupSuffix) || group == groupExtension || group == groupInstance
}

// ownerKey is the annotation in which the index of the Kustomization that applies an
// object is kept while the cluster is read.
const ownerKey = "ladder.rollout-ladder.dev/kustomization"

func (l *loader) owned(o manifest.Object, parent int) manifest.Object {
	copied := o
	copied.Unstructured = o.DeepCopy()
	annotations := copied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ownerKey] = strconv.Itoa(parent)
	copied.SetAnnotations(annotations)
	return copied
}

// problem records a problem of the current cluster.
func (l *loader) problem(p Problem) {
	if l.current != nil {
		p.Cluster = l.current.Name
	}
	l.result.Problems = append(l.result.Problems, p)
}

// objects are those of a folder as a Kustomization applies it.
func (l *loader) objects(dir string, k *Kustomization) ([]manifest.Object, error) {
	at := finding.Position{File: dir}
	name := ""
	var options *component.KustomizeOptions
	if k != nil {
		at, name = k.Position, k.Name
		options = kustomizeOptions(k.Options)
	}
	if _, err := l.tree.Resolve(dir, at); err != nil {
		l.problem(Problem{Kind: Build, Name: name, Position: at, Message: oneLine(err)})
		return nil, nil
	}
	if !l.tree.IsDir(dir) {
		l.problem(Problem{Kind: Build, Name: name, Position: at, Message: "there is no folder " + dir})
		return nil, nil
	}
	found, err := l.folder(dir, options, name, at, 0)
	if k != nil && !l.isKustomization(dir) {
		k.Filled = true
	}
	return found, err
}

// folder builds a folder: the kustomization in it or, as Flux makes one up where
// there is none, everything below it.
func (l *loader) folder(dir string, options *component.KustomizeOptions, name string, at finding.Position, depth int) ([]manifest.Object, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, nil
	}
	if l.isKustomization(dir) {
		return l.build(dir, options, name, at)
	}
	names, err := l.tree.List(dir)
	if err != nil {
		return nil, err
	}
	var all []manifest.Object
	for _, n := range names {
		p := path.Join(dir, n)
		switch {
		case strings.HasPrefix(n, ".") && n != ".":
			// Flux leaves hidden files out. Source: source-controller, sourceignore.
		case l.tree.IsDir(p):
			below, err := l.folder(p, nil, name, at, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		case (strings.HasSuffix(n, ".yaml") || strings.HasSuffix(n, ".yml")) && l.tree.IsFile(p):
			all = append(all, l.file(p, name)...)
		}
	}
	return all, nil
}

func (l *loader) isKustomization(dir string) bool {
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if l.tree.IsFile(path.Join(dir, name)) {
			return true
		}
	}
	return false
}

// build builds a kustomization. One that cannot be built is read without its
// patches: the order must not be lost with them.
func (l *loader) build(dir string, options *component.KustomizeOptions, name string, at finding.Position) ([]manifest.Object, error) {
	c := component.Component{
		Name: "build", Position: at, Phase: component.NoPhase, Enabled: true,
		Sources: []component.Source{{Kind: component.Kustomize, Path: dir, Kustomize: options, Position: at}},
	}
	objects, err := l.options.Renderer.Component(l.ctx, c)
	if err == nil {
		return objects, nil
	}
	if l.ctx.Err() != nil {
		return nil, l.ctx.Err()
	}
	l.problem(Problem{
		Kind: Build, Name: name, Position: finding.Position{File: dir}, Mild: true,
		Message: fmt.Sprintf("the kustomization %s cannot be built (%s); its files are read without its patches", dir, oneLine(err)),
	})
	found, err := l.listed(dir, map[string]bool{}, 0)
	if err != nil {
		return nil, err
	}
	var all []manifest.Object
	for _, file := range found {
		all = append(all, l.file(file, name)...)
	}
	return all, nil
}

// listed are the files that a kustomization takes, without building it.
func (l *loader) listed(dir string, seen map[string]bool, depth int) ([]string, error) {
	if seen[dir] || depth > maxDepth {
		return nil, nil
	}
	seen[dir] = true
	var file string
	for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
		if l.tree.IsFile(path.Join(dir, name)) {
			file = path.Join(dir, name)
		}
	}
	if file == "" {
		return nil, nil
	}
	data, err := l.tree.Read(file)
	if err != nil {
		return nil, err
	}
	v, err := yamlpos.ParseOne(file, data)
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
			below, err := l.listed(p, seen, depth+1)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
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

// oneLine is the message of an error on one line.
func oneLine(err error) string {
	var input *files.InputError
	if errors.As(err, &input) {
		return strings.Join(strings.Fields(input.Message), " ")
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
