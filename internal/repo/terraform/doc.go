// Package terraform reads which clusters the Terraform of a repository registers with
// Argo CD: names, labels and annotations of cluster Secrets, and which values it installs
// a chart with. It evaluates what the files
// say as far as nothing else is needed: no provider, no state, no file, no other module.
// What is not known so is a mark (appset.Mark) in the texts it is a part of.
//
// A folder is evaluated where nothing of this machine is within reach: see package
// evaluate.
package terraform
