// Package plane starts and stops planes: real Kubernetes control planes that
// run inside a second process of this program, without Docker or a cluster.
//
// A plane that Start made is thrown away: it ends with the process that started
// it, however that ends, and leaves nothing behind. A plane in a Registry has a
// name and stays until it is taken down.
//
// The package is light: the control plane itself (package controlplane) is
// linked by the command only, and tests that need a plane run the built command
// (Options.Executable).
package plane
