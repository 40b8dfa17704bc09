// Package appset expands ApplicationSets into the Applications that Argo CD's
// ApplicationSet controller would make of them, from the files of one repository
// and without network.
//
// Generators that ask a cluster or a service (clusters, pull requests, plugins,
// ...) take their parameters from Data. Without any they are supposed to make one
// Application, as long as what decides what it applies is known; what else needs
// their parameters is left out.
//
// Templates, Go's and the older ones of {{name}}, run with limits on their steps
// and on what they make, and have no function whose result differs from run to
// run.
package appset
