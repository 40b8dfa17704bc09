// Package kubelet runs the pods of simulated nodes: nothing is pulled and
// nothing runs, but a pod becomes ready only when everything its kubelet would
// need is there, after the time its component takes, and else shows the
// kubelet's own reasons and messages.
//
// The state machine of one pod (Memory.Step) is pure: a function of the pod,
// what the cluster holds and the time.
package kubelet
