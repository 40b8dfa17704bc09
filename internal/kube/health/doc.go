// Package health says how healthy one Kubernetes object is, in Argo CD's words.
//
// The order of authority for an object is: a pending deletion; the checks that
// a component declares on the kind; the Lua scripts of an argocd-cm; those that
// Argo CD ships; the scripts of this package (folder lua) for kinds that gate a platform and that
// Argo CD does not ship; the assessment of the built-in kinds; kstatus for every
// other object. What a rehearsal calls Healthy is therefore what Argo CD would.
//
// An Assessor is safe for concurrent use. Scripts that are part of the program run
// in this process. Scripts and expressions that a repository brings run in confined
// workers (package evaluate), for at most one second: whatever they do, this process
// and its callers go on.
package health
