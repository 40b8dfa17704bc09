package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/core/model"
	"github.com/rollout-ladder/ladder/internal/repo/descriptor"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// The limits on what is copied.
const (
	maxCopiedFiles = 20_000
	maxCopiedBytes = 256 << 20
)

// sources brings charts, kustomizations and files of a repository into a platform:
// by reference where the platform lies in the same repository, else as copies.
type sources struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one import
	tree   *repofs.Tree
	target *Target
	// inside is set where the platform lies in the Git repository that is read.
	inside bool
	files  []File
	have   map[string]bool
	bytes  int
}

func newSources(ctx context.Context, tree *repofs.Tree, target *Target) *sources {
	s := &sources{ctx: ctx, tree: tree, target: target, have: map[string]bool{}}
	if _, err := os.Lstat(filepath.Join(tree.Repository, ".git")); err == nil {
		rel, err := filepath.Rel(tree.Repository, target.Folder)
		s.inside = err == nil && filepath.IsLocal(rel)
	}
	return s
}

// add adds a file once.
func (s *sources) add(file string, content []byte) error {
	if s.have[file] {
		return nil
	}
	if s.bytes += len(content); s.bytes > maxCopiedBytes || len(s.files) >= maxCopiedFiles {
		return fmt.Errorf("more than %d files or %d MiB would be copied", maxCopiedFiles, maxCopiedBytes>>20)
	}
	s.have[file] = true
	s.files = append(s.files, File{Path: file, Content: content})
	return nil
}

// reference is the path of something in the repository, relative to the root of
// the platform.
func (s *sources) reference(p string) (string, error) {
	abs := filepath.Join(s.tree.Root, filepath.FromSlash(p))
	rel, err := filepath.Rel(s.target.Folder, abs)
	if err != nil {
		return "", fmt.Errorf("find %s from %s: %w", p, s.target.shown, err)
	}
	s.target.referenced = s.target.referenced || filepath.IsLocal(rel)
	return filepath.ToSlash(rel), nil
}

// below is the path of a copy: that of the original below a folder.
func below(folder, p string) string {
	return path.Join(folder, strings.ReplaceAll(path.Clean(p), "../", "_/"))
}

// copyFile copies a file of values and returns its path in the platform.
func (s *sources) copyFile(file string) (string, error) {
	content, err := s.tree.Read(file)
	if err != nil {
		return "", err
	}
	to := below("sources/values/files", file)
	return to, s.add(to, content)
}

// outward matches an import of Jsonnet that leads out of a folder.
var outward = lazyregexp.New(`\bimport(str|bin)?\s*['"][^'"]*\.\./`)

// place gives a descriptor the source that lies in a folder: a chart, a
// kustomization or plain YAML.
func (s *sources) place(dir string, d *Descriptor, at finding.Position) (model.SourceKind, error) {
	if _, err := s.tree.Resolve(dir, at); err != nil {
		return "", err
	}
	kind, folder := model.Manifests, "sources/manifests"
	switch {
	case descriptor.IsKustomization(s.tree.IsFile, dir): // beside a chart, as Argo CD has it
		kind, folder = model.Kustomize, "sources/kustomize"
	case s.tree.IsFile(path.Join(dir, "Chart.yaml")):
		kind, folder = model.Chart, "sources/charts"
	}
	to, err := s.bring(dir, folder, kind)
	if err != nil {
		return "", err
	}
	switch kind {
	case model.Chart:
		d.Chart = &Chart{Path: to}
	case model.Kustomize:
		d.Kustomize = to
	default:
		d.Manifests, d.Recurse = to, s.tree.IsDir(dir)
	}
	return kind, nil
}

// bring returns the path of a folder of the repository in the platform, and copies
// it where the platform lies elsewhere. What a kustomization takes from outside its
// folder is refused then.
func (s *sources) bring(dir, folder string, kind model.SourceKind) (string, error) {
	if s.inside {
		return s.reference(dir)
	}
	if s.tree.IsFile(dir) {
		content, err := s.tree.Read(dir)
		if err != nil {
			return "", err
		}
		to := below(folder, dir)
		return to, s.add(to, content)
	}
	found, err := s.tree.Find(s.ctx, dir, func(string) bool { return true })
	if err != nil {
		return "", err
	}
	for _, file := range found {
		content, err := s.tree.Read(file)
		if err != nil {
			return "", err
		}
		if kind == model.Kustomize && isKustomizationFile(file) && strings.Contains(string(content), "../") {
			return "", errors.New("the kustomization takes files from outside its folder; write the platform into the same Git repository")
		}
		if kind == model.Manifests && strings.HasSuffix(path.Ext(file), "sonnet") && outward.Match(content) {
			return "", errors.New("the Jsonnet takes files from outside its folder; write the platform into the same Git repository")
		}
		if err := s.add(below(folder, file), content); err != nil {
			return "", err
		}
	}
	return below(folder, dir), nil
}

func isKustomizationFile(file string) bool {
	switch path.Base(file) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return true
	default:
		return false
	}
}
