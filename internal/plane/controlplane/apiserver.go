package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	apiextensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/webhook"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	kasapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"

	"github.com/rollout-ladder/ladder/internal/plane/child"
	"github.com/rollout-ladder/ladder/internal/plane/egress"
	"github.com/rollout-ladder/ladder/internal/plane/quiet"
)

// serviceRange is where Services get their cluster addresses from.
const serviceRange = "10.96.0.0/16"

// apiServer is a kube-apiserver that is configured but does not run yet.
type apiServer struct {
	options *options.ServerRunOptions
	backend egress.WebhookBackend
	orders  http.Handler
	// trusted is trusted for webhooks besides their own caBundle, PEM.
	trusted []byte
	// filled says that etcd has the roles and priority classes already.
	filled bool
}

func newAPIServer(files files, listener net.Listener, backend egress.WebhookBackend, orders http.Handler, trusted []byte, filled bool) (*apiServer, error) {
	port := listener.Addr().(*net.TCPAddr).Port
	o := options.NewServerRunOptions()
	err := parseFlags("kube-apiserver", o.Flags(), []string{
		"--etcd-servers=unix://" + etcdSocket,
		// Old revisions only cost memory here: nothing reads them.
		"--etcd-compaction-interval=1m",
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--bind-address=127.0.0.1",
		// Never published, but the default asks the host for its network.
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--endpoint-reconciler-type=none",
		"--authorization-mode=RBAC",
		// Without it other users of the machine would be told versions and health.
		"--anonymous-auth=false",
		"--allow-privileged=true",
		"--client-ca-file=" + files.authority,
		"--tls-cert-file=" + files.server.certificate,
		"--tls-private-key-file=" + files.server.key,
		"--requestheader-client-ca-file=" + files.proxyAuthority,
		"--requestheader-allowed-names=" + proxyClientName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + files.proxyClient.certificate,
		"--proxy-client-key-file=" + files.proxyClient.key,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + files.tokenKey,
		"--service-account-signing-key-file=" + files.tokenKey,
		"--service-cluster-ip-range=" + serviceRange,
		// It taints new nodes until a kubelet reports; there is none.
		"--disable-admission-plugins=TaintNodesByCondition",
		"--profiling=false",
		"--shutdown-delay-duration=0s",
		"--event-ttl=24h",
	})
	if err != nil {
		return nil, err
	}
	o.SecureServing.Listener = listener
	o.SecureServing.BindPort = port
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set the feature gates of kube-apiserver: %w", err)
	}
	return &apiServer{options: o, backend: backend, orders: orders, trusted: trusted, filled: filled}, nil
}

// run serves until ctx ends.
func (s *apiServer) run(ctx context.Context) error {
	completed, err := s.options.Complete(ctx)
	if err != nil {
		return fmt.Errorf("complete the options: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return fmt.Errorf("check the options: %w", errors.Join(errs...))
	}
	config, err := s.configure(completed)
	if err != nil {
		return err
	}
	chain, err := kasapp.CreateServerChain(config)
	if err != nil {
		return fmt.Errorf("assemble the servers: %w", err)
	}
	described := config.Aggregator.GenericConfig
	if err := installOpenAPI(chain.GenericAPIServer, described.OpenAPIConfig, described.OpenAPIV3Config); err != nil {
		return err
	}
	chain.GenericAPIServer.Handler.NonGoRestfulMux.Handle(child.ClockPath, s.orders)
	// The aggregator's own PrepareRun is this and the description of the API.
	return chain.GenericAPIServer.PrepareRun().RunWithContext(ctx)
}

// configure does what kube-apiserver's own NewConfig does, with these
// changes: the version it tells, where connections into the cluster go, whom
// webhooks are trusted from, when the API is described, and that requests are counted.
func (s *apiServer) configure(o options.CompletedOptions) (kasapp.CompletedConfig, error) {
	none := kasapp.CompletedConfig{}
	generic, informers, storage, err := buildGenericConfig(
		o.CompletedOptions,
		[]*runtime.Scheme{legacyscheme.Scheme, apiextensionsapiserver.Scheme, aggregatorscheme.Scheme},
		controlplane.DefaultAPIResourceConfigSource(),
	)
	if err != nil {
		return none, fmt.Errorf("configure the API server: %w", err)
	}
	generic.EffectiveVersion = stampedVersion{generic.EffectiveVersion}
	generic.EgressSelector = egressTo(s.backend)
	chain := generic.BuildHandlerChainFunc
	generic.BuildHandlerChainFunc = func(handler http.Handler, c *server.Config) http.Handler {
		return quiet.Requests(chain(handler, c), child.ClockPath)
	}

	if s.filled {
		// Each waits a second before it looks for what is there.
		generic.DisabledPostStartHooks.Insert(rbacrest.PostStartHookName, schedulingrest.PostStartHookName)
	}

	services := namedServices{aggregatorapiserver.NewClusterIPServiceResolver(informers.Core().V1().Services().Lister())}
	// Decorators see each admission plugin after its initialisation and before
	// its first use: there the webhook plugins learn whom to call and to trust.
	// Ours comes first, because the others hide the plugin behind a wrapper.
	ours := initializer.NewPluginInitializer(trusting(s.trusted), services)
	initialise := admission.DecoratorFunc(func(plugin admission.Interface, _ string) admission.Interface {
		ours.Initialize(plugin)
		return plugin
	})
	o.Admission.GenericAdmission.Decorators = append(admission.Decorators{initialise}, o.Admission.GenericAdmission.Decorators...)

	kube, _, plugins, err := kasapp.CreateKubeAPIServerConfig(o, generic, informers, storage)
	if err != nil {
		return none, fmt.Errorf("configure the Kubernetes API: %w", err)
	}
	wrapper := webhook.NewDefaultAuthenticationInfoResolverWrapper(kube.ControlPlane.ProxyTransport, generic.EgressSelector,
		generic.LoopbackClientConfig, generic.TracerProvider)
	extensions, err := controlplaneapiserver.CreateAPIExtensionsConfig(*kube.ControlPlane.Generic, informers, plugins,
		o.CompletedOptions, o.MasterCount, services, both(wrapper, trusting(s.trusted)))
	if err != nil {
		return none, fmt.Errorf("configure custom resources: %w", err)
	}
	aggregator, err := controlplaneapiserver.CreateAggregatorConfig(*kube.ControlPlane.Generic, o.CompletedOptions, informers,
		services, kube.ControlPlane.ProxyTransport, kube.ControlPlane.PeerProxy, plugins)
	if err != nil {
		return none, fmt.Errorf("configure the aggregator: %w", err)
	}
	kube.ControlPlane.Generic.SkipOpenAPIInstallation = true // see openAPI
	config := &kasapp.Config{Options: o, Aggregator: aggregator, KubeAPIs: kube, ApiExtensions: extensions}
	completed, err := config.Complete()
	if err != nil {
		return none, fmt.Errorf("complete the configuration: %w", err)
	}
	return completed, nil
}
