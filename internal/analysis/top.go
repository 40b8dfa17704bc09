package analysis

import (
	"os"
	"path/filepath"
)

// Top is the folder that the paths of Applications start from: the top of the
// repository, or the root of the platform where it is kept in another repository
// than the one that its Applications know.
func (r *Result) Top() string {
	p := r.Platform
	if p.Applied == nil {
		return p.Repository
	}
	below, above := 0, 0
	for _, app := range p.Argo.Applications {
		for _, s := range app.Sources {
			if s.Path == "" || !p.Applied.Own(s.RepoURL) {
				continue
			}
			if exists(filepath.Join(p.Root, filepath.FromSlash(s.Path))) {
				below++
			}
			if exists(filepath.Join(p.Repository, filepath.FromSlash(s.Path))) {
				above++
			}
		}
	}
	if below > above {
		return p.Root
	}
	return p.Repository
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
