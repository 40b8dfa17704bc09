package flux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/fluxcd"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/resourceset"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Renderer builds kustomizations.
type Renderer interface {
	Component(ctx context.Context, c model.Component) ([]manifest.Object, error)
}

// Options say what is read.
type Options struct {
	// Path is the folder that is searched, relative to the root.
	Path string
	// Roots are the folders that are synced; empty to find them.
	Roots []string
	// Started is set to read only the clusters of which something says for certain that
	// they are synced; Taken are names that clusters must not have.
	Started bool
	Taken   []string
	// Clusters are those to read; empty for all.
	Clusters []string
	Renderer Renderer
	// Objects parses the manifests of a file.
	Objects func(ctx context.Context, file string, data []byte) ([]manifest.Object, error)
	// Set fills in the templates of a ResourceSet.
	Set func(ctx context.Context, set resourceset.Set) ([]map[string]any, error)
	// Import is set where files are written of the result: then it says what cannot be
	// carried over, and has nothing that only Flux can apply.
	Import bool
}

// The groups of Flux's kinds.
const (
	groupKustomize = "kustomize.toolkit.fluxcd.io"
	groupHelm      = "helm.toolkit.fluxcd.io"
	groupSuffix    = "toolkit.fluxcd.io"
	groupExtension = "source.extensions.fluxcd.io"
	groupInstance  = "fluxcd.controlplane.io"
)

// systemName is the name of what flux bootstrap and a FluxInstance sync, and of the
// namespace that Flux runs in.
const systemName = "flux-system"

// The limits on what is followed.
const (
	maxKustomizations = 5000
	maxDepth          = 30
	// maxPasses is how often a cluster is read until all ConfigMaps with variables are
	// known that other Kustomizations apply.
	maxPasses = 4
)

// Load reads the clusters of a repository.
func Load(ctx context.Context, tree *repofs.Tree, o Options) (*Result, error) {
	l := &loader{ctx: ctx, tree: tree, options: o, result: &Result{}, built: map[string]built{}, namespaces: map[string]string{}, read: map[written]bool{}, filled: map[string]filled{}, lines: manifest.NewLines(tree.Read)}
	s, err := l.search()
	if err != nil {
		return nil, err
	}
	l.result.part = l.top != "."
	l.result.Before, l.result.Poll, l.written, l.retries = s.before, cmp.Or(s.poll, fluxcd.Poll), s.sources, s.retries
	l.ignores = s.ignores
	l.searchByHand(s)
	if err := l.searchTemplates(); err != nil {
		return nil, err
	}
	var names []string
	for _, r := range s.found {
		names = append(names, r.name)
	}
	for _, name := range o.Clusters {
		if !slices.Contains(names, name) {
			return nil, yamldoc.Unknown("cluster", name, names)
		}
	}
	for _, r := range s.found {
		if len(o.Clusters) > 0 && !slices.Contains(o.Clusters, r.name) {
			continue
		}
		if err := l.cluster(r); err != nil {
			return nil, err
		}
	}
	l.result.Clusters = distinct(l.result.Clusters)
	if len(o.Clusters) == 0 {
		l.left(s)
	}
	return l.result, ctx.Err()
}

// distinct leaves a guessed cluster out where the others hold every Kustomization of
// it: then its folder is a part of theirs.
func distinct(clusters []Cluster) []Cluster {
	kept := slices.Clone(clusters)
	for i := len(kept) - 1; i >= 0; i-- {
		if !kept[i].guessed || len(kept) == 1 {
			continue
		}
		others := map[finding.Position]bool{}
		for j := range kept {
			for _, k := range kept[j].Kustomizations {
				others[k.Position] = others[k.Position] || j != i
			}
		}
		alone := slices.ContainsFunc(kept[i].Kustomizations, func(k Kustomization) bool { return !k.Made && !others[k.Position] })
		if !alone {
			kept = slices.Delete(kept, i, i+1)
		}
	}
	return kept
}

