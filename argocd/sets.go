package main

import (
	"context"
	"fmt"

	"github.com/argoproj/argo-cd/v3/applicationset/controllers"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/metrics"
	"github.com/argoproj/argo-cd/v3/applicationset/services"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/github_app"
	"github.com/argoproj/argo-cd/v3/util/log"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// setsAtOnce is Argo CD's own. Source: the flag --concurrent-reconciliations.
	setsAtOnce = 10
	// nowhere is the address of a listener that is not wanted.
	nowhere = "0"
)

// controlSets is the ApplicationSet controller with progressive syncs, and without
// what its own command serves for everybody: metrics, probes, and a webhook that
// tells it to look again.
func controlSets(ctx context.Context, o options, ready func()) error {
	config, err := access(o)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return fmt.Errorf("learn the kinds of Kubernetes: %w", err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("learn the kinds of Argo CD: %w", err)
	}
	ctrl.SetLogger(log.NewLogrusLogger(log.NewWithCurrentConfig()))
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Metrics:                metricsserver.Options{BindAddress: nowhere},
		HealthProbeBindAddress: nowhere,
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{o.namespace: {}}},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	objects, err := dynamic.NewForConfig(m.GetConfig())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	client, err := kubernetes.NewForConfig(m.GetConfig())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	database := db.NewDB(o.namespace, settings.NewSettingsManager(ctx, client, o.namespace), client)
	// No provider of source control is asked for repositories or pull requests.
	providers := generators.NewSCMConfig("", nil, false, false, github_app.NewAuthCredentials(database.(db.RepoCredsDB)), false)
	repos := services.NewArgoCDService(database, true, repositories(), false)
	counters := metrics.NewApplicationsetMetrics(utils.NewAppsetLister(m.GetClient()), nil, func(*v1alpha1.ApplicationSet) bool { return true })
	err = (&controllers.ApplicationSetReconciler{
		Generators:               generators.GetGenerators(ctx, m.GetClient(), client, o.namespace, repos, objects, providers),
		Client:                   m.GetClient(),
		Scheme:                   m.GetScheme(),
		Recorder:                 m.GetEventRecorderFor("applicationset-controller"),
		Renderer:                 &utils.Render{},
		Policy:                   utils.Policies[""], // a set may choose its own
		EnablePolicyOverride:     true,
		KubeClientset:            client,
		ArgoDB:                   database,
		ArgoCDNamespace:          o.namespace,
		ApplicationSetNamespaces: []string{o.namespace},
		EnableProgressiveSyncs:   true,
		Metrics:                  &counters,
	}).SetupWithManager(m, true, setsAtOnce)
	if err != nil {
		return fmt.Errorf("make the ApplicationSet controller: %w", err)
	}
	// What is added last runs when the manager has read the cluster.
	if err := m.Add(manager.RunnableFunc(func(context.Context) error { ready(); return nil })); err != nil {
		return fmt.Errorf("make the ApplicationSet controller: %w", err)
	}
	return m.Start(ctx)
}
