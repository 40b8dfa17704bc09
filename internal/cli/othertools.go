package cli

// What to do instead of a flag that other tools have for the work of a command.
const (
	resetCluster = "--reset-cluster deletes the cluster that cluster.create of the configuration makes, with k3d or kind, and makes it anew"
	ownOrder     = "phases follow one another by themselves, each when the one before is Healthy; --from, --to and --only choose"
	ownRetries   = "what fails is tried again as descriptors and ladder.yaml say (retry), and by ladder retry"
	ownCluster   = "the cluster is asked, not the server of Argo CD: --context or --kubeconfig name it"
	chooses      = "--only SELECTOR chooses components"
	waits        = "every component is waited for until it is Healthy"
	prunes       = "what the repository lacks by now is removed; --keep-removed keeps such components, Prune=false such objects"
)

// otherTools are flags of scripts that bootstrap a platform and of argocd app sync and
// wait, by command and flag.
var otherTools = map[string]string{
	"bootstrap reset-k3d":    resetCluster,
	"bootstrap reset-kind":   resetCluster,
	"rollout groups":         ownOrder,
	"rollout l":              chooses,
	"rollout selector":       chooses,
	"rollout retry":          ownRetries,
	"rollout retry-strategy": ownRetries,
	"rollout health":         waits,
	"rollout wait":           waits,
	"rollout prune":          prunes,
	"rollout server":         ownCluster,
	"status server":          ownCluster,
}
