package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rollout-ladder/ladder/internal/core/rollout"
)

// unobserved reports a workload whose controller has not seen its latest
// generation.
func unobserved(obj *unstructured.Unstructured) (Status, bool) {
	observed := integer(obj, "status", "observedGeneration")
	if obj.GetGeneration() > observed || (observed == 0 && obj.GetKind() == "StatefulSet") {
		return Status{rollout.Progressing, "its controller has not seen it yet"}, true
	}
	return Status{}, false
}

// deploymentHealth follows `kubectl rollout status`: all replicas updated, old
// ones gone, the updated ones available.
func deploymentHealth(obj *unstructured.Unstructured) Status {
	if flag(obj, "spec", "paused") {
		return Status{rollout.Suspended, "is paused"}
	}
	if s, ok := unobserved(obj); ok {
		return s
	}
	want := wanted(obj, "spec", "replicas")
	updated := integer(obj, "status", "updatedReplicas")
	available := integer(obj, "status", "availableReplicas")
	total := integer(obj, "status", "replicas")
	progressing := condition(obj, "Progressing")
	switch {
	case progressing != nil && progressing["reason"] == "ProgressDeadlineExceeded":
		return Status{rollout.Degraded, fmt.Sprintf("%d of %d ready: exceeded its progress deadline", available, want)}
	case updated < want:
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d updated", updated, want)}
	case total > updated:
		return Status{rollout.Progressing, fmt.Sprintf("%d old replicas still terminate", total-updated)}
	case available < updated:
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d ready", available, updated)}
	default:
		return Status{Health: rollout.Healthy}
	}
}

func replicaSetHealth(obj *unstructured.Unstructured) Status {
	if s, ok := unobserved(obj); ok {
		return s
	}
	if c := condition(obj, "ReplicaFailure"); c != nil && c["status"] == "True" {
		return Status{rollout.Degraded, str(c, "message")}
	}
	want := wanted(obj, "spec", "replicas")
	if available := integer(obj, "status", "availableReplicas"); available < want {
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d ready", available, want)}
	}
	return Status{Health: rollout.Healthy}
}

func statefulSetHealth(obj *unstructured.Unstructured) Status {
	if s, ok := unobserved(obj); ok {
		return s
	}
	want := wanted(obj, "spec", "replicas")
	if ready := integer(obj, "status", "readyReplicas"); ready < want {
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d ready", ready, want)}
	}
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		return Status{Health: rollout.Healthy}
	}
	partition := integer(obj, "spec", "updateStrategy", "rollingUpdate", "partition")
	if partition > 0 {
		if updated := integer(obj, "status", "updatedReplicas"); updated < want-partition {
			return Status{rollout.Progressing, fmt.Sprintf("%d of %d updated", updated, want-partition)}
		}
		return Status{Health: rollout.Healthy}
	}
	if text(obj, "status", "updateRevision") != text(obj, "status", "currentRevision") {
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d updated", integer(obj, "status", "updatedReplicas"), want)}
	}
	return Status{Health: rollout.Healthy}
}

func daemonSetHealth(obj *unstructured.Unstructured) Status {
	if s, ok := unobserved(obj); ok {
		return s
	}
	if text(obj, "spec", "updateStrategy", "type") == "OnDelete" {
		return Status{Health: rollout.Healthy}
	}
	want := integer(obj, "status", "desiredNumberScheduled")
	if updated := integer(obj, "status", "updatedNumberScheduled"); updated < want {
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d updated", updated, want)}
	}
	if available := integer(obj, "status", "numberAvailable"); available < want {
		return Status{rollout.Progressing, fmt.Sprintf("%d of %d ready", available, want)}
	}
	return Status{Health: rollout.Healthy}
}

func jobHealth(obj *unstructured.Unstructured) Status {
	if c := condition(obj, "Failed"); c != nil && c["status"] == "True" {
		return Status{rollout.Degraded, strings.TrimPrefix(str(c, "reason")+": "+str(c, "message"), ": ")}
	}
	if c := condition(obj, "Complete"); c != nil && c["status"] == "True" {
		return Status{Health: rollout.Healthy}
	}
	if flag(obj, "spec", "suspend") {
		return Status{rollout.Suspended, "is suspended"}
	}
	message := fmt.Sprintf("%d of %d succeeded", integer(obj, "status", "succeeded"), wanted(obj, "spec", "completions"))
	if failed := integer(obj, "status", "failed"); failed > 0 {
		message += fmt.Sprintf(", %d failed", failed)
	}
	return Status{rollout.Progressing, message}
}

