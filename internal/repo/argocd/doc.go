// Package argocd reads a repository of Argo CD Applications into components.
//
// An app-of-apps is followed from its root: the Application that no other
// Application's source contains, or the folder that ladder.yaml names. The
// sources of a parent are read as Argo CD reads them, a kustomization (built in
// process, without network) or a folder of YAML. Children become components;
// the path of sync waves from the root is their place.
//
// What is left out is never silent: it is a finding of the rule not-read.
package argocd
