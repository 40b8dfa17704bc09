// Package fluxcd holds what a repository says to Flux about order, as plain values:
// Kustomizations and HelmReleases, what they depend on, and when they are Ready.
//
// It is part of the core: no YAML, no files. Package repo/flux fills it, package
// lint judges it.
package fluxcd
