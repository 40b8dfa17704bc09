package byhand

import (
	"context"
	"path"
	"slices"

	"github.com/rollout-ladder/ladder/internal/repo/repofs"
)

// workflowFolders hold what GitHub, Gitea and Forgejo run for a repository.
var workflowFolders = []string{".github/workflows", ".gitea/workflows", ".forgejo/workflows"}

// workflows are the files of the workflows of a repository.
func workflows(ctx context.Context, tree *repofs.Tree) []string {
	var all []string
	for _, dir := range workflowFolders {
		if tree.IsDir(dir) {
			found, _ := tree.Find(ctx, dir, isYAML)
			all = append(all, found...)
		}
	}
	return all
}

func isWorkflow(file string) bool {
	return slices.Contains(workflowFolders, path.Dir(file)) && isYAML(path.Base(file))
}

func isYAML(name string) bool { return path.Ext(name) == ".yaml" || path.Ext(name) == ".yml" }
