// Package storage stands in for the provisioners of volumes. The plane's own
// volume binder decides which claim needs a volume and from whom, and binds it;
// here the volume is made, while the workload of its provisioner is available.
package storage
