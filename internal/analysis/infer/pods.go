package infer

import "github.com/rollout-ladder/ladder/internal/core/plan"

// podSpec is the pod that an object makes, with the path of its fields.
func podSpec(o *object) (map[string]any, string) {
	switch o.g {
	case "":
		switch o.k {
		case "Pod":
			return mapping(o.root(), "spec"), "spec"
		case "ReplicationController":
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		}
	case "apps":
		switch o.k {
		case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		}
	case "batch":
		switch o.k {
		case "Job":
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		case "CronJob":
			return mapping(o.root(), "spec", "jobTemplate", "spec", "template", "spec"), "spec.jobTemplate.spec.template.spec"
		}
	case "apps.openshift.io":
		if o.k == "DeploymentConfig" {
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		}
	case "argoproj.io":
		if o.k == "Rollout" {
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		}
	case "serving.knative.dev":
		if o.k == "Service" {
			return mapping(o.root(), "spec", "template", "spec"), "spec.template.spec"
		}
	}
	return nil, ""
}

// podLabels are the labels of the pods that an object makes.
func podLabels(o *object) map[string]any {
	switch {
	case o.is("", "Pod"):
		return mapping(o.root(), "metadata", "labels")
	case o.is("batch", "CronJob"):
		return mapping(o.root(), "spec", "jobTemplate", "spec", "template", "metadata", "labels")
	default:
		return mapping(o.root(), "spec", "template", "metadata", "labels")
	}
}

// podStrength is how much a workload needs what its pods need.
func podStrength(o *object) plan.Strength {
	if idle(o) {
		return plan.Soft
	}
	return plan.Hard
}

// idle reports whether an object makes no pods for now: a CronJob or CronWorkflow is Healthy
// whether or not its jobs run, and so is a workload of no pods.
func idle(o *object) bool {
	if o.k == "CronJob" || o.k == "CronWorkflow" || truth(o.root(), "spec", "suspend") {
		return true
	}
	replicas, ok := value(o.root(), "spec", "replicas").(int64)
	return ok && replicas == 0
}

func containers(spec map[string]any, path string, visit func(c map[string]any, path string)) {
	for _, field := range []string{"initContainers", "containers"} {
		each(list(spec, field), path+"."+field, visit)
	}
}

// mounts reports whether the containers of a pod use a volume, by its name. The kubelet sets up
// no others; the scheduler looks at the claims of all. Source: Kubernetes,
// kubelet/volumemanager, processPodVolumes.
func mounts(spec map[string]any) func(volume string) bool {
	used, runs := map[string]bool{}, false
	containers(spec, "", func(c map[string]any, _ string) {
		runs = true
		for _, field := range []string{"volumeMounts", "volumeDevices"} {
			each(list(c, field), "", func(m map[string]any, _ string) { used[text(m, "name")] = true })
		}
	})
	return func(volume string) bool { return used[volume] || !runs } // a pod without containers is none yet
}
