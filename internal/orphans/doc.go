// Package orphans finds what lives in the namespaces of a ladder and that no
// component renders, says where it came from, and proposes what to do about it.
//
// # What is looked at
//
// All kinds of the cluster in the namespaces that components render into, and
// the cluster-wide kinds that components render. Namespaces that the cluster
// brings (kube-system, default) are looked at only where they are asked for. Only
// metadata is read: no value of a Secret leaves the cluster.
//
// # What is no orphan
//
// What Kubernetes makes by itself, children of other objects, what operators
// made, the storage of Helm's releases, Argo CD itself, and Ladder's own state;
// see ignored. A cluster-wide object that nothing ties to the ladder is counted
// apart: it is somebody else's more often than not.
//
// # What is proposed
//
// Delete only where the origin is proven and nothing renders the object any more;
// adopt where a component could render it; else look. Data (namespaces, CRDs,
// claims, volumes) is deleted only where it is asked for by name of the flag, in
// the reverse of the order in which it was applied. What could not be read is part
// of every result: a cluster that hides objects has no "none".
package orphans
