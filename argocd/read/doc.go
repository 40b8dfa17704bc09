// Command ladder-argocd-read prints what Argo CD's own code makes of a Git
// repository: the Applications that its generators, templates and repo server yield
// from what is applied by hand, and the objects of each. It is what Ladder's own
// reading is compared with.
//
// Requests come on standard input, a Result for each goes to standard output, both as
// JSON. Argo CD calls the programs helm and kustomize, which have to be on PATH,
// and fetches what a repository names: it is for repositories that one trusts.
package main
