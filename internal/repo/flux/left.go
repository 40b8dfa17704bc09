package flux

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Written lists the Kustomizations and HelmReleases that are written in the files of a
// repository, sorted by position: for one that is not read as Flux reads it.
func Written(ctx context.Context, tree *repofs.Tree) ([]Left, error) {
	l := &loader{ctx: ctx, tree: tree, options: Options{Path: "."}, result: &Result{}}
	s, err := l.search()
	if errors.Is(err, ErrNothing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.written, func(a, b Left) int { return a.Position.Compare(b.Position) })
	return s.written, nil
}

// left adds the Kustomizations and HelmReleases that are written somewhere and that no
// cluster applies. What syncs a cluster is applied by who bootstraps it.
func (l *loader) left(s *searched) {
	for _, w := range s.written {
		starts := slices.ContainsFunc(s.found, func(r rootFolder) bool { return r.position == w.Position })
		if !starts && !l.read[written{w.Kind, w.Position.File}] && !l.isPatch(w.Position.File) {
			w.Reason = "no cluster that was found applies it"
			l.result.Left = append(l.result.Left, w)
		}
	}
	slices.SortStableFunc(l.result.Left, func(a, b Left) int {
		return cmp.Or(a.Position.Compare(b.Position), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name), strings.Compare(a.Cluster, b.Cluster))
	})
	l.result.Left = slices.Compact(l.result.Left)
}

// isPatch reports whether a kustomization of the repository has a file as a patch: then it is a part
// of what it changes.
func (l *loader) isPatch(file string) bool {
	if l.patches == nil {
		l.patches = map[string]bool{}
		found, err := l.tree.Find(l.ctx, ".", func(name string) bool { return slices.Contains(kustomizationFiles, path.Base(name)) })
		if err != nil {
			return false // reading the repository told
		}
		for _, name := range found {
			l.addPatches(name)
		}
	}
	return l.patches[file]
}

// addPatches notes the files that one kustomization has as patches.
func (l *loader) addPatches(name string) {
	data, err := l.tree.Read(name)
	if err != nil || !strings.Contains(string(data), "patches") {
		return
	}
	documents, err := yamldoc.Parse(name, data)
	if err != nil {
		return // what builds it will tell
	}
	for _, d := range documents {
		for _, patch := range d.At("patches").Elements() {
			l.patches[path.Join(path.Dir(name), patch.TextAt("path"))] = true
		}
		for _, patch := range d.At("patchesStrategicMerge").Elements() {
			l.patches[path.Join(path.Dir(name), patch.Text)] = true
		}
	}
}

// sameRepository reports whether two addresses are of one Git repository, whatever the
// protocol and the user.
func sameRepository(a, b string) bool { return plainAddress(a) == plainAddress(b) }

func plainAddress(address string) string {
	address = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git"))
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	} else {
		address = strings.Replace(address, ":", "/", 1) // git@host:owner/name
	}
	if _, rest, ok := strings.Cut(address, "@"); ok {
		address = rest
	}
	return address
}
