package controlplane

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/dynamic"
	certificates "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/disruption"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/statefulset"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/generated/openapi"
	quota "k8s.io/kubernetes/pkg/quota/v1/install"
	token "k8s.io/kubernetes/pkg/serviceaccount"
	resourcemetrics "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"

	"github.com/rollout-ladder/ladder/internal/plane/quiet"
)

// loop runs a controller until ctx ends.
type loop func(ctx context.Context)

// namedController is a controller and how it is made.
type namedController struct {
	name string
	make func(ctx context.Context, m *manager) (loop, error)
}

// controllers are those that a rehearsal can tell apart from none, with the settings of
// kube-controller-manager but for more workers. Left out are those that need machines
// (node lifecycle, taint eviction, attach and detach, expansion, addresses of nodes,
// garbage of pods), those of a cluster's own bootstrap and of features that are off.
// Source: Kubernetes, cmd/kube-controller-manager/app.
func controllers() []namedController {
	all := append(workloads(), services()...)
	all = append(all, storage()...)
	all = append(all, policies()...)
	return append(all, identities()...)
}

// workers runs a controller with so many workers.
func workers(run func(context.Context, int), n int) loop {
	return func(ctx context.Context) { run(ctx, n) }
}

// together runs several loops as one.
func together(loops ...loop) loop {
	return func(ctx context.Context) {
		var all sync.WaitGroup
		for _, run := range loops {
			all.Go(func() { run(ctx) })
		}
		all.Wait()
	}
}

func workloads() []namedController {
	return []namedController{
		{"deployment", func(ctx context.Context, m *manager) (loop, error) {
			apps := m.informers.Apps().V1()
			c, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), m.informers.Core().V1().Pods(), m.client)
			return func(ctx context.Context) { c.Run(ctx, 10) }, err
		}},
		{"replicaset", func(ctx context.Context, m *manager) (loop, error) {
			c := replicaset.NewReplicaSetController(ctx, m.informers.Apps().V1().ReplicaSets(), m.informers.Core().V1().Pods(), m.client, replicaset.BurstReplicas)
			return workers(c.Run, 10), nil
		}},
		{"replicationcontroller", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c := replication.NewReplicationManager(ctx, core.Pods(), core.ReplicationControllers(), m.client, replication.BurstReplicas)
			return workers(c.Run, 5), nil
		}},
		{"statefulset", func(ctx context.Context, m *manager) (loop, error) {
			core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
			c := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(), apps.ControllerRevisions(), m.client)
			return workers(c.Run, 5), nil
		}},
		{"daemonset", func(ctx context.Context, m *manager) (loop, error) {
			core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
			backoff := flowcontrol.NewBackOff(time.Second, 15*time.Minute)
			c, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), m.client, backoff)
			return func(ctx context.Context) { c.Run(ctx, 2) }, err
		}},
		{"job", func(ctx context.Context, m *manager) (loop, error) {
			// Timers of real controllers hold up a rehearsal; see package quiet. The
			// batch of a second only spares a busy cluster some work.
			job.SyncJobBatchPeriod = time.Millisecond
			job.DefaultJobPodFailureBackOff, job.MaxJobPodFailureBackOff = quiet.JobBackOff, quiet.MaxJobBackOff
			// Workloads and groups of pods are for a feature that is off.
			c, err := job.NewController(ctx, m.client, m.informers.Core().V1().Pods(), m.informers.Batch().V1().Jobs(), nil, nil)
			return func(ctx context.Context) { c.Run(ctx, 10) }, err
		}},
		{"cronjob", func(ctx context.Context, m *manager) (loop, error) {
			batch := m.informers.Batch().V1()
			c, err := cronjob.NewControllerV2(ctx, batch.Jobs(), batch.CronJobs(), m.client)
			return func(ctx context.Context) { c.Run(ctx, 5) }, err
		}},
		{"ttl-after-finished", func(ctx context.Context, m *manager) (loop, error) {
			return workers(ttlafterfinished.New(ctx, m.informers.Batch().V1().Jobs(), m.client).Run, 5), nil
		}},
		{"horizontal-pod-autoscaler", autoscaler},
		{"disruption", func(ctx context.Context, m *manager) (loop, error) {
			scales, err := m.scales()
			if err != nil {
				return nil, err
			}
			core, apps := m.informers.Core().V1(), m.informers.Apps().V1()
			c := disruption.NewDisruptionController(ctx, core.Pods(), m.informers.Policy().V1().PodDisruptionBudgets(), core.ReplicationControllers(),
				apps.ReplicaSets(), apps.Deployments(), apps.StatefulSets(), m.client, m.mapper, scales, m.discovery)
			return c.Run, nil
		}},
	}
}

