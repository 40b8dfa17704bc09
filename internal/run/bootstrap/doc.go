// Package bootstrap takes an empty cluster to a converging platform: manifests
// that come before Argo CD, Secrets, Argo CD itself, its projects and root
// Application, and the wait until every band and its smokes hold. The format of
// its configuration is described in docs/bootstrap.md.
//
// # Stages
//
// A run is a list of stages, each of which brings the cluster to a state and
// waits until it is there. None remembers anything between runs: a stage looks at
// the cluster, applies what differs, and so a run that was interrupted anywhere is
// ended by the next one.
//
// # Whose fields
//
// What Argo CD adopts later is applied server-side under the field manager that
// Argo CD uses itself, argocd-controller: its first server-side apply replaces the
// one set of fields there is, instead of adding a second owner whose fields nobody
// could remove any more. Source: Kubernetes, "Server-Side Apply", on the merge of
// two applies of one manager; gitops-engine, pkg/utils/kube, newApplyOptions,
// which forces conflicts. What is adopted is never applied again: it is Git's from
// then on, and a run of ours would take the marks of Argo CD off it.
//
// Secrets and namespaces are the bootstrap's own, under ladder-bootstrap.
//
// # Secrets
//
// Values come from environment variables and files. They go into Secrets, and
// nowhere else: no message, log, argument of a command or report holds one, and the
// commands that are started do not get the environment variables that hold them.
package bootstrap
