package controlplane

import (
	"context"
	"fmt"
	"strings"

	kcmapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// clientLimits lets controllers talk to the API server as fast as they like; the
// server has its own fairness.
var clientLimits = []string{"--kube-api-qps=2000", "--kube-api-burst=4000"}

// enabledControllers are the controllers a rehearsal can tell apart from none.
// Left out are those that need machines (node lifecycle, taint eviction, attach
// and detach, expansion, addresses of nodes), those of a cluster's own bootstrap
// and of features that are off.
func enabledControllers() []string {
	return []string{
		names.CertificateSigningRequestApprovingController,
		names.CertificateSigningRequestSigningController,
		names.ClusterRoleAggregationController,
		names.CronJobController,
		names.DaemonSetController,
		names.DeploymentController,
		names.DisruptionController,
		names.EndpointSliceController,
		names.EndpointSliceMirroringController,
		names.EndpointsController,
		names.EphemeralVolumeController,
		names.GarbageCollectorController,
		names.HorizontalPodAutoscalerController,
		names.JobController,
		names.NamespaceController,
		names.PersistentVolumeBinderController,
		names.PersistentVolumeClaimProtectionController,
		names.PersistentVolumeProtectionController,
		names.PodGarbageCollectorController,
		names.ReplicaSetController,
		names.ReplicationControllerController,
		names.ResourceQuotaController,
		names.RootCACertificatePublisherController,
		names.ServiceAccountController,
		names.ServiceAccountTokenController,
		names.StatefulSetController,
		names.TTLAfterFinishedController,
		names.ValidatingAdmissionPolicyStatusController,
	}
}

// controllerManager is a kube-controller-manager that does not run yet.
type controllerManager struct {
	options *kcmoptions.KubeControllerManagerOptions
}

func newControllerManager(files files) (*controllerManager, error) {
	o, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, fmt.Errorf("make the options of kube-controller-manager: %w", err)
	}
	flags := o.Flags(kcmapp.KnownControllers(), kcmapp.ControllersDisabledByDefault(), kcmapp.ControllerAliases())
	o.ParsedFlags = &flags
	err = parseFlags("kube-controller-manager", flags, append([]string{
		"--kubeconfig=" + files.controllerManager,
		"--service-account-private-key-file=" + files.tokenKey,
		"--root-ca-file=" + files.authority,
		"--cluster-signing-cert-file=" + files.authority,
		"--cluster-signing-key-file=" + files.authorityKey,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		"--use-service-account-credentials=false",
		"--controller-start-interval=0s",
		"--min-resync-period=1h",
		"--concurrent-deployment-syncs=10",
		"--concurrent-replicaset-syncs=10",
		"--concurrent-job-syncs=10",
		"--pvclaimbinder-sync-period=1s",
		"--controllers=" + strings.Join(enabledControllers(), ","),
	}, clientLimits...))
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set the feature gates of kube-controller-manager: %w", err)
	}
	return &controllerManager{o}, nil
}

// run works until ctx ends.
func (m *controllerManager) run(ctx context.Context) error {
	config, err := m.options.Config(ctx, kcmapp.KnownControllers(), kcmapp.ControllersDisabledByDefault(), kcmapp.ControllerAliases())
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return kcmapp.Run(ctx, config.Complete())
}

// scheduler is a kube-scheduler that does not run yet.
type scheduler struct {
	options *scheduleroptions.Options
}

func newScheduler(files files) (*scheduler, error) {
	o := scheduleroptions.NewOptions()
	err := parseFlags("kube-scheduler", *o.Flags, append([]string{
		"--kubeconfig=" + files.scheduler,
		"--authentication-kubeconfig=" + files.scheduler,
		"--authorization-kubeconfig=" + files.scheduler,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
	}, clientLimits...))
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set the feature gates of kube-scheduler: %w", err)
	}
	return &scheduler{o}, nil
}

// run works until ctx ends.
func (s *scheduler) run(ctx context.Context) error {
	config, sched, err := schedulerapp.Setup(ctx, s.options)
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return schedulerapp.Run(ctx, config, sched)
}
