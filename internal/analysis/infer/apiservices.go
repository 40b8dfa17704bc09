package infer

import (
	"github.com/rollout-ladder/ladder/internal/core/dependency"
	"github.com/rollout-ladder/ladder/internal/core/plan"
)

// Aggregated APIs: the objects of their groups, and the metrics that autoscalers
// read.

func providesAPIService(o *object, add func(key)) {
	// One without a Service is served by Kubernetes itself.
	if o.is("apiregistration.k8s.io", "APIService") && mapping(o.root(), "spec", "service") != nil {
		add(key{Kind: kindAPIService, Name: text(o.root(), "spec", "group")})
	}
}

// requiresAPIService: an autoscaler whose metric nobody serves keeps the replicas
// it has. Source: Kubernetes, "Support for metrics APIs".
func requiresAPIService(_ *world, o *object, add func(need)) {
	if !o.is("autoscaling", "HorizontalPodAutoscaler") {
		return
	}
	each(list(o.root(), "spec", "metrics"), "spec.metrics", func(m map[string]any, path string) {
		group := ""
		switch text(m, "type") {
		case "Resource", "ContainerResource":
			group = "metrics.k8s.io"
		case "Pods", "Object":
			group = "custom.metrics.k8s.io"
		case "External":
			group = "external.metrics.k8s.io"
		}
		add(need{key: key{Kind: kindAPIService, Name: group}, field: path + ".type", strength: plan.Soft, effect: dependency.Ready, verb: "scales on the API " + group})
	})
}
