package health

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// builtin returns the assessment of a kind that Argo CD assesses in its own
// code, nil for other kinds. Source: Argo CD, operator manual, "Resource
// Health", and gitops-engine, pkg/health.
func builtin(gk schema.GroupKind) func(*unstructured.Unstructured) Status {
	switch gk.Group {
	case "apps", "extensions":
		switch gk.Kind {
		case "Deployment":
			return deploymentHealth
		case "ReplicaSet":
			return replicaSetHealth
		case "StatefulSet":
			return statefulSetHealth
		case "DaemonSet":
			return daemonSetHealth
		case "Ingress":
			return ingressHealth
		}
	case "":
		switch gk.Kind {
		case "Pod":
			return podHealth
		case "PersistentVolumeClaim":
			return claimHealth
		case "Service":
			return serviceHealth
		case "Namespace":
			return namespaceHealth
		}
	case "batch":
		if gk.Kind == "Job" {
			return jobHealth
		}
	case "networking.k8s.io":
		if gk.Kind == "Ingress" {
			return ingressHealth
		}
	case "autoscaling":
		if gk.Kind == "HorizontalPodAutoscaler" {
			return autoscalerHealth
		}
	case "apiregistration.k8s.io":
		if gk.Kind == "APIService" {
			return apiServiceHealth
		}
	case "argoproj.io":
		if gk.Kind == "Workflow" {
			return workflowHealth
		}
	}
	return nil
}

// crdHealth waits for Established, after which objects of the kind are served.
func crdHealth(obj *unstructured.Unstructured) Status {
	if c := condition(obj, "NamesAccepted"); c != nil && c["status"] == "False" {
		return Status{rollout.Degraded, "names are not accepted: " + str(c, "message")}
	}
	if c := condition(obj, "NonStructuralSchema"); c != nil && c["status"] == "True" {
		return Status{rollout.Degraded, "schema is not structural: " + str(c, "message")}
	}
	c := condition(obj, "Established")
	switch {
	case c != nil && c["status"] == "True":
		return Status{Health: rollout.Healthy}
	case c != nil && c["reason"] == "InvalidCABundle":
		return Status{rollout.Degraded, str(c, "message")}
	default:
		return Status{rollout.Progressing, "is not established yet"}
	}
}

func namespaceHealth(obj *unstructured.Unstructured) Status {
	if text(obj, "status", "phase") == "Terminating" {
		return Status{rollout.Progressing, "is being deleted"}
	}
	return Status{Health: rollout.Healthy}
}

func claimHealth(obj *unstructured.Unstructured) Status {
	switch phase := text(obj, "status", "phase"); phase {
	case "Bound":
		return Status{Health: rollout.Healthy}
	case "Lost":
		return Status{rollout.Degraded, "has lost its volume"}
	case "", "Pending":
		return Status{rollout.Progressing, "is not bound"}
	default:
		return Status{rollout.Unknown, "phase " + phase}
	}
}

// serviceHealth is Healthy but for load balancers, which wait for an address.
func serviceHealth(obj *unstructured.Unstructured) Status {
	if text(obj, "spec", "type") != "LoadBalancer" || len(list(obj, "status", "loadBalancer", "ingress")) > 0 {
		return Status{Health: rollout.Healthy}
	}
	return Status{rollout.Progressing, "waits for the address of its load balancer"}
}

func ingressHealth(obj *unstructured.Unstructured) Status {
	if len(list(obj, "status", "loadBalancer", "ingress")) > 0 {
		return Status{Health: rollout.Healthy}
	}
	return Status{rollout.Progressing, "waits for the address of its load balancer"}
}

// autoscalerHealth reads the conditions of autoscaling/v2, which version 1
// keeps in an annotation.
func autoscalerHealth(obj *unstructured.Unstructured) Status {
	found := conditions(obj)
	if len(found) == 0 {
		note := obj.GetAnnotations()["autoscaling.alpha.kubernetes.io/conditions"]
		if note != "" && json.Unmarshal([]byte(note), &found) != nil {
			return Status{rollout.Unknown, "conditions annotation is not JSON"}
		}
	}
	broken := []string{
		"AbleToScale/FailedGetScale", "AbleToScale/FailedUpdateScale",
		"ScalingActive/FailedGetResourceMetric", "ScalingActive/InvalidSelector",
	}
	for _, c := range found {
		if slices.Contains(broken, str(c, "type")+"/"+str(c, "reason")) {
			return Status{rollout.Degraded, str(c, "message")}
		}
		fine := c["type"] == "AbleToScale" && c["reason"] == "SucceededRescale" || c["type"] == "ScalingLimited"
		if fine {
			return Status{Health: rollout.Healthy}
		}
	}
	return Status{rollout.Progressing, "waits to autoscale"}
}

func apiServiceHealth(obj *unstructured.Unstructured) Status {
	c := condition(obj, "Available")
	switch {
	case c == nil:
		return Status{rollout.Progressing, "waits to be processed"}
	case c["status"] == "True":
		return Status{Health: rollout.Healthy}
	default:
		return Status{rollout.Progressing, strings.TrimPrefix(str(c, "reason")+": "+str(c, "message"), ": ")}
	}
}

// workflowHealth is the health of an Argo Workflow.
func workflowHealth(obj *unstructured.Unstructured) Status {
	message := text(obj, "status", "message")
	switch text(obj, "status", "phase") {
	case "", "Pending", "Running":
		return Status{rollout.Progressing, message}
	case "Succeeded":
		return Status{Health: rollout.Healthy}
	case "Failed", "Error":
		return Status{rollout.Degraded, message}
	default:
		return Status{rollout.Unknown, message}
	}
}
