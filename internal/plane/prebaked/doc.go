// Package prebaked holds what kube-apiserver and kube-controller-manager write
// into an empty etcd of their own accord: roles and their bindings, priority
// classes, priority and fairness, and the registration of the API's own groups.
// A plane begins with them instead of making them one by one.
//
// Only kinds in Prefixes are held, none of which has a key, a certificate or a
// name of a plane in it. Objects carry no UID and no time: every plane gives them
// its own (Fresh). What differs between planes by its nature (namespaces, the
// Service kubernetes, service accounts, ConfigMaps, Secrets, Leases) each plane
// makes for itself.
//
// The file etcd.gob.gz is written by the test of this package (-update) from a
// plane that began with an empty etcd, and compared with one in every run.
package prebaked
