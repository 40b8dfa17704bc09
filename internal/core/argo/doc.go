// Package argo holds what a repository says to Argo CD about order, as plain
// values: Applications and the objects that make and apply them, RollingSync
// steps, AppProjects and the settings of argocd-cm.
//
// It is part of the core: no YAML, no files. Package repo/argocd fills it,
// package lint judges it.
package argo
