package byhand

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
	"github.com/rollout-ladder/ladder/internal/core/lazyregexp"
	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

var (
	// extra begins the list of manifests that Talos applies when it sets up a cluster, in YAML or in
	// Terraform. Source: Talos, configuration reference, ClusterConfig.extraManifests.
	extra = lazyregexp.New(`(?m)^[ \t-]*["']?extraManifests["']?\s*[:=][ \t]*(?:\[[ \t]*)?(?:#.*)?$`)
	// entry is an item of it that is an address.
	entry = lazyregexp.New(`^(?:-[ \t]+)?["']?(https?://[^\s"',]+)["']?,?[ \t]*(?:#.*)?$`)
)

// bootstrapped are the addresses that a configuration of Talos has, whatever file it is in: a
// cluster has what is there before anything else runs.
func bootstrapped(ctx context.Context, tree *repofs.Tree) []Instruction {
	found, _ := tree.Find(ctx, ".", func(name string) bool {
		return isYAML(name) || slices.Contains([]string{".tf", ".tpl", ".tftpl", ".tmpl", ".j2"}, path.Ext(name))
	})
	var all []Instruction
	for _, file := range found {
		data, err := tree.Read(file)
		if ctx.Err() != nil || err != nil || repofs.IsUnused(file) || !bytes.Contains(data, []byte("extraManifests")) {
			continue
		}
		text := string(data)
		for _, at := range extra.FindAllStringIndex(text, -1) {
			line := 1 + strings.Count(text[:at[0]], "\n")
			for _, written := range strings.Split(text[at[1]:], "\n")[1:] {
				line++
				written = strings.TrimSpace(written)
				if strings.HasPrefix(written, "#") || written == "" {
					continue
				}
				m := entry.FindStringSubmatch(written)
				if m == nil {
					break
				}
				all = append(all, Instruction{Address: m[1], Shown: m[1], Position: finding.Position{File: file, Line: line}})
			}
		}
	}
	return all
}
