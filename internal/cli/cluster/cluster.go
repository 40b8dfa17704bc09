// Package cluster says which cluster a command talks to, and whether it answers.
package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/rollout-ladder/ladder/internal/cli/exit"
	"github.com/rollout-ladder/ladder/internal/plane"
	"github.com/rollout-ladder/ladder/internal/repo/yamldoc"
)

// Flags choose a cluster.
type Flags struct {
	// Kubeconfig is the path of a kubeconfig; empty for those that kubectl reads,
	// else the service account of the pod that the command runs in.
	Kubeconfig string
	// Context is a context of the kubeconfig; empty for its current one.
	Context string
	// Plane is the name of a plane that is up; it goes without the other two.
	Plane string
	// InCluster takes the service account of the pod that the command runs in; it
	// goes without the other three. Register has no flag for it.
	InCluster bool
}

// Register adds the flags to a command.
func (f *Flags) Register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster (default: as kubectl finds it, else the pod's service account)")
	set.StringVar(&f.Context, "context", "", "context of the kubeconfig (default: its current one)")
	set.StringVar(&f.Plane, "plane", "", "talk to the plane of this name instead of a cluster (see ladder plane)")
	cmd.MarkFlagsMutuallyExclusive("plane", "kubeconfig")
	cmd.MarkFlagsMutuallyExclusive("plane", "context")
	_ = cmd.RegisterFlagCompletionFunc("context", CompleteContexts)
	_ = cmd.RegisterFlagCompletionFunc("plane", completePlanes)
}

// inCluster names the cluster of the pod that the command runs in.
const inCluster = "of this pod"

// Access is the way to one cluster.
type Access struct {
	REST *rest.Config
	// Name is the context, or what stands in for one, for people.
	Name string
	// InCluster is set where the command runs in a pod of the cluster.
	InCluster bool
	// Plane is set where the cluster was chosen as a plane.
	Plane bool
}

// Open finds the access to the chosen cluster. It does not talk to it. A
// kubeconfig or plane that is not there is wrong usage; no cluster at all could
// not run.
func (f Flags) Open(ctx context.Context) (*Access, error) {
	switch {
	case f.Plane != "":
		return openPlane(ctx, f.Plane)
	case f.InCluster:
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, exit.With(exit.CouldNotRun, fmt.Errorf("use the service account of the pod: %w", err))
		}
		config.UserAgent = "ladder"
		return &Access{REST: config, Name: inCluster, InCluster: true}, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.Context})
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("read the kubeconfig: %w", err))
	}
	config, err := loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, exit.With(exit.CouldNotRun, new(NotConfiguredError))
	case err != nil:
		return nil, exit.With(exit.Usage, fmt.Errorf("read the kubeconfig: %w", err))
	}
	config.UserAgent = "ladder"
	// As kubectl. The 5 requests per second of client-go would have each stage of a
	// bootstrap take a minute.
	config.QPS, config.Burst = 50, 300
	name := cmp.Or(f.Context, raw.CurrentContext)
	return &Access{REST: config, Name: cmp.Or(name, inCluster), InCluster: name == "" && len(raw.Clusters) == 0}, nil
}

// NotConfiguredError says that nothing tells of a cluster.
type NotConfiguredError struct{}

// Error implements error.
func (*NotConfiguredError) Error() string {
	return "no cluster is configured: give --kubeconfig or --context, or --plane NAME for a plane that is up"
}

// NotUp says how to have a plane, or which one that is up was meant.
func NotUp(ctx context.Context, registry *plane.Registry, err *plane.NotFoundError) error {
	var names []string
	if up, listErr := registry.List(ctx); listErr == nil {
		for _, p := range up {
			names = append(names, p.Name)
		}
	}
	return fmt.Errorf("%w; %s", err, cmp.Or(yamldoc.Meant(err.Name, names), "start it with: ladder plane up "+err.Name))
}

func openPlane(ctx context.Context, name string) (*Access, error) {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return nil, exit.With(exit.CouldNotRun, err)
	}
	p, err := registry.Get(ctx, name)
	var notFound *plane.NotFoundError
	var badName *plane.NameError
	switch {
	case errors.As(err, &notFound):
		return nil, exit.With(exit.Usage, NotUp(ctx, registry, notFound))
	case errors.As(err, &badName):
		return nil, exit.With(exit.Usage, err)
	case err != nil:
		return nil, exit.With(exit.CouldNotRun, err)
	}
	config, err := p.RESTConfig()
	if err != nil {
		return nil, exit.With(exit.CouldNotRun, err)
	}
	return &Access{REST: config, Name: "plane " + name, Plane: true}, nil
}

// UnreachableError says that the API server does not answer.
type UnreachableError struct {
	Name, Server string
	Err          error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("cluster %s (%s) does not answer: %v", e.Name, e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// reachTimeout bounds one question whether the API server is there.
const reachTimeout = 10 * time.Second

// Reach asks the API server for its version. The error is an *UnreachableError,
// with the exit code of could not run, unless ctx ended.
func (a *Access) Reach(ctx context.Context) (gitVersion string, err error) {
	asking := rest.CopyConfig(a.REST)
	asking.Timeout = reachTimeout
	client, err := discovery.NewDiscoveryClientForConfig(asking)
	if err != nil {
		return "", exit.With(exit.Usage, fmt.Errorf("use the kubeconfig: %w", err))
	}
	body, err := client.RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	var info version.Info
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", exit.With(exit.CouldNotRun, &UnreachableError{Name: a.Name, Server: a.REST.Host, Err: err})
	}
	return info.GitVersion, nil
}

// Simulated reports whether the cluster is a plane, whose pods are no processes:
// its nodes say so. A cluster that does not let its nodes be listed is none.
func (a *Access) Simulated(ctx context.Context) bool {
	if a.Plane || a.InCluster {
		return a.Plane
	}
	client, err := corev1client.NewForConfig(a.REST)
	if err != nil {
		return false
	}
	nodes, err := client.Nodes().List(ctx, metav1.ListOptions{LabelSelector: "node.kubernetes.io/instance-type=simulated", Limit: 1})
	return err == nil && len(nodes.Items) > 0
}

// CompleteContexts completes the contexts of the kubeconfig.
func CompleteContexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	raw, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for name := range raw.Contexts {
		names = append(names, name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completePlanes(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	registry, err := plane.DefaultRegistry()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	planes, err := registry.List(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, p := range planes {
		names = append(names, p.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
