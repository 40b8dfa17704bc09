// Package kustomize builds kustomizations in process with kustomize's own
// library, which sees the repository only through a file system that cannot
// leave it.
//
// helmCharts are rendered by package helm instead of a helm binary: their
// objects stand in for the charts as one more resource. Remote files are
// fetched here, so that they have a time limit, and remote bases by kustomize's
// own git client; offline, both are reported. Exec and container functions and
// Go plugins are not run.
package kustomize
