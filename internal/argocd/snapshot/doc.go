// Package snapshot writes down what the Argo CD of a cluster knows, so that a
// repository can be read without the cluster: its settings, clusters, projects,
// ApplicationSets and Applications.
//
// # Secrets
//
// The file is made to be committed, so it has no secret. It is made of what is known
// to be none, wherever that can be listed: the keys of the ConfigMaps, and the name,
// address, labels and annotations of a cluster. Of the objects of Argo CD, which
// people write, values are left out whose name or look says that they are secret.
// Snapshot.LeftOut says what that was.
//
// Nothing but get and list is asked of the cluster.
package snapshot
