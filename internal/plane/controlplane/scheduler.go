package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1alpha1 "k8s.io/component-base/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"sigs.k8s.io/yaml"
)

// scheduler is a kube-scheduler that does not run yet.
type scheduler struct {
	options *scheduleroptions.Options
}

func newScheduler(files files) (*scheduler, error) {
	o := scheduleroptions.NewOptions()
	err := parseFlags("kube-scheduler", *o.Flags, []string{
		"--config=" + files.schedulerConfig,
		"--authentication-kubeconfig=" + files.scheduler,
		"--authorization-kubeconfig=" + files.scheduler,
		"--leader-elect=false",
		"--secure-port=0",
	})
	if err != nil {
		return nil, err
	}
	if err := o.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("set the feature gates of kube-scheduler: %w", err)
	}
	return &scheduler{o}, nil
}

// schedulerConfig is the configuration of a scheduler. The server has its own fairness.
func schedulerConfig(kubeconfig string) ([]byte, error) {
	c := schedulerv1.KubeSchedulerConfiguration{
		TypeMeta:         metav1.TypeMeta{APIVersion: schedulerv1.SchemeGroupVersion.String(), Kind: "KubeSchedulerConfiguration"},
		ClientConnection: configv1alpha1.ClientConnectionConfiguration{Kubeconfig: kubeconfig, QPS: 2000, Burst: 4000},
		DebuggingConfiguration: configv1alpha1.DebuggingConfiguration{
			EnableProfiling: new(bool), EnableContentionProfiling: new(bool),
		},
		Profiles: []schedulerv1.KubeSchedulerProfile{{
			SchedulerName: new(corev1.DefaultSchedulerName),
			Plugins: &schedulerv1.Plugins{MultiPoint: schedulerv1.PluginSet{
				Enabled:  []schedulerv1.Plugin{{Name: bindingName}},
				Disabled: []schedulerv1.Plugin{{Name: names.VolumeBinding}},
			}},
		}},
	}
	return yaml.Marshal(c)
}

// run works until ctx ends.
func (s *scheduler) run(ctx context.Context) error {
	config, sched, err := schedulerapp.Setup(ctx, s.options, schedulerapp.WithPlugin(bindingName, newPromptBinding))
	if err != nil {
		return fmt.Errorf("configure: %w", err)
	}
	return schedulerapp.Run(ctx, config, sched)
}