type loader struct {
	ctx     context.Context //nolint:containedctx // it lives as long as one Load
	tree    *repofs.Tree
	options Options
	result  *Result

	// patches are the files that kustomizations have as patches; nil until somebody asks.
	patches map[string]bool
	// filled are the objects of ResourceSets that were filled in, by what was asked; slow is how many
	// took too long.
	filled map[string]filled
	slow   int

	// top is the top of what Flux reads: "." or, for a platform that is a part of its repository, a
	// folder above it.
	top string

	lines   *manifest.Lines
	current *Cluster
	root    rootFolder
	// sources are Flux's own objects and the ConfigMaps of the current cluster.
	sources map[string]manifest.Object
	// written is where the first source of a kind and name is, whoever applies it.
	written map[string]writtenSource
	// releases are the HelmReleases of the current cluster, with the index of the
	// Kustomization that applies each.
	releases map[string]applied
	seen     map[string]int
	// configs are the ConfigMaps that the pass before found, asked those that variables
	// were taken from.
	configs map[string]map[string]any
	asked   map[string]bool
	// packed are the folders that scripts pack into artifacts; nil before they are asked for.
	packed map[string]string
	// artifacts maps the artifacts of ArtifactGenerators to folders.
	artifacts map[string][]copied
	// built are the folders that were built, by what they were built from.
	built map[string]built
	// namespaces are what the kustomizations of folders set, as far as it was asked for.
	namespaces map[string]string
	// applied are the files with Kustomizations that scripts apply to each cluster.
	applied []string
	// folders are those that the clusters start with.
	folders []string
	// retries is set where helm-controller is told to try every install again.
	retries bool
	// ignores is set where a source of the repository leaves files out.
	ignores bool
	// encryptedIn are the names of encrypted Secrets by file, as far as files were asked for: one
	// may hold thousands.
	encryptedIn map[string]map[string]bool
	// read are the objects of Flux that were read, by where they are written.
	read map[written]bool
}

// applied is an object with the index of the Kustomization that applies it, -1 for
// none, and those of others that do as well.
type applied struct {
	object manifest.Object
	by     int
	also   []int
}

// copied says that an artifact holds a folder of the repository at a place.
type copied struct{ from, to string }

