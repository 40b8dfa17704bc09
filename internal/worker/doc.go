// Package worker computes what package evaluate asks for: charts, kustomizations,
// templates, scripts. Every program that links it can be its own worker: a process that
// is started as one serves from the initialisation of this package and never reaches main.
package worker
