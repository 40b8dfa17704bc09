// Package session carries a rollout out, on whatever stage: it reads and renders
// the repository and plans, shows how the rollout goes, keeps its clock still
// while the API server answers nobody, and reports. OnCluster performs on a
// cluster; package rehearse on the embedded plane.
package session
