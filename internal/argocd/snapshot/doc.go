// Package snapshot writes down what the Argo CD of a cluster knows, so that a
// repository can be read without the cluster: its settings, clusters, projects,
// ApplicationSets and Applications.
//
// # Secrets
//
// The file is made to be committed, so it has no secret. It is made of what is known
// to be none: listed keys of the ConfigMaps, the name and address of a cluster, and of
// the objects of Argo CD the fields that say where their sources are, where they go
// and in which order. People choose the labels and annotations of clusters, which
// generators need: those are left out whose name or look says that they are secret.
// Snapshot.LeftOut says what is left out.
//
// Nothing but get and list is asked of the cluster.
package snapshot
