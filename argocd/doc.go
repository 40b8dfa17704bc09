// Command ladder-argocd is Argo CD for a rehearsal: the real application
// controller, ApplicationSet controller and repo server of the Argo CD module
// named in go.mod, with everything that they need around them, in one binary.
//
//	ladder-argocd run --kubeconfig FILE --dir DIR   run them until standard input ends
//	ladder-argocd crds                              print Argo CD's CRDs
//	ladder-argocd version                           print the version of Argo CD
//
// The parts use globals and end their process, so that each of them runs in
// a process of its own: the binary executes itself. Called as helm or kustomize, as
// the repo server does, it confines itself; then it is kustomize, or runs the
// ladder-argocd-helm beside it.
//
// The parts are made of Argo CD's packages, as its commands make them, but for what
// those open to everybody on the machine: the repo server listens on a socket in
// the folder, and there are no metrics, probes, webhooks and no Redis.
//
// It is a module of its own because Argo CD's Kubernetes libraries are other ones
// than those of the control plane in the ladder binary.
package main
