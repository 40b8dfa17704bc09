// Package byhand reads from the scripts and documents of a repository what people
// apply by hand before Argo CD runs: "kubectl apply -f https://...",
// "kubectl create namespace NAME".
package byhand
