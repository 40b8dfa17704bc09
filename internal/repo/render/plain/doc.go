// Package plain reads manifests that need no rendering: a file, or a folder of
// YAML and JSON files as Argo CD's directory sources are.
package plain
