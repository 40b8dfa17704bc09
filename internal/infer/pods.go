package infer

import "github.com/rollout-ladder/ladder/internal/plan"

// podSpec is the pod that an object makes, with the path of its fields.
func podSpec(o object) (map[string]any, string) {
	root := o.Object.Object
	switch {
	case o.is("", "Pod"):
		return mapping(root, "spec"), "spec"
	case o.is("apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), o.is("batch", "Job"), o.is("", "ReplicationController"),
		o.is("argoproj.io", "Rollout"), o.is("serving.knative.dev", "Service"):
		return mapping(root, "spec", "template", "spec"), "spec.template.spec"
	case o.is("batch", "CronJob"):
		return mapping(root, "spec", "jobTemplate", "spec", "template", "spec"), "spec.jobTemplate.spec.template.spec"
	}
	return nil, ""
}

// podStrength is how much a workload needs what its pods need. A CronJob is
// Healthy whether or not its jobs run.
func podStrength(o object) plan.Strength {
	if o.GetKind() == "CronJob" {
		return plan.Soft
	}
	return plan.Hard
}

func containers(spec map[string]any, path string, visit func(c map[string]any, path string)) {
	for _, field := range []string{"initContainers", "containers"} {
		each(list(spec, field), path+"."+field, visit)
	}
}
