package session

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
	"github.com/rollout-ladder/ladder/internal/store/incluster"
)

// KeyOf names the rollout of a platform: by its repository (the last part of the
// address of origin, which every checkout shares, else the folder) and the folder
// of the platform in it.
func KeyOf(p *repo.Platform) incluster.Key {
	name := filepath.Base(p.Repository)
	if here, err := checkout.Read(p.Repository); err == nil && here.URL != "" {
		base := path.Base(strings.TrimSuffix(strings.TrimRight(strings.ReplaceAll(here.URL, ":", "/"), "/"), ".git"))
		if base != "." && base != "/" {
			name = base
		}
	}
	if below, err := filepath.Rel(p.Repository, p.Root); err == nil && below != "." && !strings.HasPrefix(below, "..") {
		name += "/" + filepath.ToSlash(below)
	}
	return incluster.Key{Platform: name, Environment: p.Environment}
}
