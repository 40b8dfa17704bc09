package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	reposervercache "github.com/argoproj/argo-cd/v3/reposerver/cache"
	"github.com/argoproj/argo-cd/v3/reposerver/metrics"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/askpass"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	utilio "github.com/argoproj/argo-cd/v3/util/io"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// repoSocket is relative to the folder, as askPassSocket is.
	repoSocket = "repo-server.sock"
	// repoTimeoutSeconds is how long the controllers wait for an answer. Source: the
	// flag --repo-server-timeout-seconds.
	repoTimeoutSeconds = 60
	// manifestsAtOnce bounds how many manifests the repo server makes at once: each
	// is a process of 100 MB.
	manifestsAtOnce = 4
)

// What Argo CD's own command takes where nothing is said. Source: the flags of
// argocd-repo-server.
const (
	cacheLife       = 24 * time.Hour
	revisionLock    = 10 * time.Second
	failuresAllowed = 3
	failurePause    = 60 // minutes
	megabyte        = 1_000_000
)

// serveRepositories is the repo server. It listens on a socket in the folder, which
// no other user can enter: its own command listens on a port, for everybody. What
// it remembers stays in its memory: nobody else reads it, so there is no Redis.
func serveRepositories(_ context.Context, o options, ready func()) error {
	if o.offline {
		if err := noNetwork(); err != nil {
			return fmt.Errorf("keep the repo server offline: %w", err)
		}
	}
	remembered := cacheutil.NewCache(cacheutil.NewInMemoryCache(cacheLife))
	credentials := askpass.NewServer(askpass.SocketPath)
	server, err := reposerver.NewServer(metrics.NewMetricsServer(),
		reposervercache.NewCache(remembered, cacheLife, o.reconcile, revisionLock), nil,
		repository.RepoServerInitConstants{
			ParallelismLimit: manifestsAtOnce,
			PauseGenerationAfterFailedGenerationAttempts: failuresAllowed,
			PauseGenerationOnFailureForMinutes:           failurePause,
			SubmoduleEnabled:                             true,
			EnableBuiltinGitConfig:                       true,
			MaxCombinedDirectoryManifestsSize:            *resource.NewQuantity(10*megabyte, resource.DecimalSI),
			StreamedManifestMaxTarSize:                   100 * megabyte,
			StreamedManifestMaxExtractedSize:             1000 * megabyte,
			HelmManifestMaxExtractedSize:                 1000 * megabyte,
			HelmRegistryMaxIndexSize:                     1000 * megabyte,
			OCIManifestMaxExtractedSize:                  1000 * megabyte,
			OCIMediaTypes: []string{
				"application/vnd.oci.image.layer.v1.tar", "application/vnd.oci.image.layer.v1.tar+gzip",
				"application/vnd.cncf.helm.chart.content.v1.tar+gzip",
			},
		}, credentials)
	if err != nil {
		return fmt.Errorf("make the repo server: %w", err)
	}
	if err := credentials.Run(); err != nil {
		return fmt.Errorf("listen for git's questions: %w", err)
	}
	_ = os.Remove(repoSocket) // of an earlier run
	listener, err := net.Listen("unix", repoSocket)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	ready() // who connects from now on is served
	return server.CreateGRPC().Serve(listener)
}

// repositories connects to the repo server.
func repositories() apiclient.Clientset {
	return oneKustomize{apiclient.NewRepoServerClientset("unix:"+repoSocket, repoTimeoutSeconds, apiclient.TLSConfiguration{DisableTLS: true})}
}

// oneKustomize has manifests made by the kustomize that is here, whatever program the
// settings name for a version of it: they are the repository's.
type oneKustomize struct{ apiclient.Clientset }

// NewRepoServerClient implements apiclient.Clientset.
func (c oneKustomize) NewRepoServerClient() (utilio.Closer, apiclient.RepoServerServiceClient, error) {
	closer, client, err := c.Clientset.NewRepoServerClient()
	return closer, kustomizing{client}, err
}

type kustomizing struct {
	apiclient.RepoServerServiceClient
}

// GenerateManifest implements apiclient.RepoServerServiceClient.
func (k kustomizing) GenerateManifest(ctx context.Context, r *apiclient.ManifestRequest, o ...grpc.CallOption) (*apiclient.ManifestResponse, error) {
	r.KustomizeOptions = withoutPrograms(r.KustomizeOptions)
	return k.RepoServerServiceClient.GenerateManifest(ctx, r, o...)
}

// withoutPrograms leaves of options what is no path of a program.
func withoutPrograms(o *v1alpha1.KustomizeOptions) *v1alpha1.KustomizeOptions {
	if o == nil {
		return nil
	}
	clean := &v1alpha1.KustomizeOptions{BuildOptions: o.BuildOptions}
	for _, v := range o.Versions {
		clean.Versions = append(clean.Versions, v1alpha1.KustomizeVersion{Name: v.Name, Path: kustomizeName, BuildOptions: v.BuildOptions})
	}
	return clean
}
