// Command parity compares what Ladder reads of repositories with what Argo CD's own
// code makes of them: the Applications, and the objects of those whose sources are in
// the repository.
//
//	go run ./test/parity DIR...
//
// DIR is a repository. Argo CD's side is bin/ladder-argocd-read, which calls helm and
// kustomize and fetches what a repository names: it is for repositories that one
// trusts. The roots are Ladder's: what is compared is everything that comes of them.
// Every difference is printed; the exit status is 1 where there is one.
package main
