// Package postbuild does with objects what Flux does after a kustomization is built:
// it fills in variables. What is encrypted loses its values instead of being
// decrypted.
//
// It computes what a repository wrote, so it runs in workers only.
package postbuild
