package analysis

import (
	"slices"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/analysis/catalogue"
	"github.com/rollout-ladder/ladder/internal/repo"
	"github.com/rollout-ladder/ladder/internal/repo/argocd"
	"github.com/rollout-ladder/ladder/internal/repo/checkout"
)

// publisher is who publishes at an address: its host, and on one that many share the owner.
func publisher(address string) string {
	address = strings.ToLower(address)
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	host, rest, _ := strings.Cut(address, "/")
	owner, _, _ := strings.Cut(rest, "/")
	if slices.Contains(forges, host) || slices.Contains(registries, host) {
		return host + "/" + owner
	}
	return host
}

// registries are hosts of images and charts that many owners share.
var registries = []string{"docker.io", "registry-1.docker.io", "gcr.io", "ghcr.io", "public.ecr.aws", "quay.io", "raw.githubusercontent.com", "registry.gitlab.com"}

// forges are hosts that many owners share; on any other host all repositories are of one.
var forges = []string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitea.com", "git.sr.ht", "dev.azure.com", "ssh.dev.azure.com"}

// related reports of an address whether what is there may be of the owner of the
// platform's repository: it is on the same host, or has the name of the owner. The address
// is that of the Applications, or else of the checkout; where neither is known, all may be but what
// is of a publisher that the catalogue knows.
func related(p *repo.Platform, known *catalogue.Catalogue) func(address string) bool {
	var addresses []string
	switch {
	case p.Applied != nil:
		addresses = p.Applied.Addresses
	case p.Flux == nil:
		return nil
	}
	if c, err := checkout.Read(p.Repository); err == nil && len(addresses) == 0 && c.URL != "" {
		addresses = []string{argocd.NormaliseAddress(c.URL)}
	}
	if len(addresses) == 0 {
		publishers := sync.OnceValue(func() map[string]bool {
			all := map[string]bool{}
			for _, e := range known.Entries() {
				for _, address := range e.Repositories {
					all[publisher(address)] = true
				}
			}
			return all
		})
		return func(address string) bool { return !publishers()[publisher(address)] }
	}
	var owners []string
	for _, own := range addresses {
		if strings.ContainsAny(own, "{}$<>") {
			return nil // another tool fills it in
		}
		parts := strings.Split(strings.ToLower(own), "/")
		switch {
		case !slices.Contains(forges, parts[0]):
			owners = append(owners, domain(parts[0]))
		case len(parts) > 1:
			owners = append(owners, parts[1])
		}
	}
	return func(address string) bool {
		words := strings.FieldsFunc(strings.ToLower(address), func(r rune) bool { return strings.ContainsRune("/:@", r) })
		return slices.ContainsFunc(owners, func(owner string) bool {
			return slices.ContainsFunc(words, func(w string) bool {
				return w == owner || strings.HasPrefix(w, owner+".") || strings.HasSuffix(w, "."+owner)
			})
		})
	}
}

// domain is a host without what tells it from others of its owner: acme.io of git.acme.io.
func domain(host string) string {
	host, _, _ = strings.Cut(host, ":")
	labels := strings.Split(host, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}