// podHealth is Degraded for a pod that is restarted for ever, and never for a
// hook-like pod before it ends.
func podHealth(obj *unstructured.Unstructured) Status {
	always := text(obj, "spec", "restartPolicy") == "Always" || text(obj, "spec", "restartPolicy") == ""
	containers := slices.Concat(list(obj, "status", "initContainerStatuses"), list(obj, "status", "containerStatuses"))
	waiting := waitingReason(containers)
	message := text(obj, "status", "message")
	switch phase := text(obj, "status", "phase"); phase {
	case "Succeeded":
		return Status{Health: rollout.Healthy}
	case "Failed":
		if message == "" {
			message = terminatedReason(containers)
		}
		return Status{rollout.Degraded, message}
	case "Running":
		if c := condition(obj, "Ready"); always && c != nil && c["status"] == "True" {
			return Status{Health: rollout.Healthy}
		}
		if always && waiting.stuck {
			return Status{rollout.Degraded, waiting.text}
		}
		if always && restarted(containers) {
			return Status{rollout.Degraded, cmp.Or(waiting.text, terminatedReason(containers), "restarted and is not ready")}
		}
		return Status{rollout.Progressing, cmp.Or(waiting.text, message, "is not ready")}
	case "", "Pending":
		if always && waiting.stuck {
			return Status{rollout.Degraded, waiting.text}
		}
		if c := condition(obj, "PodScheduled"); c != nil && c["status"] == "False" {
			return Status{rollout.Progressing, strings.TrimPrefix(str(c, "reason")+": "+str(c, "message"), ": ")}
		}
		return Status{rollout.Progressing, cmp.Or(waiting.text, message, "is pending")}
	default:
		return Status{rollout.Unknown, message}
	}
}

// PodReason says in the kubelet's or scheduler's words why a pod is not ready;
// "" for a pod that is ready or has nothing to say.
func PodReason(obj *unstructured.Unstructured) string {
	if c := condition(obj, "Ready"); c != nil && c["status"] == "True" {
		return ""
	}
	containers := slices.Concat(list(obj, "status", "initContainerStatuses"), list(obj, "status", "containerStatuses"))
	if c := condition(obj, "PodScheduled"); c != nil && c["status"] == "False" {
		return strings.TrimPrefix(str(c, "reason")+": "+str(c, "message"), ": ")
	}
	return cmp.Or(waitingReason(containers).text, terminatedReason(containers), text(obj, "status", "message"))
}

type waiting struct {
	text string
	// stuck is set for reasons that Argo CD counts as Degraded.
	stuck bool
}

// waitingReason returns the gravest reason why a container waits.
func waitingReason(containers []map[string]any) waiting {
	var out waiting
	for _, c := range containers {
		state, _ := c["state"].(map[string]any)
		w, _ := state["waiting"].(map[string]any)
		reason := str(w, "reason")
		if reason == "" {
			continue
		}
		stuck := strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff")
		told := reason
		if m := str(w, "message"); m != "" {
			told += ": " + m
		}
		if out.text == "" || (stuck && !out.stuck) {
			out = waiting{told, stuck}
		}
	}
	return out
}

// terminatedReason says why a container ended badly.
func terminatedReason(containers []map[string]any) string {
	for _, c := range containers {
		for _, key := range []string{"state", "lastState"} {
			state, _ := c[key].(map[string]any)
			t, _ := state["terminated"].(map[string]any)
			if t == nil {
				continue
			}
			code, _ := t["exitCode"].(int64)
			if code == 0 && t["reason"] != "OOMKilled" {
				continue
			}
			return cmp.Or(str(t, "message"), fmt.Sprintf("container %s ended with exit code %d", str(c, "name"), code))
		}
	}
	return ""
}

func restarted(containers []map[string]any) bool {
	return slices.ContainsFunc(containers, func(c map[string]any) bool {
		last, _ := c["lastState"].(map[string]any)
		return last["terminated"] != nil
	})
}
