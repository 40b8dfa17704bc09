package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/argoproj/argo-cd/v3/common"
	"github.com/argoproj/argo-cd/v3/controller"
	"github.com/argoproj/argo-cd/v3/controller/sharding"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	appclientset "github.com/argoproj/argo-cd/v3/pkg/client/clientset/versioned"
	argoutil "github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/argoproj/argo-cd/v3/util/argo/normalizers"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/cache/appstate"
	kubeutil "github.com/argoproj/argo-cd/v3/util/kube"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// What Argo CD's own command takes where nothing is said. Source: the flags of
// argocd-application-controller.
const (
	appStateLife        = time.Hour
	repoErrorPatience   = 180 * time.Second
	selfHealFirst       = 2 * time.Second
	selfHealFactor      = 3
	selfHealLongest     = 300 * time.Second
	selfHealCooldown    = 330 * time.Second
	kubectlAtOnce       = 20
	statusProcessors    = 20
	operationProcessors = 10
)

// controlApplications is the application controller. Nobody but itself reads what
// it remembers, so there is no Redis.
func controlApplications(ctx context.Context, o options, ready func()) error {
	config, err := access(o)
	if err != nil {
		return err
	}
	config.UserAgent = fmt.Sprintf("%s/%s", common.DefaultApplicationControllerName, version())
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	applications, err := appclientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	var c *controller.ApplicationController
	manager := settings.NewSettingsManager(ctx, client, o.namespace, settings.WithRepoOrClusterChangedHandler(func() {
		c.InvalidateProjectsCache()
	}))
	shards, err := sharding.GetClusterSharding(client, manager, common.DefaultShardingAlgorithm, false)
	if err != nil {
		return fmt.Errorf("find the clusters: %w", err)
	}
	c, err = controller.NewApplicationController(
		o.namespace, manager, client, applications, repositories(),
		nil, // the commit server, which only the hydrator asks
		appstate.NewCache(cacheutil.NewCache(cacheutil.NewInMemoryCache(cacheLife)), appStateLife),
		kubeutil.NewKubectl(),
		o.reconcile, 0, 0, // no hard refresh, no jitter
		0, &wait.Backoff{Duration: selfHealFirst, Factor: selfHealFactor, Cap: selfHealLongest}, selfHealCooldown,
		0, repoErrorPatience, // no limit for a sync
		0, 0, nil, nil, nil, // metrics; see silence
		kubectlAtOnce, o.objectHealth, shards,
		nil, nil, // no other namespaces, the usual rates
		false, false, normalizers.IgnoreNormalizerOpts{}, argoutil.DefaultEnableEventList(), false,
	)
	if err != nil {
		return fmt.Errorf("make the application controller: %w", err)
	}
	silence(ctx, c.GetMetricsServer().Server, ready)
	c.Run(ctx, statusProcessors, operationProcessors)
	return nil
}

// silence keeps the controller from serving its metrics, which it does on every
// interface of the machine and cannot be told not to: the listener is closed
// before the first connection is accepted. The controller serves them as soon as
// it has read the cluster, so that this is also when it is ready.
func silence(ctx context.Context, server *http.Server, ready func()) {
	server.Addr = "127.0.0.1:0"
	server.BaseContext = func(l net.Listener) context.Context {
		_ = l.Close()
		ready()
		<-ctx.Done() // were the server to end, so would the controller
		return ctx
	}
}

// portOf is the port of an address of a control plane.
func portOf(address string) (uint16, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	return uint16(port), err
}

// access is how the controllers reach the control plane.
func access(o options) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if err := v1alpha1.SetK8SConfigDefaults(config); err != nil {
		return nil, fmt.Errorf("configure the access to the cluster: %w", err)
	}
	return config, nil
}
