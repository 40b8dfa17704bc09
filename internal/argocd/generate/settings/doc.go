// Package settings makes what an Argo CD is told so that the order of a platform
// holds there: argocd-cm with a health script for every kind that gates something
// and that Argo CD does not assess itself, argocd-cmd-params-cm with progressive
// syncs, and templates of repository Secrets that hold no secret.
//
// Scripts come from package health, which assesses the same kinds in a rehearsal,
// so that both say the same. They use no library of Lua but its tables: Argo CD
// gives them no other.
package settings
