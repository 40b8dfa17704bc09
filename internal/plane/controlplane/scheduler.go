package controlplane

import (
	"context"
	"fmt"

	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// scheduler is a kube-scheduler that does not run yet.
type scheduler struct {
	options *scheduleroptions.Options
}

func newScheduler(files files) (*scheduler, error) {
	o := scheduleroptions.NewOptions()
	err := parseFlags("kube-scheduler", *o.Flags, []string{
		"--kubeconfig=" + files.scheduler,
		"--authentication-kubeconfig=" + files.scheduler,
		"--authorization-kubeconfig=" + files.scheduler,
		"--leader-elect=false",
		"--secure-port=0",
		"--profiling=false",
		// The server has its own fairness.
		"--kube-api-qps=2000", "--kube-api-burst=4000",
	})
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
