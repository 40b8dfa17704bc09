// Package evaluate computes what a repository wrote in a language that can loop or
// grow: charts, kustomizations, templates, scripts. It does so in confined workers
// (package confine); this process only reads the files that they ask for, fetches
// what they name, and reads their answers.
//
// Every binary that links the package, tests included, can be its own worker: a
// process that is started as one serves from the initialisation of this package and
// never reaches main.
package evaluate
