// Package repo finds out what components a repository holds, and in which
// order. It reads platforms of descriptors (package descriptor) and
// repositories of Argo CD Applications (package argocd) or of Flux (package flux),
// each with an optional ladder.yaml (package ladderfile).
package repo