// scales reads and writes how many replicas something has.
func (m *manager) scales() (scale.ScalesGetter, error) {
	return scale.NewForConfig(m.config, m.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(m.discovery))
}

func autoscaler(ctx context.Context, m *manager) (loop, error) {
	const period = quiet.AutoscalerPeriod
	scales, err := m.scales()
	if err != nil {
		return nil, err
	}
	resources, err := resourcemetrics.NewForConfig(m.config)
	if err != nil {
		return nil, err
	}
	external, err := externalmetrics.NewForConfig(m.config)
	if err != nil {
		return nil, err
	}
	versions := custommetrics.NewAvailableAPIsGetter(m.discovery)
	client := metrics.NewRESTMetricsClient(resources, custommetrics.NewForConfig(m.config, m.mapper, versions), external)
	c := podautoscaler.NewHorizontalController(ctx, m.client.CoreV1(), scales, m.client.AutoscalingV2(), m.mapper, client,
		m.informers.Autoscaling().V2().HorizontalPodAutoscalers(), m.informers.Core().V1().Pods(),
		period, 5*time.Minute, 0.1, 5*time.Minute, 30*time.Second)
	return together(
		func(ctx context.Context) { custommetrics.PeriodicallyInvalidate(versions, period, ctx.Done()) },
		workers(c.Run, 5),
	), nil
}

func services() []namedController {
	return []namedController{
		{"endpoints", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			return workers(endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), m.client, 0).Run, 5), nil
		}},
		{"endpointslice", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), m.informers.Discovery().V1().EndpointSlices(), 100, m.client, 0)
			return workers(c.Run, 5), nil
		}},
		{"endpointslice-mirroring", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c := endpointslicemirroring.NewController(ctx, core.Endpoints(), m.informers.Discovery().V1().EndpointSlices(), core.Services(), 1000, m.client, 0)
			return workers(c.Run, 5), nil
		}},
	}
}

func storage() []namedController {
	return []namedController{
		{"persistentvolume-binder", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			// Volumes are provisioned and deleted by the simulated world.
			c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
				KubeClient: m.client, SyncPeriod: time.Second, VolumeInformer: core.PersistentVolumes(), ClaimInformer: core.PersistentVolumeClaims(),
				ClassInformer: m.informers.Storage().V1().StorageClasses(), PodInformer: core.Pods(), NodeInformer: core.Nodes(), EnableDynamicProvisioning: true,
			})
			return func(ctx context.Context) { c.Run(ctx) }, err
		}},
		{"ephemeral-volume", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c, err := ephemeral.NewController(ctx, m.client, core.Pods(), core.PersistentVolumeClaims())
			return func(ctx context.Context) { c.Run(ctx, 5) }, err
		}},
		{"persistentvolumeclaim-protection", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), core.PersistentVolumeClaims(), core.Pods(), m.client)
			return func(ctx context.Context) { c.Run(ctx, 1) }, err
		}},
		{"persistentvolume-protection", func(ctx context.Context, m *manager) (loop, error) {
			return workers(pvprotection.NewPVProtectionController(klog.FromContext(ctx), m.informers.Core().V1().PersistentVolumes(), m.client).Run, 1), nil
		}},
	}
}

func policies() []namedController {
	return []namedController{
		{"namespace", func(ctx context.Context, m *manager) (loop, error) {
			c := namespace.NewNamespaceController(ctx, m.client, m.objects, m.used.ServerPreferredNamespacedResources,
				m.informers.Core().V1().Namespaces(), 5*time.Minute, v1.FinalizerKubernetes)
			return workers(c.Run, 10), nil
		}},
		{"garbage-collector", func(ctx context.Context, m *manager) (loop, error) {
			c, err := garbagecollector.NewComposedGarbageCollector(ctx, m.client, m.objects, m.mapper, m.graph)
			return together(
				func(ctx context.Context) { c.Run(ctx, 20, rediscover) },
				func(ctx context.Context) { c.Sync(ctx, m.used, reuse) },
			), err
		}},
		{"resourcequota", quotas},
		{"validatingadmissionpolicy-status", func(_ context.Context, m *manager) (loop, error) {
			schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensions.Scheme).
				Combine(&resolver.ClientDiscoveryResolver{Discovery: m.discovery})
			c, err := validatingadmissionpolicystatus.NewController(m.informers.Admissionregistration().V1().ValidatingAdmissionPolicies(),
				m.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(), &validating.TypeChecker{SchemaResolver: schemas, RestMapper: m.mapper})
			return func(ctx context.Context) { c.Run(ctx, 5) }, err
		}},
	}
}