// cluster reads everything that a root applies. Variables may come from ConfigMaps
// that are found only later, so that it is read again when there were any.
func (l *loader) cluster(r rootFolder) error {
	before, left := len(l.result.Problems), len(l.result.Left)
	l.configs = map[string]map[string]any{}
	for pass := 1; ; pass++ {
		l.result.Problems, l.result.Left = l.result.Problems[:before], l.result.Left[:left]
		if err := l.once(r); err != nil {
			return err
		}
		found := l.foundConfigs()
		same := true
		for id := range l.asked {
			same = same && maps.EqualFunc(found[id], l.configs[id], func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
		}
		if same || pass == maxPasses {
			break
		}
		l.configs = found
	}
	l.result.Clusters = append(l.result.Clusters, *l.current)
	return nil
}

// foundConfigs is the data of the ConfigMaps of the current cluster.
func (l *loader) foundConfigs() map[string]map[string]any {
	found := map[string]map[string]any{}
	for id, o := range l.sources {
		if o.GetKind() == "ConfigMap" {
			found[id] = mapAt(o.Object, "data")
		}
	}
	return found
}

// once reads a cluster with the ConfigMaps that are known.
func (l *loader) once(r rootFolder) error {
	l.current = &Cluster{Name: r.name, guessed: r.guessed, gathers: r.gathers}
	l.sources, l.seen, l.releases = map[string]manifest.Object{}, map[string]int{}, map[string]applied{}
	l.artifacts, l.asked = map[string][]copied{}, map[string]bool{}
	l.root = r
	first, err := l.start()
	if err != nil {
		return err
	}
	// Sources and generators may be anywhere, so that Kustomizations are followed
	// before what they hold is read.
	queue := []pending{first}
	byHand := l.options.Import
	for depth := 0; ; depth++ {
		if len(queue) == 0 && !byHand {
			byHand = true
			if queue, err = l.byHand(); err != nil {
				return err
			}
		}
		if len(queue) == 0 {
			break
		}
		if depth > maxDepth {
			return &repofs.InputError{Position: finding.Position{File: r.path}, Message: "Kustomizations apply others too deep"}
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
	for _, id := range slices.Sorted(maps.Keys(l.releases)) {
		l.release(l.releases[id])
	}
	return nil
}

// start finds the Kustomization that applies the folder of the root: the one that
// lies in it, as flux bootstrap writes it, or the one that Flux's operator makes. For
// an import, one that is written nowhere is none.
func (l *loader) start() (pending, error) {
	objects, err := l.objects(l.root.path, nil)
	if err != nil {
		return pending{}, err
	}
	for _, o := range objects {
		if isKustomization(o) && l.ownPath(textAt(o.Object, "spec", "path")) == l.root.path && l.mayBeOwn(o) {
			address := addressOf(objects, o)
			l.root.address, l.root.sourced = cmp.Or(l.root.address, address), address != ""
			if _, _, err := l.kustomization(o, -1); err != nil {
				return pending{}, err
			}
			k := &l.current.Kustomizations[0]
			k.Path, k.Elsewhere = l.root.path, nil
			return pending{l.root.path, 0}, nil
		}
	}
	if l.options.Import {
		return pending{l.root.path, -1}, nil
	}
	k := Kustomization{
		Namespace: systemName, Name: cmp.Or(l.root.sync, systemName), Path: l.root.path, Made: !l.root.written, Only: l.root.only, Parent: -1, Position: l.root.position,
		Plain: l.root.only != "" || !l.root.written && l.isMisnamed(l.root.path), PostBuild: &model.PostBuild{},
	}
	l.seen[key("Kustomization", k.Namespace, k.Name)] = 0
	l.current.Kustomizations = append(l.current.Kustomizations, k)
	return pending{l.root.path, 0}, nil
}

// addressOf is that of the GitRepository that a Kustomization takes its folder from, whatever its
// name is; empty where it is not among the objects, or a variable.
func addressOf(objects []manifest.Object, kustomization manifest.Object) string {
	name := textAt(kustomization.Object, "spec", "sourceRef", "name")
	for _, o := range objects {
		if o.GetKind() == "GitRepository" && isFlux(o.GroupVersionKind().Group) && o.GetName() == name {
			if address := textAt(o.Object, "spec", "url"); !strings.Contains(address, "$") {
				return finding.WithoutUser(address)
			}
		}
	}
	return ""
}

// mayBeOwn reports whether the source of a Kustomization that applies the root may be
// this repository.
func (l *loader) mayBeOwn(o manifest.Object) bool {
	ns := textAt(o.Object, "spec", "sourceRef", "namespace")
	if ns == "" {
		ns = namespaceOf(o, nil)
	}
	return textAt(o.Object, "spec", "sourceRef", "kind") == "GitRepository" || l.isSynced(textAt(o.Object, "spec", "sourceRef", "name")) && ns == systemName
}

// isSynced reports whether a source has the name of that of the root.
func (l *loader) isSynced(name string) bool {
	return name == systemName || name == l.root.sync && name != ""
}

// pending is a folder that is still to be read, with the Kustomization that
// applies it; -1 for the root of an import.
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
	for _, o := range l.withSets(objects, k) {
		group := o.GroupVersionKind().Group
		if isFlux(group) {
			l.read[written{o.GetKind(), o.Origin.File}] = true
		}
		switch {
		case isKustomization(o):
			own = append(own, o)
		case group == groupHelm && o.GetKind() == "HelmRelease":
			id := releaseKey(l.current.remote(p.parent), namespaceOf(o, k), o.GetName())
			have, ok := l.releases[id]
			also := have.also
			if ok && have.by >= 0 && have.by != p.parent {
				also = append(slices.Clone(also), have.by)
			}
			switch {
			case !ok || !l.comesAfter(p.parent, have.by):
				l.releases[id] = applied{o, p.parent, also}
			case p.parent >= 0:
				have.also = append(slices.Clone(have.also), p.parent)
				l.releases[id] = have
			}
		case isFlux(group) || o.GetKind() == "ConfigMap" && group == "":
			l.sources[key(o.GetKind(), namespaceOf(o, k), o.GetName())] = o
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

// comesAfter reports whether a Kustomization names another in its dependsOn: what both
// apply is there with the other one.
func (l *loader) comesAfter(by, other int) bool {
	if by < 0 || other < 0 {
		return false
	}
	first := l.current.Kustomizations[other]
	return slices.ContainsFunc(l.current.Kustomizations[by].DependsOn, func(d Reference) bool {
		return d.Namespace == first.Namespace && d.Name == first.Name
	})
}

func isKustomization(o manifest.Object) bool {
	return o.GroupVersionKind().Group == groupKustomize && o.GetKind() == "Kustomization"
}

func key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// releaseKey tells HelmReleases apart: clusters that one Flux applies to may have one of a name each.
func releaseKey(remote, namespace, name string) string {
	return key("HelmRelease", namespace, name) + strings.TrimSuffix("@"+remote, "@")
}

// namespaceOf is where an object lands; that of its Kustomization where it names
// none.
func namespaceOf(o manifest.Object, k *Kustomization) string {
	switch {
	case o.GetNamespace() != "":
		return o.GetNamespace()
	case k != nil:
		return k.Namespace
	default:
		return systemName
	}
}

// isFlux reports whether a group is one of Flux's own.
func isFlux(group string) bool {
	return strings.HasSuffix(group, groupSuffix) || group == groupExtension || group == groupInstance
}

// problem records a problem of the current cluster.
func (l *loader) problem(p Problem) {
	if l.current != nil {
		p.Cluster = l.current.Name
	}
	l.result.Problems = append(l.result.Problems, p)
}

// oneLine is the message of an error on one line.
func oneLine(err error) string {
	var input *repofs.InputError
	if errors.As(err, &input) {
		return strings.Join(strings.Fields(input.Message), " ")
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
