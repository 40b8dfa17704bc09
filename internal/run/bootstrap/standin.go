package bootstrap

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/rollout-ladder/ladder/internal/kube/engine"
	"github.com/rollout-ladder/ladder/internal/repo/manifest"
)

// standIn makes on a plane, where no process runs in a pod, what the processes of
// Argo CD make when they start and others of them wait for: the password of Redis,
// which an init container makes, and the project "default", which the API server
// makes. Source: argo-cd, manifests/base/redis (secret-init), server.go
// (initializeDefaultProject). A kind that is not served yet is left to a later
// call.
func (r *run) standIn(ctx context.Context) error {
	if r.access == nil || !r.access.Simulated || r.options.DryRun || r.options.Config.ArgoCD.Skip {
		return nil
	}
	if _, err := r.namespace(ctx, r.sources.namespace); err != nil {
		return err
	}
	redis := object("v1", "Secret", r.sources.namespace, "argocd-redis")
	redis.Object["stringData"] = map[string]any{"auth": rand.Text()}
	project := object("argoproj.io/v1alpha1", "AppProject", r.sources.namespace, "default")
	anything := map[string]any{"group": "*", "kind": "*"}
	project.Object["spec"] = map[string]any{
		"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}}, "clusterResourceWhitelist": []any{anything},
	}
	for _, o := range []manifest.Object{redis, project} {
		if _, err := r.create(ctx, o.Unstructured); err != nil && !engine.Unserved(err) {
			return fmt.Errorf("stand in for Argo CD: %w", objectError(o, err))
		}
	}
	return nil
}