func quotas(ctx context.Context, m *manager) (loop, error) {
	configuration, err := quota.NewQuotaConfigurationForControllers(generic.ListerFuncForResourceFunc(m.informers.ForResource), m.informers)
	if err != nil {
		return nil, err
	}
	discover := m.used.ServerPreferredNamespacedResources
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               m.client.CoreV1(),
		ResourceQuotaInformer:     m.informers.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(5 * time.Minute),
		InformerFactory:           m.metadata,
		ReplenishmentResyncPeriod: controller.StaticResyncPeriodFunc(resync),
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      configuration.IgnoredResources,
		InformersStarted:          m.started,
		Registry:                  generic.NewRegistry(configuration.Evaluators()),
		UpdateFilter:              quota.DefaultUpdateFilter(),
	})
	return together(
		func(ctx context.Context) { c.Run(ctx, 5) },
		func(ctx context.Context) { c.Sync(ctx, discover, reuse) },
	), err
}

func identities() []namedController {
	return []namedController{
		{"serviceaccount", func(ctx context.Context, m *manager) (loop, error) {
			core := m.informers.Core().V1()
			c, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), m.client,
				serviceaccount.DefaultServiceAccountsControllerOptions())
			return func(ctx context.Context) { c.Run(ctx, 1) }, err
		}},
		{"serviceaccount-token", tokens},
		{"root-ca-certificate-publisher", func(_ context.Context, m *manager) (loop, error) {
			authority, err := m.authority()
			if err != nil {
				return nil, err
			}
			core := m.informers.Core().V1()
			c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), m.client, authority)
			return func(ctx context.Context) { c.Run(ctx, 1) }, err
		}},
		{"clusterrole-aggregation", func(_ context.Context, m *manager) (loop, error) {
			return workers(clusterroleaggregation.NewClusterRoleAggregation(m.informers.Rbac().V1().ClusterRoles(), m.client.RbacV1()).Run, 5), nil
		}},
		{"certificatesigningrequest-approving", func(ctx context.Context, m *manager) (loop, error) {
			return workers(approver.NewCSRApprovingController(ctx, m.client, m.informers.Certificates().V1().CertificateSigningRequests()).Run, 5), nil
		}},
		{"certificatesigningrequest-signing", signers},
	}
}

func tokens(ctx context.Context, m *manager) (loop, error) {
	key, err := keyutil.PrivateKeyFromFile(m.files.tokenKey)
	if err != nil {
		return nil, fmt.Errorf("read the key of tokens: %w", err)
	}
	authority, err := m.authority()
	if err != nil {
		return nil, err
	}
	generator, err := token.JWTTokenGenerator(token.LegacyIssuer, key)
	if err != nil {
		return nil, err
	}
	core := m.informers.Core().V1()
	c, err := serviceaccount.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), m.client,
		serviceaccount.TokensControllerOptions{TokenGenerator: generator, RootCA: authority})
	return func(ctx context.Context) { c.Run(ctx, 5) }, err
}

// signers sign requests with the plane's authority.
func signers(ctx context.Context, m *manager) (loop, error) {
	const life = certificateLife
	requests := m.informers.Certificates().V1().CertificateSigningRequests()
	var loops []loop
	for _, make := range []func(context.Context, kubernetes.Interface, certificates.CertificateSigningRequestInformer, string, string, time.Duration) (*signer.CSRSigningController, error){
		signer.NewKubeletServingCSRSigningController, signer.NewKubeletClientCSRSigningController,
		signer.NewKubeAPIServerClientCSRSigningController, signer.NewLegacyUnknownCSRSigningController,
	} {
		c, err := make(ctx, m.client, requests, m.files.authority, m.files.authorityKey, life)
		if err != nil {
			return nil, err
		}
		loops = append(loops, workers(c.Run, 5))
	}
	return together(loops...), nil
}
