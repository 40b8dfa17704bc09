// Package argocd puts the real Argo CD onto a plane: its CRDs and settings
// (Install), and its application controller, ApplicationSet controller and repo
// server in processes beside the plane's (Start).
//
// They are in a binary of their own, ladder-argocd, because their Kubernetes
// libraries are other ones than the control plane's. Find looks for it. What it
// runs ends with the process that started it, however that ends.
package argocd
