package controlplane

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	// rediscover is how often kinds are looked for. Source: kube-controller-manager.
	rediscover = 30 * time.Second
	// reuse is how often kinds of which there are objects now are looked for.
	reuse = 10 * time.Second
)

// manager runs the controllers of a plane, as kube-controller-manager does. That
// program itself links the kubelet and every volume plugin, a tenth of the packages of
// the command, and one of those plugins deletes folders of the machine that it runs
// on: a volume of kind hostPath with the policy Delete names them.
type manager struct {
	files  files
	config *rest.Config
	client kubernetes.Interface
	// objects reads of objects of any kind their metadata only.
	objects metadata.Interface
	// informers give controllers what they watch, metadata those that need no more of
	// any kind; started is closed when both run.
	informers informers.SharedInformerFactory
	metadata  informerfactory.InformerFactory
	started   chan struct{}
	discovery discovery.DiscoveryInterface
	// used discovers the kinds that have objects.
	used   discovery.DiscoveryInterface
	mapper *restmapper.DeferredDiscoveryRESTMapper
	graph  *garbagecollector.GraphBuilder
}

// runControllers runs the controllers of a plane until ctx ends.
func runControllers(ctx context.Context, f files, etcd ranger) error {
	m, err := newManager(ctx, f, etcd)
	if err != nil {
		return err
	}
	var loops []loop
	for _, c := range controllers() {
		run, err := c.make(ctx, m)
		if err != nil {
			return fmt.Errorf("make the controller %s: %w", c.name, err)
		}
		loops = append(loops, run)
	}
	m.informers.Start(ctx.Done())
	defer m.informers.Shutdown()
	m.metadata.Start(ctx.Done())
	close(m.started)
	var all sync.WaitGroup
	for _, run := range loops {
		all.Go(func() { run(ctx) })
	}
	all.Wait()
	return ctx.Err()
}

func newManager(ctx context.Context, f files, etcd ranger) (*manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.controllerManager)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the controllers: %w", err)
	}
	config.UserAgent = "kube-controller-manager" // the first word is the manager of the fields that are written
	config.DisableCompression = true
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	config.QPS = -1 // the server has its own fairness
	m := &manager{files: f, config: config, started: make(chan struct{})}
	if m.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	if m.objects, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make a client of metadata: %w", err)
	}
	m.informers = informers.NewSharedInformerFactoryWithOptions(m.client, resync, informers.WithTransform(withoutManagedFields))
	m.metadata = informerfactory.NewInformerFactory(m.informers,
		metadatainformer.NewSharedInformerFactoryWithOptions(m.objects, resync, metadatainformer.WithTransform(withoutManagedFields)))
	m.discovery = m.client.Discovery()
	m.used = &inUse{DiscoveryInterface: m.discovery, etcd: etcd, used: map[schema.GroupResource]bool{}}
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(m.discovery))
	go wait.Until(m.mapper.Reset, rediscover, ctx.Done())
	m.graph = garbagecollector.NewDependencyGraphBuilder(ctx, m.objects, m.mapper, garbagecollector.DefaultIgnoredResources(), m.metadata, m.started)
	return m, nil
}

// authority is the certificate of the plane's authority.
func (m *manager) authority() ([]byte, error) {
	bundle, err := os.ReadFile(m.files.authority)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	return bundle, nil
}
