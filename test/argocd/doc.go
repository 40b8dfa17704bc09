// Package argocd rehearses on the real Argo CD: its tests need the binary
// ladder-argocd, which make argocd builds, and are skipped without it.
package argocd
