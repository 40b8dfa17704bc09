// Package kustomize builds kustomizations with kustomize's own library. It runs in a
// confined worker (package worker): there is no git program to call, and HTTP
// requests of the library become questions to the parent.
//
// The library sees the repository through a file system that holds nothing of the
// machine. helmCharts are rendered by package helm instead of a helm binary: their
// objects stand in for the charts as one more resource. Remote files and bases are
// fetched by the parent and appear in that file system. Offline, they are reported.
// Exec and container functions and Go plugins are not run.
package kustomize
