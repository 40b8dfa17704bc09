package controlplane

import (
	"context"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// nodeZones is the number of zones nodes are spread over, so that topology
// constraints and zonal anti-affinity can be met.
const nodeZones = 3

// createNodes registers simulated nodes that are Ready from the start.
func createNodes(ctx context.Context, client kubernetes.Interface, count int, now time.Time) error {
	for i := range count {
		_, err := client.CoreV1().Nodes().Create(ctx, simulatedNode(i, now), metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %d: %w", i+1, err)
		}
	}
	return nil
}

// simulatedNode is a machine with room for any platform: a rehearsal is about
// order, not about size.
func simulatedNode(index int, now time.Time) *corev1.Node {
	name := fmt.Sprintf("node-%d", index+1)
	zone := fmt.Sprintf("zone-%d", index%nodeZones+1)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("512"),
		corev1.ResourceMemory:           resource.MustParse("4Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("64Ti"),
		corev1.ResourcePods:             resource.MustParse("20k"),
		"hugepages-2Mi":                 resource.MustParse("1Ti"),
	}
	since := metav1.NewTime(now)
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: since, LastTransitionTime: since}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:                    name,
				corev1.LabelOSStable:                    "linux",
				corev1.LabelArchStable:                  runtime.GOARCH,
				corev1.LabelTopologyZone:                zone,
				corev1.LabelTopologyRegion:              "region-1",
				corev1.LabelInstanceTypeStable:          "simulated",
				"node-role.kubernetes.io/control-plane": "",
				"node-role.kubernetes.io/worker":        "",
			},
		},
		Spec: corev1.NodeSpec{ProviderID: "ladder://" + name},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", (index+1)/256, (index+1)%256)},
				{Type: corev1.NodeHostName, Address: name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "simulated node"),
			},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:            runtime.GOARCH,
				OperatingSystem:         "linux",
				OSImage:                 "simulated",
				KernelVersion:           "6.12.0",
				ContainerRuntimeVersion: "simulated://1",
				KubeletVersion:          kubernetesVersion(),
				MachineID:               name, SystemUUID: name, BootID: name,
			},
		},
	}
}
