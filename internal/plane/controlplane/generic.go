package controlplane

import (
	"fmt"
	"time"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/filters"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
	"k8s.io/kubernetes/pkg/controlplane/apiserver/options"
	generatedopenapi "k8s.io/kubernetes/pkg/generated/openapi"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	"github.com/rollout-ladder/ladder/internal/plane/pki"
)

// resync is how often informers hand out everything again.
const resync = time.Hour

// buildGenericConfig is BuildGenericConfig of kube-apiserver but for the
// certificate by which the server knows itself: there two RSA keys are made for it,
// which takes 0.1 to 0.4 s. Tracing, which no option here switches on, is left out.
// Source: k8s.io/kubernetes/pkg/controlplane/apiserver/config.go, v1.36.
func buildGenericConfig(o options.CompletedOptions, schemes []*runtime.Scheme, resources *serverstorage.ResourceConfig) (
	*genericapiserver.Config, informers.SharedInformerFactory, *serverstorage.DefaultStorageFactory, error,
) {
	fail := func(err error) (*genericapiserver.Config, informers.SharedInformerFactory, *serverstorage.DefaultStorageFactory, error) {
		return nil, nil, nil, err
	}
	c := genericapiserver.NewConfig(legacyscheme.Codecs)
	c.Flagz = o.Flagz
	c.MergedResourceConfig = resources
	if err := o.GenericServerRunOptions.ApplyTo(c); err != nil {
		return fail(err)
	}
	if err := o.SecureServing.SecureServingOptions.ApplyTo(&c.SecureServing); err != nil {
		return fail(err)
	}
	if err := serveLoopback(c); err != nil {
		return fail(err)
	}
	c.LoopbackClientConfig.ContentType = runtime.ContentTypeProtobuf
	c.LoopbackClientConfig.DisableCompression = true
	client, err := kubernetes.NewForConfig(c.LoopbackClientConfig)
	if err != nil {
		return fail(err)
	}
	known := informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(withoutManagedFields))

	if err := o.Features.ApplyTo(c, client, known); err != nil {
		return fail(err)
	}
	if err := o.APIEnablement.ApplyTo(c, resources, legacyscheme.Scheme); err != nil {
		return fail(err)
	}
	if err := o.EgressSelector.ApplyTo(c); err != nil {
		return fail(err)
	}
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer(schemes...)
	c.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	c.OpenAPIConfig.Info.Title = "Kubernetes"
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	c.OpenAPIV3Config.Info.Title = "Kubernetes"
	c.LongRunningFunc = filters.BasicLongRunningRequestCheck(
		sets.NewString("watch", "proxy"),
		sets.NewString("attach", "exec", "proxy", "log", "portforward"),
	)
	if c.EgressSelector != nil {
		o.Etcd.StorageConfig.Transport.EgressLookup = c.EgressSelector.Lookup
	}
	o.Etcd.StorageConfig.Transport.TracerProvider = noopoteltrace.NewTracerProvider()

	storageConfig := kubeapiserver.NewStorageFactoryConfigEffectiveVersion(c.EffectiveVersion)
	storageConfig.APIResourceConfig = c.MergedResourceConfig
	storageConfig.DefaultResourceEncoding.SetEffectiveVersion(c.EffectiveVersion)
	storage, err := storageConfig.Complete(o.Etcd).New()
	if err != nil {
		return fail(err)
	}
	storage.StorageConfig.StorageObjectCountTracker = c.StorageObjectCountTracker
	if err := o.Etcd.ApplyWithStorageFactoryTo(storage, c); err != nil {
		return fail(err)
	}

	ctx := wait.ContextForChannel(c.DrainedNotify())
	if err := o.Authentication.ApplyTo(ctx, &c.Authentication, c.SecureServing, c.EgressSelector, c.OpenAPIConfig,
		c.OpenAPIV3Config, client, known, c.APIServerID); err != nil {
		return fail(err)
	}
	c.Authorization.Authorizer, c.RuleResolver, _, err = controlplaneapiserver.BuildAuthorizer(ctx, o, c.EgressSelector, c.APIServerID, known)
	if err != nil {
		return fail(fmt.Errorf("configure the authorizer: %w", err))
	}
	if err := o.Audit.ApplyTo(c); err != nil {
		return fail(err)
	}
	c.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	return c, known, storage, nil
}

// serveLoopback makes the server known to itself, by a certificate and a token
// that never leave the process.
func serveLoopback(c *genericapiserver.Config) error {
	authority, err := pki.NewAuthority("ladder-plane-loopback", time.Now(), certificateLife)
	if err != nil {
		return err
	}
	name := genericapiserver.LoopbackClientServerNameOverride
	pair, err := authority.Issue(pki.Request{CommonName: name, Names: []string{name}})
	if err != nil {
		return err
	}
	served, err := dynamiccertificates.NewStaticSNICertKeyContent("loopback", pair.Certificate, pair.Key, name)
	if err != nil {
		return fmt.Errorf("serve the loopback client: %w", err)
	}
	c.SecureServing.SNICerts = append([]dynamiccertificates.SNICertKeyContentProvider{served}, c.SecureServing.SNICerts...)
	c.LoopbackClientConfig, err = c.SecureServing.NewLoopbackClientConfig(string(uuid.NewUUID()), authority.Bundle())
	if err != nil {
		return fmt.Errorf("make the loopback client: %w", err)
	}
	return nil
}

// withoutManagedFields saves the memory of what no informer looks at.
func withoutManagedFields(object any) (any, error) {
	if access, err := meta.Accessor(object); err == nil && access.GetManagedFields() != nil {
		access.SetManagedFields(nil)
	}
	return object, nil
}
