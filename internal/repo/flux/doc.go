// Package flux reads a repository of Flux: Kustomizations and HelmReleases with
// what they depend on, and the sources of charts, per cluster.
//
// A cluster is a Kustomization that applies the folder it lies in (as flux
// bootstrap writes it), or the folder that a FluxInstance syncs; from there the
// Kustomizations are followed as Flux follows them. Kustomizations are built in
// process, without network, so that patches count. Nothing is decrypted, and
// substitutions are filled in only from what is written in the Kustomization.
//
// Source of the formats: Flux, kustomize.toolkit.fluxcd.io v1 and v1beta*,
// helm.toolkit.fluxcd.io v2 and v2beta*, source.toolkit.fluxcd.io, and
// source.extensions.fluxcd.io for ArtifactGenerators.
package flux
