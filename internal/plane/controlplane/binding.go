package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"

	"github.com/rollout-ladder/ladder/internal/plane/controlplane/claims"
)

// bindingName is the name of the plugin that stands in for upstream's VolumeBinding.
const bindingName = "PromptVolumeBinding"

// promptBinding is upstream's plugin VolumeBinding. Only its wait differs: upstream looks once
// a second whether the claims of a pod are bound, and a rehearsal cannot skip that second.
type promptBinding struct{ *volumebinding.VolumeBinding }

func (promptBinding) Name() string { return bindingName }

func newPromptBinding(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args := &config.VolumeBindingArgs{BindTimeoutSeconds: int64(claims.Patience / time.Second)}
	plugin, err := volumebinding.New(ctx, args, handle, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, fmt.Errorf("make the plugin that binds volumes: %w", err)
	}
	binding, ok := plugin.(*volumebinding.VolumeBinding)
	if !ok {
		return nil, fmt.Errorf("the plugin that binds volumes is a %T", plugin)
	}
	dynamic, err := claims.New(handle.ClientSet(), handle.SharedInformerFactory())
	if err != nil {
		return nil, fmt.Errorf("make the plugin that binds volumes: %w", err)
	}
	binding.Binder = promptBinder{binding.Binder, dynamic}
	return promptBinding{binding}, nil
}

// promptBinder binds the volumes of a pod, and waits by watches.
type promptBinder struct {
	volumebinding.SchedulerVolumeBinder
	dynamic *claims.Binder
}

// BindPodVolumes has the claims of a pod provisioned and returns when they are bound. Where
// volumes are there already, which nothing on a plane makes of its own accord, it waits as
// upstream does.
func (b promptBinder) BindPodVolumes(ctx context.Context, pod *corev1.Pod, volumes *volumebinding.PodVolumes) error {
	if len(volumes.StaticBindings) > 0 {
		return b.SchedulerVolumeBinder.BindPodVolumes(ctx, pod, volumes) //nolint:wrapcheck // it is upstream's
	}
	var asked []*corev1.PersistentVolumeClaim
	for _, p := range volumes.DynamicProvisions {
		asked = append(asked, p.PVC)
	}
	return b.dynamic.Bind(ctx, pod, asked) //nolint:wrapcheck // it says what it does
}
