// Package evaluate has computed what a repository wrote in a language that can loop or
// grow: charts, kustomizations, templates, scripts. That happens in confined workers
// (package confine), by package worker; this process only reads the files that they ask
// for, fetches what they name, and reads their answers. So who asks links no renderer,
// and the command links both.
package evaluate
