// Package session is one run of a rollout, on whatever target: it reads and renders
// the repository and plans, shows how the rollout goes, keeps its clock still
// while the API server answers nobody, and reports. OnCluster runs on a
// cluster; package rehearse on the embedded plane.
package session
