// Package controlplane runs a whole Kubernetes control plane in this process:
// etcd, kube-apiserver, the controllers of kube-controller-manager, and
// kube-scheduler, with simulated nodes.
//
// It is heavy (it links k8s.io/kubernetes), so only the command's main package
// imports it; everything else talks to a plane through package plane. A process
// can run one plane in its life: the components keep global state.
//
// # What is real
//
// The API with all default admission plugins (but TaintNodesByCondition, which
// needs a kubelet), priority and fairness, RBAC, quotas, aggregation; the
// controllers for workloads, namespaces, service accounts, endpoints, garbage,
// quotas, disruption budgets, autoscaling, certificates, and volume binding; the
// scheduler.
//
// etcd begins with what every cluster has (package prebaked), and the API is
// described when somebody first reads the description (openAPI); designs/0012 says
// why.
//
// # What is left to the simulated world (World)
//
//   - Pods: nothing runs them. A pod is scheduled and stays Pending until the
//     world writes its status, and a deleted pod that was scheduled stays until
//     the world deletes it for good, as a kubelet does.
//   - Volumes: the volume binder is real. It binds claims to existing volumes;
//     for a claim whose class has a provisioner it sets the annotation
//     volume.kubernetes.io/storage-provisioner and waits for somebody to create a
//     PersistentVolume with a claimRef. With WaitForFirstConsumer that happens
//     after the scheduler has set volume.kubernetes.io/selected-node. Nothing is
//     ever attached, recycled, expanded, or deleted by a plugin of Kubernetes'. There is
//     no StorageClass at first: "ladder plane up" and rehearsals make a default one.
//   - Webhooks, aggregated APIs and kubelets: see package egress.
//   - Load balancers, Ingress addresses, metrics.
//   - Nodes stay Ready without heartbeats, because nothing watches for them.
package controlplane
